package vfs_test

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
)

func TestCompileRefuses(t *testing.T) {
	for pattern, want := range map[string]string{
		"":                                "empty",
		"/abs":                            "leading slash",
		"a//b":                            "empty name",
		"dir/":                            "trailing slash",
		"./a":                             ". or ..",
		"a/../b":                          ". or ..",
		"[a":                              "brackets",
		"{a,b":                            "braces",
		"a]b[/]":                          "slash inside brackets",
		"\xff":                            "UTF-8",
		strings.Repeat("{a,b}", 12):       "expand",
		strings.Repeat("x", 2000):         "longer",
		"{a,b}{" + strings.Repeat(",", 9): "brackets and braces",
	} {
		_, err := vfs.View{Reads: []string{pattern}}.Compile()
		e, ok := errors.AsType[*vfs.PatternError](err)
		if !ok || !strings.Contains(e.Error(), want) || e.Field != "reads" || e.Pattern != pattern {
			t.Errorf("%.20q: got %v, want a PatternError with %q", pattern, err, want)
		}
	}
	if _, err := (vfs.View{GrantSecrets: []string{".envrc"}}).Compile(); err == nil {
		t.Error("a secret that isn't an entry of the list was granted")
	}
	if _, err := vfs.OpenRoot(t.TempDir(), vfs.RootOptions{Exclude: []string{"["}}); err == nil {
		t.Error("a bad exclude pattern was accepted")
	}
}

func TestListEntriesAreSound(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range vfs.SecretPatterns() {
		if seen[s.Pattern] || s.What == "" || !doublestar.ValidatePattern(s.Pattern) {
			t.Errorf("bad or repeated entry %+v", s)
		}
		seen[s.Pattern] = true
		if _, err := (vfs.View{GrantSecrets: []string{s.Pattern}}).Compile(); err != nil {
			t.Error(err)
		}
	}
	for _, m := range vfs.MCPFiles() {
		if seen[m.Pattern] || m.Client == "" || !doublestar.ValidatePattern(m.Pattern) {
			t.Errorf("bad or repeated entry %+v", m)
		}
		seen[m.Pattern] = true
	}
}

// Every place of the two lists is invisible, at the top and further down.
func TestListedPlacesAreHidden(t *testing.T) {
	var places []string
	for _, s := range vfs.SecretPatterns() {
		places = append(places, s.Pattern)
	}
	for _, m := range vfs.MCPFiles() {
		places = append(places, m.Pattern)
	}
	var tree []string
	for i, p := range places {
		places[i] = strings.ReplaceAll(strings.TrimSuffix(p, "/**"), "*", "some")
		tree = append(tree, "deep/er/"+strings.ToUpper(places[i])+" = TOKEN")
	}
	_, _, run := begin(t, everything(vfstest.Build(t, tree)))
	for _, p := range places {
		if _, err := run.Stat("deep/er/" + strings.ToUpper(p)); !errors.Is(err, vfs.ErrHidden) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// Entries of several names may begin above the root; those of one may not.
func TestRootInsideListedPlace(t *testing.T) {
	dir := vfstest.Build(t, []string{"home/.docker/config.json = TOKEN", "home/.docker/x = x", "home/.ssh/config = chosen"})
	_, _, run := begin(t, everything(filepath.Join(dir, "home/.docker")))
	if _, err := run.Open("config.json"); !errors.Is(err, vfs.ErrHidden) {
		t.Errorf("config.json below .docker: %v", err)
	}
	if _, err := run.Open("x"); err != nil {
		t.Error(err)
	}
	_, _, run = begin(t, everything(filepath.Join(dir, "home/.ssh")))
	if _, err := run.Open("config"); err != nil {
		t.Error(err)
	}
}

// What FuzzFilter can't compare with doublestar.
func TestBracesAndClasses(t *testing.T) {
	for _, c := range []struct{ pattern, visible, hidden string }{
		{"{a,b/c}/*.md", "a/x.md b/c/y.md", "b/x.md c/x.md"},
		{"{a{b,c},d}", "ab ac d", "a b abc"},
		{"a/{**,x}/b", "a/b a/q/r/b a/x/b", "b x/b"},
		{"x{/y,}", "x x/y", "y x/z"},
		{"[!a]x", "bx éx", "ax"},
		{"[a-c{,}]", "a b { ,", "d"},
		{`\{a,b\}`, "{a,b}", "a b"},
		{"a***b", "ab aXb", "a/b aX"},
		{"a*{**,}", "a ab", "b"},
		{"{.env,*.md}", "x.md", ".env"},
	} {
		_, _, run := begin(t, vfstest.Config{Dir: t.TempDir(), View: vfs.View{Reads: []string{c.pattern}}})
		for _, name := range strings.Fields(c.visible) {
			if _, err := run.Stat(name); errors.Is(err, vfs.ErrHidden) {
				t.Errorf("%s: %s: %v", c.pattern, name, err)
			}
		}
		for _, name := range strings.Fields(c.hidden) {
			if d := filepath.Join(run.Root().Path(), name); os.MkdirAll(filepath.Dir(d), 0o755) != nil || os.WriteFile(d, nil, 0o644) != nil {
				t.Fatal(d)
			}
			if _, err := run.Stat(name); !errors.Is(err, vfs.ErrHidden) {
				t.Errorf("%s: %s is visible: %v", c.pattern, name, err)
			}
			_ = os.Remove(filepath.Join(run.Root().Path(), name))
		}
	}
}

// FuzzFilter compares what is visible with doublestar itself.
func FuzzFilter(f *testing.F) {
	for _, seed := range [][2]string{
		{"a/**", "a"}, {"**/x", "a/b/x"}, {"{a,b/c}/*.md", "b/c/x.md"}, {"**", "a/b"}, {"a/**/b", "a/b"}, {"**/a/**/b/**", "x/a/y/b/z"},
		{"a*b*c", "aXbXc"}, {"[!a]?", "bc"}, {`\*`, "*"}, {"a/{**,x}/b", "a/q/r/b"}, {"**a/b", "xa/b"}, {"{a{b,c},d}", "ac"}, {"a/*/", "a/b"},
		{"a/**/**/b", "a/b"}, {"?", "é"}, {"[α-ω]x", "βx"}, {"*", ".hidden"}, {"{,a}b", "b"}, {"x{/y,}", "x/y"}, {"[", "a"},
	} {
		f.Add(seed[0], seed[1])
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, pattern, name string) {
		filter, err := vfs.View{Reads: []string{pattern}}.Compile()
		if err != nil {
			return
		}
		clean := path.Clean(name)
		if len(name) > 200 || clean == "." || strings.ContainsAny(name, "\x00") || !filepath.IsLocal(clean) {
			return
		}
		if strings.ContainsAny(pattern, "[{") || strings.Contains(pattern, "***") {
			return // doublestar lets classes match a slash, and says that a*{*,} doesn't match a
		}
		root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		run := root.Begin(filter, vfs.Limits{})
		defer run.Close()
		_, err = run.Stat(clean) // missing, so that only the reason differs
		want := doublestar.MatchUnvalidated(pattern, clean)
		for _, d := range run.Denied() {
			if d.Reason != vfs.ReasonNotInReads {
				return // protected
			}
		}
		if got := !errors.Is(err, vfs.ErrHidden); want && !got {
			t.Errorf("%q matches %q, but isn't visible: %v", pattern, clean, err)
		}
		// The other direction needs a file: what isn't matched isn't seen.
		if !want && strings.Count(clean, "/") == 0 && len(clean) < 100 {
			full := filepath.Join(t.TempDir(), clean)
			if os.WriteFile(full, nil, 0o600) != nil {
				return
			}
			_, _, run := begin(t, vfstest.Config{Dir: filepath.Dir(full), View: vfs.View{Reads: []string{pattern}}})
			if _, err := run.Stat(clean); err == nil {
				t.Errorf("%q doesn't match %q, but it is visible", pattern, clean)
			}
		}
	})
}

// FuzzPath: no path makes it panic, or leads out of the root.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"", ".", "a", "../x", "l/../../out/secret.txt", "l", "d/l/secret.txt", "/etc/passwd", "a\x00", "\xff", "a//b/", "l/", strings.Repeat("a/", 3000)} {
		f.Add(s)
	}
	dir := vfstest.Build(f, []string{"a = in", "d/l -> ../../out", "l -> ../out", "in -> a", "loop -> loop"})
	root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
	if err != nil {
		f.Fatal(err)
	}
	filter, err := vfs.View{Reads: []string{"**"}}.Compile()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name string) {
		run := root.Begin(filter, vfs.Limits{})
		defer run.Close()
		file, err := run.Open(name)
		if err == nil && !file.IsDir() {
			buf := make([]byte, 10)
			if n, _ := file.Read(buf); string(buf[:n]) != "in" {
				t.Errorf("%q read %q", name, buf[:n])
			}
		}
		_, serr := run.Stat(name)
		if (err == nil) != (serr == nil) {
			t.Errorf("%q: open says %v, stat %v", name, err, serr)
		}
		_, _ = run.Lstat(name)
		_, _ = run.Readlink(name)
		_, _ = run.Content(name)
		if fresh := root.Check(filter, run.Trace()); !fresh.Fresh {
			t.Errorf("%q: not fresh: %s", name, fresh.Changed)
		}
	})
}
