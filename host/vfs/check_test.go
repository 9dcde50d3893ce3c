package vfs_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestTrace(t *testing.T) {
	dir := vfstest.Build(t, []string{"AGENTS.md = a", "CLAUDE.md -> AGENTS.md", "skills -> store", "store/foo/SKILL.md = s", "README.md = r", "fifo |", "f = x", "esc -> ../out/x"})
	config := vfstest.Config{Dir: dir, View: vfs.View{Reads: []string{"AGENTS.md", "CLAUDE.md", "skills/*/SKILL.md", "fifo", "f", "esc", "no/**"}}}
	_, _, run := begin(t, config)
	d := direct{run}
	d.Stat("AGENTS.md")
	d.Read("CLAUDE.md", 0, 10)
	d.List("skills")
	d.Read("skills/foo/SKILL.md", 0, 10)
	d.Read("README.md", 0, 10) // not visible: nothing to depend on
	d.Read("no/such/file", 0, 10)
	d.Read("fifo", 0, 10)
	d.Read("f/below", 0, 10)
	d.Read("esc", 0, 10)
	d.Lstat("CLAUDE.md")
	var got []string
	for _, dep := range run.Trace() {
		line := fmt.Sprintf("%s %s", dep.Kind, dep.Path)
		if dep.As != "" {
			line += " as " + dep.As
		}
		if dep.Target != "" {
			line += " > " + dep.Target
		}
		got = append(got, line)
	}
	want := []string{
		"read AGENTS.md", "link CLAUDE.md > AGENTS.md", "stat CLAUDE.md", "link esc > ../out/x", "stat fifo", "missing no",
		"link skills > store", "listed store as skills", "read store/foo/SKILL.md",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A trace survives being stored.
func TestTraceAsJSON(t *testing.T) {
	dir := vfstest.Build(t, []string{"a = x", "l -> a", "d/f = y"})
	root, filter, run := begin(t, everything(dir))
	observeAll(run, []string{".", "a", "l", "d", "d/f", "no"})
	deps := run.Trace()
	text, err := json.Marshal(deps)
	if err != nil {
		t.Fatal(err)
	}
	var back []vfs.Dep
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(deps, back) {
		t.Errorf("%v\n%s", err, text)
	}
	if f := root.Check(filter, back); !f.Fresh {
		t.Errorf("changed: %s", f.Changed)
	}
}

func TestCheckSeesOneEdit(t *testing.T) {
	tree := []string{"a = x", "l -> a", "d/f = y", "d/sub/", "dl -> d", "hidden.txt = h", ".env = s"}
	at := func(dir, name string) string { return filepath.Join(dir, name) }
	for name, c := range map[string]struct {
		edit    func(dir string) error
		changed string // "" means fresh
	}{
		"nothing":              {func(string) error { return nil }, ""},
		"content":              {func(dir string) error { return os.WriteFile(at(dir, "a"), []byte("z"), 0o644) }, "a"},
		"touched":              {func(dir string) error { return os.Chtimes(at(dir, "a"), time.Time{}, time.Unix(1, 0)) }, ""},
		"written as it was":    {func(dir string) error { return os.WriteFile(at(dir, "a"), []byte("x"), 0o644) }, ""},
		"removed":              {func(dir string) error { return os.Remove(at(dir, "a")) }, "a"},
		"appeared":             {func(dir string) error { return os.WriteFile(at(dir, "no"), nil, 0o644) }, "no"},
		"new name":             {func(dir string) error { return os.WriteFile(at(dir, "d/g"), nil, 0o644) }, "d"},
		"new hidden name":      {func(dir string) error { return os.WriteFile(at(dir, "d/.env"), nil, 0o644) }, ""},
		"new name not in view": {func(dir string) error { return os.WriteFile(at(dir, "d/x.txt"), nil, 0o644) }, ""},
		"new name not UTF-8":   {func(dir string) error { return os.WriteFile(at(dir, "d/\xff"), nil, 0o644) }, "d"},
		"secret edited":        {func(dir string) error { return os.WriteFile(at(dir, ".env"), []byte("z"), 0o644) }, ""},
		"link turned": {func(dir string) error {
			_ = os.Remove(at(dir, "dl"))
			return os.Symlink("d/sub", at(dir, "dl"))
		}, "dl"},
		"file became a link": {func(dir string) error {
			_ = os.Rename(at(dir, "a"), at(dir, "b.txt"))
			return os.Symlink("b.txt", at(dir, "a"))
		}, "a"},
		"directory became a link": {func(dir string) error {
			_ = os.Rename(at(dir, "d"), at(dir, "e.txt"))
			return os.Symlink("e.txt", at(dir, "d"))
		}, "d"},
		"type": {func(dir string) error {
			_ = os.Remove(at(dir, "d/sub"))
			return os.WriteFile(at(dir, "d/sub"), nil, 0o644)
		}, "d"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := vfstest.Build(t, tree)
			root, filter, run := begin(t, vfstest.Config{Dir: dir, View: vfs.View{Reads: []string{"[!.]", "l", "d/[fg]", "d/sub", "dl/[fg]", "no", "hidden"}}})
			observeAll(run, []string{"a", "l", "d", "dl", "dl/f", "no"})
			deps := run.Trace()
			if err := c.edit(dir); err != nil {
				t.Fatal(err)
			}
			f := root.Check(filter, deps)
			if f.Fresh != (c.changed == "") || f.Changed != c.changed {
				t.Errorf("got %v %q, want %q changed", f.Fresh, f.Changed, c.changed)
			}
		})
	}
}

// A young file is known by its content, an old one by its identity.
func TestYoungFiles(t *testing.T) {
	now := time.Now() // before the file's
	dir := vfstest.Build(t, []string{"a = x"})
	config := everything(dir)
	config.Options.Now = func() time.Time { return now }
	root, filter, run := begin(t, config)
	d := direct{run}
	d.Read("a", 0, 1)
	deps := run.Trace()
	if len(deps) != 1 || !deps[0].Young {
		t.Fatalf("got %+v, want one young dep", deps)
	}
	now = now.Add(time.Hour)
	f := root.Check(filter, deps)
	if !f.Fresh || f.Deps[0].Young || !deps[0].Young {
		t.Errorf("after an hour: %+v", f)
	}
	// An edit that leaves the identity as it was, as on a coarse clock.
	write(t, filepath.Join(dir, "a"), "y")
	_, _, later := begin(t, config)
	direct{later}.Read("a", 0, 1)
	forged := slices.Clone(deps)
	forged[0].ID = later.Trace()[0].ID
	if root.Check(filter, forged).Fresh {
		t.Error("a young file was trusted by its identity")
	}
	forged[0].Young = false
	if !root.Check(filter, forged).Fresh {
		t.Error("an old file wasn't trusted by its identity")
	}
}

// A young directory is known by its listing, an old one by its identity, and
// one that has got other times by its listing again.
func TestYoungDirectories(t *testing.T) {
	now := time.Now() // before the directory's
	dir := vfstest.Build(t, []string{"d/a = x", "d/hidden.txt = h"})
	config := vfstest.Config{Dir: dir, View: vfs.View{Reads: []string{"d/[a-c]"}}}
	config.Options.Now = func() time.Time { return now }
	root, filter, run := begin(t, config)
	direct{run}.List("d")
	deps := run.Trace()
	if len(deps) != 1 || !deps[0].Young {
		t.Fatalf("got %+v, want one young dep", deps)
	}
	now = now.Add(time.Hour)
	f := root.Check(filter, deps)
	if !f.Fresh || f.Deps[0].Young {
		t.Fatalf("after an hour: %+v", f)
	}
	old := f.Deps
	write(t, filepath.Join(dir, "d/more.txt"), "not visible")
	now = now.Add(time.Hour)
	if f = root.Check(filter, old); !f.Fresh || f.Deps[0].ID == old[0].ID {
		t.Errorf("other times, the same listing: %+v", f)
	}
	forged := slices.Clone(f.Deps)
	forged[0].Hash = []byte("another")
	if !root.Check(filter, forged).Fresh {
		t.Error("an old directory wasn't trusted by its identity")
	}
	forged[0].Young = true
	if root.Check(filter, forged).Fresh {
		t.Error("a young directory was trusted by its identity")
	}
	write(t, filepath.Join(dir, "d/b"), "visible")
	if root.Check(filter, f.Deps).Fresh {
		t.Error("a new name wasn't seen")
	}
}

// observeAll asks everything about every name and returns all answers.
func observeAll(run *vfs.Run, names []string) string {
	return observeNames(run, names) + fmt.Sprintln(run.HiddenNames(), run.Denied())
}

func observeNames(run *vfs.Run, names []string) string {
	var b strings.Builder
	d := direct{run}
	for _, n := range names {
		data, e1 := d.Read(n, 0, 100_000)
		list, e2 := d.List(n)
		stat, e3 := d.Stat(n)
		lstat, e4 := d.Lstat(n)
		link, e5 := d.Readlink(n)
		c, _ := run.Content(n)
		path, typ, _ := run.Resolve(n)
		fmt.Fprintf(&b, "%s: %.20q %d %s|%v %s|%v %s|%v %s|%s %s|%v %s %d %x|%s %v\n",
			n, data, len(data), e1, list, e2, stat, e3, lstat, e4, link, e5, c.Class, c.Path, c.Size, c.Hash, path, typ)
	}
	return b.String()
}

var (
	randomNames = []string{"a", "b", "d", "d/a", "d/b", "d/d", "e", "e/a", "e/d/a", ".env", ".mcp.json", "x.txt", "d/x.txt", ".git", "d/.ssh", "e/.git/a", "x.pem"}
	randomLinks = []string{"a", "b", "d", "../a", "../e", "d/a", ".", "..", "nothing", ".env", "../.mcp.json", "/etc/passwd", "$ROOT/d", "e/../a", "d/d/../a"}
	randomViews = []vfs.View{
		{Reads: []string{"**"}},
		{Reads: []string{"a", "d/*", "e/**"}},
		{Reads: []string{"{a,b}", "*/d/a"}, MCPOnly: true},
		{Reads: []string{"**"}, Narrow: []string{"d/**", "b"}, GrantSecrets: []string{".env*"}},
	}
)

// randomModes are those of what is there: half of them close it.
var randomModes = []os.FileMode{0o644, 0o755, 0o700, 0o711, 0, 0o300, 0o400, 0o600, 0o100}

// edit changes one random thing; errors are part of the game.
func edit(r *rand.Rand, dir string) {
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	path, to := filepath.Join(dir, pick(randomNames)), filepath.Join(dir, pick(randomNames))
	letter, length, link := string(rune('a'+r.IntN(3))), r.IntN(3), strings.ReplaceAll(pick(randomLinks), "$ROOT", dir)
	mode := randomModes[r.IntN(len(randomModes))]
	op, top := r.IntN(17), filepath.Dir(dir)
	// The links lead to files of the machine, too.
	if !vfstest.Inside(top, filepath.Dir(path)) || !vfstest.Inside(top, filepath.Dir(to)) || (op < 4 || op == 12) && !vfstest.Inside(top, path) {
		return
	}
	if parent, err := os.Stat(filepath.Dir(path)); err != nil || !parent.IsDir() {
		return // a FIFO would block
	}
	if info, err := os.Stat(path); op < 4 && err == nil && !info.Mode().IsRegular() {
		return
	}
	switch op {
	case 0, 1, 2:
		_ = os.WriteFile(path, []byte(strings.Repeat(letter, length)), 0o644)
	case 3:
		_ = os.WriteFile(path, []byte(strings.Repeat(letter, 66_000)), 0o644)
	case 4:
		_ = os.Mkdir(path, 0o755)
	case 5, 6:
		_ = os.RemoveAll(path)
	case 7, 8:
		_ = os.Remove(path)
		_ = os.Symlink(link, path)
	case 9:
		_ = os.Rename(path, to)
	case 10:
		_ = os.Link(path, to)
	case 11:
		_ = os.WriteFile(path+"\xff", nil, 0o644)
	case 12, 13:
		if op == 13 {
			path = dir
		}
		_ = os.Chmod(path, mode)
	case 14, 15:
		vfstest.Reopen(dir)
	case 16:
		_ = os.Remove(path)
		_ = unix.Mknod(path, []uint32{unix.S_IFIFO, unix.S_IFSOCK}[r.IntN(2)]|0o644, 0)
	}
}

// buildOpen is Build for a tree whose modes will be changed.
func buildOpen(t *testing.T) string {
	t.Helper()
	dir := vfstest.Build(t, nil)
	t.Cleanup(func() { vfstest.Reopen(dir) })
	return dir
}

// TestFreshMeansEqual: after any edits, a trace that checks as fresh belongs
// to a run that would come out the same.
func TestFreshMeansEqual(t *testing.T) { freshMeansEqual(t) }

// TestFreshMeansEqualToOrdinaryUser is the same where permissions count.
func TestFreshMeansEqualToOrdinaryUser(t *testing.T) { testenv.RunOrdinary(t, freshMeansEqual) }

func freshMeansEqual(t *testing.T) {
	seed, rounds := testenv.Seed(t), testenv.Rounds(16, 150, 10_000)
	var fresh, stale int
	for round := range rounds {
		r := testenv.RandOf(seed, uint64(round))
		dir := buildOpen(t)
		view := randomViews[r.IntN(len(randomViews))]
		config := vfstest.Config{Dir: dir, View: view, Options: vfs.RootOptions{Exclude: []string{"e/d/b"}}}
		root, filter, run := begin(t, config)
		for range 25 {
			edit(r, dir)
		}
		questions := slices.Clone(randomNames)
		questions = append(questions, ".", "a/a", "d/a/b", "e/d")
		r.Shuffle(len(questions), func(i, j int) { questions[i], questions[j] = questions[j], questions[i] })
		questions = questions[:1+r.IntN(len(questions)-1)]
		was := observeAll(run, questions)
		deps := run.Trace()
		_ = run.Close()
		for step := range 10 {
			if step > 0 { // at first nothing has changed
				edit(r, dir)
			}
			f := root.Check(filter, deps)
			run := root.Begin(filter, vfs.Limits{})
			is := observeAll(run, questions)
			switch {
			case f.Fresh && is != was:
				t.Fatalf("round %d step %d, view %+v: fresh, but\n%s", round, step, view, diff(was, is))
			case f.Fresh:
				fresh++
				deps = f.Deps
			default:
				stale++
				if step == 0 && !unstable(deps) {
					t.Fatalf("round %d: %s changed, but nothing did", round, f.Changed)
				}
				was, deps = is, run.Trace()
			}
			_ = run.Close()
		}
		_ = root.Close()
	}
	t.Logf("%d fresh, %d stale", fresh, stale)
	if fresh < rounds || stale < rounds/8 { // the usual is 9 and 1.2 of 10
		t.Errorf("the test tests little: %d fresh, %d stale", fresh, stale)
	}
}

func diff(was, is string) string {
	var b strings.Builder
	a, c := strings.Split(was, "\n"), strings.Split(is, "\n")
	for i := range min(len(a), len(c)) {
		if a[i] != c[i] {
			fmt.Fprintf(&b, "was %s\nis  %s\n", a[i], c[i])
		}
	}
	return b.String()
}

func unstable(deps []vfs.Dep) bool {
	return slices.ContainsFunc(deps, func(d vfs.Dep) bool {
		return d.Unstable || d.Kind == vfs.DepRead && d.Young && len(d.Hash) == 0 || d.Kind == vfs.DepRead && d.Young
	})
}
