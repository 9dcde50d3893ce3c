package sources_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"waymark/host/sources"
)

// roots are the places where the sources are opened, relative to dir.
func roots(dir string, l *sources.List) []string {
	var list []string
	for _, r := range l.Roots() {
		list = append(list, strings.TrimPrefix(r.Path, dir+"/"))
	}
	return list
}

// In the working directory links aren't followed when a source is added: they
// are judged whenever it is opened, whoever has added it.
func TestLinksOfTheWorkDir(t *testing.T) {
	dir := tree(t,
		"w/real/AGENTS.md", "w/in -> real", "w/out -> ../other", "w/abs -> @other", "w/git -> .git/hooks", "w/.git/hooks/", "w/cloud -> .aws", "w/.aws/x/",
		"w/loop -> loop", "w/missing -> later", "other/x", "home/", "home/w -> @w", "home/git -> ../w/git", "home/real -> ../w/in/../in", "home/up -> ../w/real/../../other",
	)
	for _, c := range []struct {
		path, open string
		ok         bool // for a request
		astray     bool
	}{
		{"w/real", "w/real", true, false},
		{"w/in", "w/in", true, false},
		{"w/in/AGENTS.md", "w/in/AGENTS.md", true, false},
		{"home/w/in", "w/in", true, false},
		{"home/real", "w/in", true, false},
		{"w/missing/x", "w/missing/x", true, false},
		{"w/out", "w/out", false, true},
		{"w/out/x", "w/out/x", false, true},
		{"w/abs", "w/abs", false, true},
		{"w/git", "w/git", false, true},
		{"home/git", "w/git", false, true},
		{"home/w/cloud/x", "w/cloud/x", false, true},
		{"home/up", "other", false, false},
		{"w/loop", "w/loop", false, false},
		{"w/.git/hooks", "w/.git/hooks", true, false}, // by its name
	} {
		request := sources.New(sources.Options{Home: dir + "/home", WorkDir: dir + "/w"})
		_, _, err := request.Add(dir+"/"+c.path, sources.AddOptions{})
		if (err == nil) != c.ok || c.astray && !errors.Is(err, sources.ErrNotAllowed) {
			t.Errorf("%s by a request: %v", c.path, err)
		}
		if got := roots(dir, request); c.ok != slices.Equal(got, []string{c.open}) {
			t.Errorf("%s by a request is opened at %q", c.path, got)
		}
		flag := sources.New(sources.Options{Home: dir + "/home", WorkDir: dir + "/w"})
		s, _, err := flag.Add(dir+"/"+c.path, sources.AddOptions{Trusted: true})
		if err != nil {
			t.Errorf("%s by a flag: %v: what a workspace holds keeps no agent from starting", c.path, err)
		}
		if got := roots(dir, flag); !slices.Equal(got, []string{c.open}) {
			t.Errorf("%s by a flag is opened at %q, want %q", c.path, got, c.open)
		}
		if c.astray != strings.Contains(s.Error, "not allowed: the link ") || c.astray && s.Exists || strings.Contains(s.Error, dir+"/other") {
			t.Errorf("%s by a flag: %+v", c.path, s)
		}
		if err := flag.Allowed(s.Path); (err != nil) != c.astray {
			t.Errorf("%s by a flag: allowed %v", c.path, err)
		}
		for _, r := range flag.Roots() {
			if !slices.Contains(r.Within, dir+"/w") {
				t.Errorf("%s is bound by %q", c.path, r.Within)
			}
		}
		if got, err := flag.Get(dir + "/" + c.path); err != nil || got.Path != s.Path {
			t.Errorf("%s: found again as %+v, %v", c.path, got, err)
		}
		if err := flag.Remove(dir + "/" + c.path); err != nil || len(flag.All()) > 0 {
			t.Errorf("%s: %v, left %v", c.path, err, flag.All())
		}
	}
}

// A working directory that comes later binds what was added before it, also
// what was added through its links in an earlier run.
func TestWorkDirLater(t *testing.T) {
	dir := tree(t, "home/w/out -> ../private", "home/w/fine -> real", "home/w/real/", "home/private/x", "home/other/")
	opts := sources.Options{Home: dir + "/home", File: dir + "/state/sources.json"}
	l := sources.New(opts)
	for _, path := range []string{"/home/w/out", "/home/w/fine", "/home/other"} {
		if _, _, err := l.Add(dir+path, sources.AddOptions{Persist: true}); err != nil {
			t.Fatal(err)
		}
	}
	if got := roots(dir, l); !slices.Equal(got, []string{"home/private", "home/w/real", "home/other"}) {
		t.Errorf("before: %q", got)
	}
	check := func(what string, l *sources.List) {
		t.Helper()
		if got := roots(dir, l); !slices.Equal(got, []string{"home/w/out", "home/w/fine", "home/other"}) {
			t.Errorf("%s: %q", what, got)
		}
		for i, s := range l.All() {
			if (s.Error != "") != (i == 0) {
				t.Errorf("%s: %+v", what, s)
			}
		}
	}
	l.SetWorkDir(dir + "/home/w")
	check("later", l)
	l.SetWorkDir(dir + "/home/other")
	check("and still, with another", l)

	opts.WorkDir = dir + "/home/w"
	again := sources.New(opts)
	must(t, again.Load())
	check("after a restart", again)
	if err := again.Remove(dir + "/home/w/out"); err != nil {
		t.Error(err)
	}
	last := sources.New(opts)
	must(t, last.Load())
	if got := roots(dir, last); !slices.Equal(got, []string{"home/w/fine", "home/other"}) {
		t.Errorf("after removing: %q", got)
	}
}

// A source that was added in one working directory stays bound to it in a run
// with another.
func TestWorkDirBefore(t *testing.T) {
	dir := tree(t, "home/w/docs -> real", "home/w/real/", "home/w2/", "home/private/")
	opts := sources.Options{Home: dir + "/home", WorkDir: dir + "/home/w", File: dir + "/state/sources.json"}
	l := sources.New(opts)
	if _, _, err := l.Add(dir+"/home/w/docs", sources.AddOptions{Persist: true}); err != nil {
		t.Fatal(err)
	}
	must(t, os.Remove(dir+"/home/w/docs"))
	must(t, os.Symlink("../private", dir+"/home/w/docs"))
	opts.WorkDir = dir + "/home/w2"
	l = sources.New(opts)
	must(t, l.Load())
	if all := l.All(); len(all) != 1 || !strings.Contains(all[0].Error, "leads out of") {
		t.Errorf("%+v", all)
	}
	if r := l.Roots(); len(r) != 1 || !slices.Equal(r[0].Within, []string{dir + "/home/w2", dir + "/home/w"}) {
		t.Errorf("%+v", r)
	}
}

// A source that lies in another is bound to that, too.
func TestSourcesInSources(t *testing.T) {
	dir := tree(t, "home/a/b/c/", "home/ab/")
	l := sources.New(sources.Options{Home: dir + "/home"})
	for _, path := range []string{"/home/a/b/c", "/home/ab", "/home/a", "/home/a/b"} {
		if _, _, err := l.Add(dir+path, sources.AddOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	want := [][]string{{dir + "/home/a", dir + "/home/a/b"}, nil, nil, {dir + "/home/a"}}
	for i, r := range l.Roots() {
		if !slices.Equal(r.Within, want[i]) {
			t.Errorf("%s is bound by %q, want %q", r.Path, r.Within, want[i])
		}
	}
}

// A home that is the working directory has no say in what a request may name.
func TestHomeIsTheWorkDir(t *testing.T) {
	dir := tree(t, "home/.claude -> ../etc", "home/.coder -> @etc", "home/.waymark -> notes", "home/notes/x/", "etc/secret", "repo/")
	for _, c := range []struct {
		workDir, path string
		ok            bool
	}{
		{"home", "etc", false},
		{"home", "etc/secret", false},
		{"home", "home/.claude/secret", false},
		{"home", "home/.waymark/x", true},
		{"home", "home/notes", true},
		{"repo", "etc", true}, // the user's own link
		{"repo", "home/.claude/secret", true},
	} {
		l := sources.New(sources.Options{Home: dir + "/home", WorkDir: dir + "/" + c.workDir})
		if _, _, err := l.Add(dir+"/"+c.path, sources.AddOptions{}); (err == nil) != c.ok || !c.ok && !errors.Is(err, sources.ErrNotAllowed) {
			t.Errorf("%s in %s: %v", c.path, c.workDir, err)
		}
	}
}

// What the file says of another path is held to the rules of paths.
func TestBrokenNames(t *testing.T) {
	dir := tree(t, "home/a/")
	for _, field := range []string{`"named": "a/b"`, `"named": "/a/../b"`, `"within": "x"`, `"within": "/x/"`, `"within": "/\u0000"`} {
		must(t, os.MkdirAll(dir+"/state", 0o700))
		must(t, os.WriteFile(dir+"/state/sources.json", []byte(`{"version": 1, "sources": [{"path": "`+dir+`/home/a", `+field+`}]}`), 0o600))
		l := sources.New(sources.Options{Home: dir + "/home", File: dir + "/state/sources.json"})
		if err := l.Load(); !errors.Is(err, sources.ErrBroken) || len(l.All()) > 0 {
			t.Errorf("%s: %v, %+v", field, err, l.All())
		}
	}
}
