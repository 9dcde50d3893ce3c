//go:build !wasip1

package places_test

import (
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/plugins/internal/places"
	"waymark/test/testenv"
)

var kinds = []abi.Kind{abi.KindInstructionFile, abi.KindSubagent}

// visitor keeps what a walk tells it.
type visitor struct{ found []string }

func (v *visitor) File(c *conventions.Convention, p string) {
	v.found = append(v.found, string(c.Kind)+" "+c.ID+" "+p)
}

func (v *visitor) Skill(*conventions.Convention, string, fs.DirEntry) bool { return false }
func (v *visitor) Unreadable(_ *conventions.Convention, dir string, err error) {
	v.found = append(v.found, dir+": "+err.Error())
}
func (v *visitor) Skip(c *conventions.Convention) bool { return c.ID == "off" }

// TestLikePatterns: a walk finds just the files that the places match as patterns, each
// for the first convention of its kind; and may read all of them.
func TestLikePatterns(t *testing.T) {
	r := testenv.Rand(t)
	found := 0
	for range testenv.Rounds(200, 2000, 200_000) {
		table, tree := randomTable(r), fstest.MapFS{}
		for range r.IntN(20) {
			put(tree, randomPath(r, []string{"a", "b", ".c", "ab", "a.md", "b.x.md"}))
		}
		v := &visitor{}
		places.Compile(table, kinds, conventions.ScopeProject).Walk(tree, "", v)
		want := expected(table, tree)
		slices.Sort(v.found)
		slices.Sort(want)
		if !slices.Equal(v.found, want) {
			t.Fatalf("%+v\n%v\nfound %q\nwant  %q", table, tree, v.found, want)
		}
		found += len(want)
		reads := places.Reads(table, kinds, conventions.ScopeProject)
		for _, line := range want {
			p := line[strings.LastIndexByte(line, ' ')+1:]
			if !slices.ContainsFunc(reads, func(pattern string) bool { return match(pattern, p) }) {
				t.Fatalf("%s can't be read: %q", p, reads)
			}
		}
	}
	if found == 0 {
		t.Error("nothing was ever found")
	}
}

// put adds a file, where none and no directory is in the way.
func put(tree fstest.MapFS, p string) {
	for other := range tree {
		if strings.HasPrefix(other, p+"/") || strings.HasPrefix(p, other+"/") {
			return
		}
	}
	tree[p] = &fstest.MapFile{}
}

func match(pattern, p string) bool {
	ok, err := doublestar.Match(pattern, p)
	return ok && err == nil
}

// expected is what a walk should find.
func expected(table []conventions.Convention, tree fstest.MapFS) (list []string) {
	for p := range tree {
		if info, err := fs.Stat(tree, p); err != nil || info.IsDir() {
			continue
		}
		for _, kind := range kinds {
			for _, c := range table {
				if c.Kind == kind && c.ID != "off" && slices.ContainsFunc(c.Places, func(pattern string) bool { return match(pattern, p) }) {
					list = append(list, string(kind)+" "+c.ID+" "+p)
					break
				}
			}
		}
	}
	return list
}

func randomTable(r *rand.Rand) (table []conventions.Convention) {
	ids := []string{"one", "two", "three", "off", "five"}
	for i := range 1 + r.IntN(5) {
		c := conventions.Convention{ID: ids[i], Scope: conventions.ScopeProject, Kind: kinds[r.IntN(2)]}
		for range 1 + r.IntN(3) {
			p := randomPath(r, []string{"a", "b", ".c", "a.md", "*", "*.md", "a*", "*b*"})
			if r.IntN(3) == 0 {
				dir, file := path.Split(p)
				p = dir + "**/" + file
			}
			c.Places = append(c.Places, p)
		}
		table = append(table, c)
	}
	return table
}

func randomPath(r *rand.Rand, names []string) string {
	p := names[r.IntN(len(names))]
	for range r.IntN(4) {
		p += "/" + names[r.IntN(len(names))]
	}
	return p
}

// TestManyPlaces: patterns stay within the ABI's bounds, and what lies at the top is
// written out as long as it can be.
func TestManyPlaces(t *testing.T) {
	var table []conventions.Convention
	for i := range 150 {
		name := strings.Repeat("x", i%40) + string(rune('a'+i%26)) + string(rune('a'+i/26))
		table = append(table, conventions.Convention{
			Scope: conventions.ScopeProject, Kind: kinds[0], Places: []string{name + ".md", "." + name + "/skills/*/SKILL.md"},
		})
	}
	reads := places.Reads(table, kinds, conventions.ScopeProject)
	if len(reads) > 240 || !slices.Contains(reads, "aa.md") {
		t.Errorf("%d patterns", len(reads))
	}
	for _, p := range reads {
		if len(p) > 1024 {
			t.Errorf("a pattern of %d bytes", len(p))
		}
	}
	for _, c := range table {
		for _, place := range c.Places {
			if !slices.ContainsFunc(reads, func(p string) bool { return match(p, strings.ReplaceAll(place, "*", "s")) }) {
				t.Errorf("%s can't be read", place)
			}
		}
	}
}

func TestName(t *testing.T) {
	for _, tt := range []struct {
		from     conventions.Derivation
		place, p string
		want     string
	}{
		{conventions.FromPath, ".c/commands/**/*.md", ".c/commands/git/commit.x.md", "git:commit"},
		{conventions.FromPath, ".c/commands/*.md", ".c/commands/commit.md", "commit"},
		{conventions.FromPath, "a.md", "a.md", "a"},
		{conventions.FromFile, "*", ".hidden.md", ".hidden"},
		{conventions.FromFile, "*", "a", "a"},
		{conventions.FromDirectory, "*/x", "dir/x", "dir"},
		{conventions.FromNothing, "x", "x", ""},
		{conventions.FromFile, "*", strings.Repeat("x", 300), strings.Repeat("x", 253) + "…"},
	} {
		if got := places.Name(&conventions.Convention{Name: tt.from, Places: []string{tt.place}}, tt.p); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}
