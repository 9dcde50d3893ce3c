package sources_test

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"waymark/host/sources"
)

func TestCanonical(t *testing.T) {
	dir := tree(t,
		"home/notes/AGENTS.md", "w/real/skills/", "w/file",
		"w/link -> real", "w/abs -> @w/real", "w/up -> ../home", "w/chain -> link", "w/slash -> real/",
		"w/dangling -> nowhere/at/all", "w/away -> @missing/x", "w/back -> missing/../real",
		"w/loop -> pool", "w/pool -> loop", "w/self -> .", "w/grow -> grow/grow", "home/w -> @w",
	)
	home := dir + "/home"
	for _, c := range []struct{ in, want string }{
		{"~", "home"},
		{"~/", "home"},
		{"~/notes/AGENTS.md", "home/notes/AGENTS.md"},
		{"~/w/link", "w/real"},
		{"@w/real", "w/real"},
		{"@w//real/.//skills/", "w/real/skills"},
		{"@w/real/../file", "w/file"},
		{"@w/link/skills", "w/real/skills"},
		{"@w/abs/skills", "w/real/skills"},
		{"@w/up/notes", "home/notes"},
		{"@w/chain", "w/real"},
		{"@w/slash/skills", "w/real/skills"},
		{"@w/self/self/link", "w/real"},
		// What doesn't exist yet.
		{"@w/real/later", "w/real/later"},
		{"@w/link/later/still", "w/real/later/still"},
		{"@w/dangling", "w/nowhere/at/all"},
		{"@w/dangling/deeper", "w/nowhere/at/all/deeper"},
		{"@w/away", "missing/x"},
		{"@w/back/skills", "w/real/skills"},
		{"@w/file/below", "w/file/below"},
		// A link before ".." isn't followed: the path is cleaned first.
		{"@w/link/../file", "w/file"},
	} {
		got, err := sources.Canonical(strings.Replace(c.in, "@", dir+"/", 1), home)
		if want := filepath.Join(dir, c.want); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", c.in, got, err, want)
			continue
		}
		if again, err := sources.Canonical(got, home); err != nil || again != got {
			t.Errorf("%s: the second time it is %q, %v", c.in, again, err)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	dir := tree(t, "loop -> pool", "pool -> loop", "grow -> grow/grow", "long -> "+strings.Repeat("x/", 600)+"x",
		"bell -> \a", "latin -> \xe9", "home/")
	long := "/" + strings.Repeat("x/", 600)
	for _, c := range []struct {
		name, in, home string
		want           error
		hint           string
	}{
		{"empty", "", dir, sources.ErrInvalid, "empty"},
		{"relative", "w", dir, sources.ErrRelative, `begins with "/" or "~/"`},
		{"relative up", "../w", dir, sources.ErrRelative, ""},
		{"dot", ".", dir, sources.ErrRelative, ""},
		{"somebody's home", "~root/w", dir, sources.ErrRelative, ""},
		{"no home", "~/w", "", sources.ErrInvalid, "write the whole path"},
		{"relative home", "~/w", "home", sources.ErrInvalid, ""},
		{"NUL", "/w\x00", dir, sources.ErrInvalid, "control character"},
		{"newline", "/w\n", dir, sources.ErrInvalid, "control character"},
		{"escape", "/w\x1b[2J", dir, sources.ErrInvalid, "control character"},
		{"not UTF-8", "/w\xff", dir, sources.ErrInvalid, "UTF-8"},
		{"too long", long, dir, sources.ErrInvalid, "1024 are possible"},
		{"too long with the home", "~" + strings.Repeat("/x", 500), "/" + strings.Repeat("h", 30), sources.ErrInvalid, "1024"},
		{"a name that is too long", "/" + strings.Repeat("x", 300), dir, syscall.ENAMETOOLONG, ""},
		{"loop", dir + "/loop/x", dir, syscall.ELOOP, ""},
		{"a link that grows", dir + "/grow", dir, syscall.ELOOP, ""},
		{"a link that is too long", dir + "/long", dir, sources.ErrInvalid, "links resolved"},
		{"a link to a control character", dir + "/bell", dir, sources.ErrInvalid, "links resolved"},
		{"a link to what isn't UTF-8", dir + "/latin", dir, sources.ErrInvalid, "links resolved"},
	} {
		got, err := sources.Canonical(c.in, c.home)
		if !errors.Is(err, c.want) || got != "" {
			t.Errorf("%s: %q, %v, want %v", c.name, got, err, c.want)
		} else if !strings.Contains(err.Error(), c.hint) || strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
			t.Errorf("%s: %q, want it to say %q", c.name, err, c.hint)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	dir := tree(f, "home/in/", "out/secret", "home/up -> ../out", "home/abs -> @out", "home/in/back -> ..",
		"home/dangling -> ../out/new", "home/loop -> loop", "home/far -> ../../../../../../../../..", ".coder -> out")
	home := dir + "/home"
	for _, seed := range []string{"~", "~/up", "~/up/secret", "~/in/../abs", "@/home/in/back/in", "@/home/dangling/x",
		"@/home/../out", "~/loop/x", "~/far/etc", "~x", "", "\x00", "/", "//", "@/home/in/./..//up/../in", "~/in/back/up/new"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		in = strings.ReplaceAll(in, "@", dir)
		l := sources.New(sources.Options{Home: home})
		s, added, err := l.Add(in, sources.AddOptions{})
		if err != nil {
			if added || len(l.All()) > 0 || s != (sources.Source{}) {
				t.Fatalf("%q: refused with %v, and on the list", in, err)
			}
			trusted(t, in, home)
			return
		}
		if s.Path != home && !strings.HasPrefix(s.Path, home+"/") {
			t.Fatalf("%q is let out, to %q", in, s.Path)
		}
		if target, err := filepath.EvalSymlinks(s.Path); err == nil && target != s.Path {
			t.Fatalf("%q: %q isn't link-free", in, s.Path)
		}
		if again, added, err := l.Add(s.Path, sources.AddOptions{}); err != nil || added || again != s {
			t.Fatalf("%q: the second time %+v, %t, %v", in, again, added, err)
		}
		if err := l.Allowed(s.Path); err != nil {
			t.Fatal(err)
		}
	})
}

// trusted checks the form of what only the operator may add.
func trusted(t *testing.T, in, home string) {
	t.Helper()
	got, err := sources.Canonical(in, home)
	if err != nil {
		return
	}
	if !filepath.IsAbs(got) || filepath.Clean(got) != got || len(got) > sources.MaxPath {
		t.Fatalf("%q becomes %q", in, got)
	}
	if again, err := sources.Canonical(got, home); err != nil || again != got {
		t.Fatalf("%q becomes %q, and that %q, %v", in, got, again, err)
	}
}
