package host_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// forFile is a file of a random tree, as the model knows it.
type forFile struct {
	base, place string // the directory, empty for the root, and the place in it
	kind        abi.Kind
	nested      bool // read below the root, too
	mode        string
	globs       []string
	text        string
}

// path is that of the item: of a skill, its directory.
func (f *forFile) path() string {
	return strings.TrimSuffix(path.Join(f.base, f.place), "/SKILL.md")
}

var forGlobs = []string{"*.go", "**/*.go", "*.{go,ts}", "a/**", "**/b/*", "/a/*.ts", "./b/", "a", "?.go", "**/a/**/x*", "c/**/*.md", "[xy].go"}

// someFile makes a file in a directory; whether it nests is what the documentation of its
// reader says.
func someFile(r *rand.Rand, base string) forFile {
	name := string(rune('p' + r.IntN(3)))
	globs := []string{forGlobs[r.IntN(len(forGlobs))]}
	if r.IntN(3) == 0 {
		globs = append(globs, forGlobs[r.IntN(len(forGlobs))])
	}
	quoted := "['" + strings.Join(globs, "', '") + "']"
	front := func(lines ...string) string { return "---\n" + strings.Join(lines, "\n") + "\n---\ntext\n" }
	plain := func(place string, nested bool) forFile {
		return forFile{base, place, abi.KindInstructionFile, nested, "always", nil, "text"}
	}
	named := func(place string, kind abi.Kind, nested bool) forFile {
		return forFile{base, place, kind, nested, "always", nil, front("name: "+name, "description: d")}
	}
	ruled := func(place string, nested bool, mode string, lines ...string) forFile {
		f := forFile{base, place, abi.KindInstructionFile, nested, mode, nil, front(lines...)}
		if mode == "glob" {
			f.globs = globs
		}
		return f
	}
	cursor, claude, windsurf := ".cursor/rules/"+name+".mdc", ".claude/rules/"+name+"/"+name+".md", ".windsurf/rules/"+name+".md"
	copilot := ".github/instructions/" + name + ".instructions.md"
	switch r.IntN(22) {
	case 0, 1, 2:
		return plain("AGENTS.md", true)
	case 3, 4:
		return plain("CLAUDE.md", true)
	case 5:
		return plain(".claude/CLAUDE.md", true)
	case 6:
		return plain("AGENTS.override.md", true)
	case 7:
		return plain("replit.md", false)
	case 8:
		return plain(".cursorrules", false)
	case 9:
		return ruled(cursor, true, "always", "alwaysApply: true", "globs: "+quoted)
	case 10, 11:
		return ruled(cursor, true, "glob", "globs: "+quoted, "description: d")
	case 12:
		return ruled(cursor, true, "model", "description: d", "globs:")
	case 13:
		return ruled(cursor, true, "manual", "alwaysApply: false")
	case 14:
		return ruled(claude, true, "glob", "paths: "+quoted)
	case 15:
		return ruled(claude, true, "always", "other: 1")
	case 16:
		return ruled(windsurf, false, "glob", "trigger: glob", "globs: "+quoted)
	case 17:
		return ruled(copilot, true, "always", "applyTo: '**'")
	case 18:
		return named(".claude/skills/"+name+"/SKILL.md", abi.KindSkill, true)
	case 19:
		return named(".github/skills/"+name+"/SKILL.md", abi.KindSkill, false)
	case 20:
		return named(".claude/agents/"+name+".md", abi.KindSubagent, true)
	}
	return named(".claude/commands/"+name+".md", abi.KindCommand, true)
}

// globMatches is what a glob means, by another way than the engine's.
func globMatches(glob, rel string) bool {
	glob = strings.TrimPrefix(strings.TrimPrefix(glob, "./"), "/")
	if strings.HasSuffix(glob, "/") {
		glob += "**"
	}
	text := regexp.QuoteMeta(glob)
	for _, r := range [][2]string{
		{`/\*\*/`, "/(.*/)?"}, {`\*\*/`, "(.*/)?"}, {`/\*\*`, "(/.*)?"}, {`\*`, "[^/]*"}, {`\?`, "[^/]"},
		{`\{go,ts\}`, "(go|ts)"}, {`\[xy\]`, "[xy]"},
	} {
		// What was put in holds no backslash before a star.
		text = strings.ReplaceAll(text, r[0], r[1])
	}
	return regexp.MustCompile("^" + text + "$").MatchString(rel)
}

// wantFor is the naive answer: every file of the tree is looked at, and judged.
func wantFor(files []forFile, asked string) string {
	type judged struct {
		*forFile
		applies bool
	}
	var list []judged
	for i := range files {
		f := &files[i]
		rel, below := strings.CutPrefix(asked, f.base+"/")
		if f.base == "" {
			rel, below = asked, true
		}
		if !below || f.base != "" && !f.nested {
			continue
		}
		list = append(list, judged{f, f.mode == "always" || slices.ContainsFunc(f.globs, func(g string) bool { return globMatches(g, rel) })})
	}
	order := []abi.Kind{abi.KindInstructionFile, abi.KindSkill, abi.KindSubagent, abi.KindCommand}
	slices.SortFunc(list, func(a, b judged) int {
		if a.applies != b.applies {
			if a.applies {
				return -1
			}
			return 1
		}
		return cmp.Or(len(b.base)-len(a.base), slices.Index(order, a.kind)-slices.Index(order, b.kind), cmp.Compare(a.path(), b.path()))
	})
	var out strings.Builder
	for _, j := range list {
		_, _ = fmt.Fprintln(&out, j.path(), j.kind, j.mode, j.applies, len(j.text))
	}
	return out.String()
}

// TestForEqualsModel: in random trees the answer is that of somebody who looks at every
// file.
func TestForEqualsModel(t *testing.T) {
	t.Parallel()
	r := testenv.Rand(t)
	for range testenv.Rounds(2, max(2, 12/testenv.RaceShare), 300) {
		dirs := []string{""}
		for range r.IntN(8) {
			dirs = append(dirs, path.Join(dirs[r.IntN(len(dirs))], string(rune('a'+r.IntN(3)))))
		}
		var files []forFile
		var tree []string
		for range r.IntN(40) {
			f := someFile(r, dirs[r.IntN(len(dirs))])
			if !slices.ContainsFunc(files, func(g forFile) bool { return g.path() == f.path() }) {
				files = append(files, f)
				tree = append(tree, path.Join(f.base, f.place)+" = "+f.text)
			}
		}
		w := vfstest.Build(t, tree)
		h := forHost(t, w, host.Options{})
		for range 25 {
			asked := path.Join(dirs[r.IntN(len(dirs))], []string{"", "a", "b", "none/b"}[r.IntN(4)], []string{"x.go", "y.ts", "a", "README.md"}[r.IntN(4)])
			if slices.Contains(dirs, asked) {
				continue // it is a directory, of which TestFor knows
			}
			var got strings.Builder
			for _, i := range mustFor(t, h, w+"/"+asked).Items {
				_, _ = fmt.Fprintln(&got, i.Path, i.Kind, i.Mode, i.Applies, i.Bytes)
			}
			if want := wantFor(files, asked); got.String() != want {
				t.Fatalf("%s in\n%s\ngot\n%s\nwant\n%s", asked, quoteLines(tree), got.String(), want)
			}
		}
	}
}
