package sources_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"waymark/host/sources"
)

func TestAllowedPlaces(t *testing.T) {
	dir := tree(t,
		"home/notes/", "home/.claude -> @claude", "home/.coder -> @nowhere", "home/.waymark/x/", "claude/skills/",
		"work/repo/", "work/repo/out -> @etc", "work/repo/later -> @etc/later", "home/out -> ../etc", "home/work -> @work",
		"etc/passwd", "homeless/", "workshop/", "here -> @work/repo",
	)
	for _, c := range []struct {
		name, path, workDir string
		ok                  bool
	}{
		{"the home", "home", "", true},
		{"below", "home/notes", "", true},
		{"below, not there yet", "home/notes/later/still", "", true},
		{"a name that begins like the home", "homeless", "", false},
		{"elsewhere", "etc/passwd", "", false},
		{"elsewhere, not there", "etc/nothing", "", false},
		{"a link out", "home/out", "", false},
		{"through a link out", "home/out/passwd", "", false},
		{"through a link out to what isn't there", "home/out/nothing", "", false},
		{"up and out", "home/../etc", "", false},
		{"~/.claude is a link", "home/.claude/skills", "", true},
		{"where it leads", "claude/skills", "", true},
		{"~/.coder leads nowhere", "home/.coder", "", false},
		{"nowhere, where it leads", "nowhere/x", "", false},
		{"no working directory yet", "work/repo", "", false},
		{"the working directory", "work/repo", "work/repo", true},
		{"above it", "work", "work/repo", false},
		{"below it", "work/repo/AGENTS.md", "work/repo", true},
		{"below it, by a link in the home", "home/work/repo", "work/repo", true},
		{"below it, by a link in the home, too far", "home/work", "work/repo", false},
		{"out of it", "work/repo/out", "work/repo", false},
		{"out of it, dangling", "work/repo/later", "work/repo", false},
		{"a name that begins like it", "workshop", "work", false},
		{"a working directory that is a link", "work/repo/x", "here", true},
		{"a working directory that isn't there", "missing/x", "missing", false},
	} {
		l := sources.New(sources.Options{Home: dir + "/home"})
		if c.workDir != "" {
			l.SetWorkDir(dir + "/" + c.workDir)
		}
		path := dir + "/" + c.path
		_, added, err := l.Add(path, sources.AddOptions{})
		if added != c.ok || (err == nil) != c.ok || !c.ok && !errors.Is(err, sources.ErrNotAllowed) {
			t.Errorf("%s: %t, %v", c.name, added, err)
		}
		if err := l.Allowed(path); (err == nil) != c.ok {
			t.Errorf("%s: Allowed says %v", c.name, err)
		}
		if _, added, err := l.Add(path, sources.AddOptions{Trusted: true}); err != nil || added == c.ok {
			t.Errorf("%s: the operator gets %t, %v", c.name, added, err)
		}
	}
}

// Whatever is missing or absurd allows nothing.
func TestAllowedFailsClosed(t *testing.T) {
	dir := tree(t, "home/", "top -> /", "loop -> loop")
	for name, opts := range map[string]sources.Options{
		"nothing":                     {},
		"a relative home":             {Home: "home", WorkDir: "."},
		"a home that isn't there":     {Home: dir + "/missing"},
		"the top":                     {Home: "/", WorkDir: "/"},
		"a link to the top":           {Home: dir + "/top", WorkDir: dir + "/top/../top"},
		"a loop":                      {Home: dir + "/loop", WorkDir: dir + "/loop/x"},
		"a home below what isn't one": {Home: "/dev/null/home"},
	} {
		l := sources.New(opts)
		for _, path := range []string{dir, dir + "/home", dir + "/missing", "/", "/etc", "/dev/null/home"} {
			if _, _, err := l.Add(path, sources.AddOptions{}); !errors.Is(err, sources.ErrNotAllowed) {
				t.Errorf("%s: %s: %v", name, path, err)
			}
		}
	}
}

// A link that is swapped after the adding lets nobody out.
func TestAllowedLater(t *testing.T) {
	dir := tree(t, "home/real/", "etc/secret")
	l := sources.New(sources.Options{Home: dir + "/home"})
	later, flag := dir+"/home/later", dir+"/home/flag"
	for path, opts := range map[string]sources.AddOptions{later: {}, flag: {Trusted: true}} {
		if s, added, err := l.Add(path, opts); err != nil || !added || s.Exists || s.Error != "" {
			t.Fatalf("%+v, %t, %v", s, added, err)
		}
	}
	must(t, os.Symlink("../etc", later))
	must(t, os.Symlink("../etc", flag))
	err := l.Allowed(later)
	if !errors.Is(err, sources.ErrNotAllowed) || strings.Contains(err.Error(), "/etc") {
		t.Errorf("%v", err)
	}
	if err := l.AllowedAt(later, dir+"/etc"); !errors.Is(err, sources.ErrNotAllowed) {
		t.Errorf("what was opened: %v", err)
	}
	if err := l.AllowedAt(later, dir+"/home/real"); err != nil {
		t.Errorf("what was opened: %v", err)
	}
	if s, err := l.Get(later); err != nil || s.Exists || s.Error == "" {
		t.Errorf("%+v, %v: what lies there isn't told, and why", s, err)
	}
	// The operator's own goes where it leads.
	if err := errors.Join(l.Allowed(flag), l.AllowedAt(flag, dir+"/etc")); err != nil {
		t.Error(err)
	}
	if s, err := l.Get(flag); err != nil || !s.Exists || s.Error != "" {
		t.Errorf("%+v, %v", s, err)
	}

	must(t, os.Remove(later))
	must(t, os.Symlink("real", later))
	if err := l.Allowed(later); err != nil {
		t.Errorf("it leads to a good place again: %v", err)
	}
}
