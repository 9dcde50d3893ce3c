package search_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waymark/agentapi"
	"waymark/test/testenv"
	"waymark/workspace/files/search"
)

// TestIgnored: in random trees with random patterns, what git ignores is ignored.
func TestIgnored(t *testing.T) {
	names := []string{"a", "b", "c.log", "A", "x y", "{a}", "a.b", "#c", "!d", "build"}
	parts := []string{"*", "**", "?", "a", "b", "c.log", "*.log", "[ab]", "[!a]", "{a}", `\#c`, `\!d`, "x y", "a*", "**b", "***", "build", "#c", "[a", `a\`, "x y  ", `x y\ `}
	pick := func(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }
	for round := range testenv.Rounds(6, 40, 1000) {
		seed := uint64(round)
		r := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		for range 40 {
			at := dir
			for range 1 + r.IntN(4) {
				at = filepath.Join(at, pick(r, names))
			}
			if os.MkdirAll(filepath.Dir(at), 0o755) == nil {
				_ = os.WriteFile(at, []byte("x"), 0o644) // a directory may have its name
			}
		}
		patterns := func() string {
			var b strings.Builder
			for range r.IntN(4) {
				if r.IntN(4) == 0 {
					b.WriteByte('!')
				}
				if r.IntN(4) == 0 {
					b.WriteByte('/')
				}
				for i := range 1 + r.IntN(3) {
					if i > 0 {
						b.WriteByte('/')
					}
					b.WriteString(pick(r, parts))
				}
				if r.IntN(4) == 0 {
					b.WriteByte('/')
				}
				b.WriteString([]string{"\n", "\n\n"}[r.IntN(2)])
			}
			return b.String()
		}
		git := func(args ...string) string {
			c := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "core.excludesFile=/dev/null"}, args...)...)
			c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
			out, err := c.Output()
			if err != nil {
				t.Fatalf("git %s: %v", args, err)
			}
			return string(out)
		}
		git("init", "-q")
		put := func(name, content string) {
			if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		put(filepath.Join(dir, ".git/info/exclude"), patterns())
		shown := map[string]string{".git/info/exclude": ""}
		var got []string
		var walk func(rel string, g *search.Ignored)
		walk = func(rel string, g *search.Ignored) {
			if rel == "." || r.IntN(3) == 0 {
				put(filepath.Join(dir, rel, ".gitignore"), patterns())
			}
			for _, name := range []string{".git/info/exclude", ".gitignore"} {
				if data, err := os.ReadFile(filepath.Join(dir, rel, name)); err == nil {
					g = g.With(rel, data)
					shown[filepath.Join(rel, name)] = string(data)
				}
			}
			entries, err := os.ReadDir(filepath.Join(dir, rel))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				at := filepath.Join(rel, e.Name())
				switch {
				case e.Name() == ".git" || g.Ignores(at, e.IsDir()):
				case e.IsDir():
					walk(at, g)
				default:
					got = append(got, at)
				}
			}
		}
		walk(".", nil)
		want := strings.FieldsFunc(git("ls-files", "-z", "--others", "--exclude-standard"), func(r rune) bool { return r == 0 })
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			var all []string
			_ = filepath.WalkDir(dir, func(p string, e fs.DirEntry, _ error) error {
				if !e.IsDir() && !strings.Contains(p, "/.git/") {
					all = append(all, p[len(dir)+1:])
				}
				return nil
			})
			t.Fatalf("seed %d: of %q with %q, not ignored are\n%q; for git\n%q", seed, all, shown, got, want)
		}
	}
}

// TestNames: what a query finds, the best first.
func TestNames(t *testing.T) {
	tree := []string{
		"README.md", "cmd/agent/main.go", "cmd/hub/main.go", "docs/main.md", "internal/domain/domain.go", "internal/Main.go",
		"maintenance/plan.txt", "src/app/handler_test.go", "src/app/handler.go", "src/handlers/user.ts", "web/a.tsx",
	}
	for query, want := range map[string]string{
		"main.go":                    "cmd/hub/main.go cmd/agent/main.go internal/Main.go internal/domain/domain.go",
		"MAIN.GO":                    "internal/Main.go cmd/hub/main.go cmd/agent/main.go internal/domain/domain.go",
		"main":                       "docs/main.md internal/Main.go cmd/hub/main.go cmd/agent/main.go internal/domain/domain.go maintenance/plan.txt",
		"hub/main.go":                "cmd/hub/main.go",
		"./README.md":                "README.md",
		"agent main":                 "cmd/agent/main.go",
		"hndlr":                      "src/app/handler.go src/app/handler_test.go",
		"*.ts":                       "src/handlers/user.ts",
		"*.{ts,tsx}":                 "web/a.tsx src/handlers/user.ts",
		"src/**/*.go":                "src/app/handler.go src/app/handler_test.go",
		"/src/*":                     "",
		"src/":                       "src/app/handler.go src/handlers/user.ts src/app/handler_test.go",
		"src/**/":                    "src/app/handler.go src/handlers/user.ts src/app/handler_test.go",
		"nothing":                    "",
		"[":                          "error",
		"":                           "error",
		strings.Repeat("{a,b}", 200): "error",
	} {
		n, err := search.NewNames(&agentapi.FindFiles{Query: query})
		if err != nil {
			if want != "error" {
				t.Errorf("%q: %v", query, err)
			}
			continue
		}
		for _, name := range tree {
			n.Add(name)
		}
		var found agentapi.FoundFiles
		if n.Answer(&found); strings.Join(found.Files, " ") != want || found.Omitted != 0 {
			t.Errorf("%q finds %s (%d omitted), not %s", query, strings.Join(found.Files, " "), found.Omitted, want)
		}
	}
	n, err := search.NewNames(&agentapi.FindFiles{Query: "f", Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5000 {
		n.Add(fmt.Sprintf("d/f%05d", i))
	}
	n.Add("f")
	var found agentapi.FoundFiles
	if n.Answer(&found); strings.Join(found.Files, " ") != "f d/f00000 d/f00001" || found.Omitted != 4998 {
		t.Errorf("many: %q, %d omitted", found.Files, found.Omitted)
	}
}

// TestLines: what is shown of a file.
func TestLines(t *testing.T) {
	long := strings.Repeat("x", 5000) + "needle" + strings.Repeat("y", 5000)
	for _, c := range []struct {
		name, data string
		ask        agentapi.SearchFiles
		want       string
	}{
		{"a text", "one\ntwo\nthree two\n", agentapi.SearchFiles{Pattern: "two"}, "2:two\n3:three two\n"},
		{"no final line break", "one\ntwo", agentapi.SearchFiles{Pattern: "two"}, "2:two\n"},
		{"twice in a line", "two two\n", agentapi.SearchFiles{Pattern: "two"}, "1:two two\n"},
		{"special characters", "a.b\naxb\n", agentapi.SearchFiles{Pattern: "a.b"}, "1:a.b\n"},
		{"an expression", "a.b\naxb\n", agentapi.SearchFiles{Pattern: "a.b", Regexp: true}, "1:a.b\n2:axb\n"},
		{"anchors", "ab\nb\n", agentapi.SearchFiles{Pattern: "^b$", Regexp: true}, "2:b\n"},
		{"anchors in CRLF", "ab\r\nb\r\n", agentapi.SearchFiles{Pattern: "^b$", Regexp: true}, "2:b\n"},
		{"behind a byte order mark", "\ufeffb\n", agentapi.SearchFiles{Pattern: "^b$", Regexp: true}, "1:b\n"},
		{"another case", "Two\nTWO\n", agentapi.SearchFiles{Pattern: "two", IgnoreCase: true}, "1:Two\n2:TWO\n"},
		{"not over lines", "a\nb\n", agentapi.SearchFiles{Pattern: `a\sb|a[^x]b|a(?s:.)b`, Regexp: true}, ""},
		{"every line", "a\n\nb\n", agentapi.SearchFiles{Pattern: "x*", Regexp: true}, "1:a\n2:\n3:b\n"},
		{"empty lines", "a\n\nb\n", agentapi.SearchFiles{Pattern: "^$", Regexp: true}, "2:\n"},
		{"an empty file", "", agentapi.SearchFiles{Pattern: "^$", Regexp: true}, ""},
		{"context", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", agentapi.SearchFiles{Pattern: "[37]", Regexp: true, Context: 1}, "2-2\n3:3\n4-4\n--\n6-6\n7:7\n8-8\n"},
		{"context that touches", "1\n2\n3\n4\n5\n", agentapi.SearchFiles{Pattern: "[24]", Regexp: true, Context: 2}, "1-1\n2:2\n3-3\n4:4\n5-5\n"},
		{"context at the ends", "1\n2\n", agentapi.SearchFiles{Pattern: "1", Context: 9}, "1:1\n2-2\n"},
		{"a long line", long, agentapi.SearchFiles{Pattern: "needle"}, "1:…" + strings.Repeat("x", 100) + "needle" + strings.Repeat("y", 294) + "…\n"},
		{"not UTF-8", "a\xff b\n", agentapi.SearchFiles{Pattern: "b"}, "1:a\ufffd b\n"},
		{"binary", "a\x00\n", agentapi.SearchFiles{Pattern: "a"}, ""},
		{"only names", "a\na\n", agentapi.SearchFiles{Pattern: "a", Output: "files"}, ""},
	} {
		p, err := search.NewPattern(&c.ask)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		found := p.Search("f", []byte(c.data), true)
		lines := p.Lines()
		lines.Add(&found)
		a, text := lines.Answer(), ""
		for _, f := range a.Files {
			text += f.Text
		}
		if n := strings.Count(text, ":"); text != c.want || c.ask.Output == "" && a.Matches != n || c.ask.Output != "" && a.Matches != 2 {
			t.Errorf("%s: %q with %d matches, not %q", c.name, text, a.Matches, c.want)
		}
	}
	for _, ask := range []agentapi.SearchFiles{
		{}, {Pattern: "("}, {Pattern: "a\nb"}, {Pattern: `a\nb`}, {Pattern: `\Aa`}, {Pattern: `a\z`}, {Pattern: `[\n]`}, {Pattern: "a", Context: -1}, {Pattern: "a", Context: 21}, {Pattern: "a", Output: "x"},
		{Pattern: strings.Repeat("a", 1025)}, {Pattern: "a\x00"}, {Pattern: "(((a{99}){99}){99})"},
	} {
		ask.Regexp = true
		if _, err := search.NewPattern(&ask); err == nil || strings.Contains(err.Error(), "regexp/syntax") {
			t.Errorf("%.60q is taken, or refused by %v", ask.Pattern, err)
		}
	}
}

// TestMatchesLineByLine: a search finds the lines that an expression matches one by one.
func TestMatchesLineByLine(t *testing.T) {
	exprs := []string{"a", "a|b", "^a", "b$", "^$", "a.*b", `\bab`, "[^a]", "[^a]+c", `\s`, `\W+`, "(?i)B", "x*", "a??", `\Bb`, "(a|b)*c$", "(?s:a.b)"}
	for seed := range uint64(testenv.Rounds(300, 2000, 100_000)) {
		r := rand.New(rand.NewPCG(seed, 2))
		var b strings.Builder
		for range r.IntN(40) {
			b.WriteByte("abcB \n\t"[r.IntN(7)])
		}
		expr := exprs[r.IntN(len(exprs))]
		p, err := search.NewPattern(&agentapi.SearchFiles{Pattern: expr, Regexp: true})
		if err != nil {
			t.Fatal(err)
		}
		re, want := regexp.MustCompile(expr), 0
		for line := range strings.Lines(b.String()) {
			if re.MatchString(strings.TrimSuffix(line, "\n")) {
				want++
			}
		}
		if found := p.Search("f", []byte(b.String()), true); found.Matches != want {
			t.Fatalf("seed %d: %q matches %d lines of %q, not %d", seed, expr, found.Matches, b.String(), want)
		}
	}
}

// TestRoom: an answer has only so much text, and names and counts the rest.
func TestRoom(t *testing.T) {
	p, err := search.NewPattern(&agentapi.SearchFiles{Pattern: "a"})
	if err != nil {
		t.Fatal(err)
	}
	lines := p.Lines()
	for i := range 300 {
		found := p.Search(fmt.Sprintf("f%d", i), []byte(strings.Repeat("aaaaaaaaa\n", 2000)), !lines.Full())
		lines.Add(&found)
	}
	a, size := lines.Answer(), 0
	for i, f := range a.Files {
		if size += len(f.Text); f.Matches != 2000 || f.Cut != (i >= 1) || f.Text != "" && !strings.HasSuffix(f.Text, "\n") {
			t.Errorf("file %d: %d matches, %d bytes, cut: %v", i, f.Matches, len(f.Text), f.Cut)
		}
	}
	if a.Matches != 600_000 || a.Matching != 300 || a.Omitted != 100 || len(a.Files) != 200 || size > 32<<10 || size < 31<<10 {
		t.Errorf("%d matches in %d files, %d shown, %d omitted, %d bytes", a.Matches, a.Matching, len(a.Files), a.Omitted, size)
	}
}
