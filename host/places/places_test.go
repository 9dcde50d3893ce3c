package places_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"waymark/host/places"
)

// TestExposed: what lies where chats work, by whatever way, can't be kept from them.
func TestExposed(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, root := top+"/home", top+"/home/work"
	for _, dir := range []string{root + "/mods", home + "/mods", home + "/state", top + "/everybody/run"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		root + "/out": home + "/mods", home + "/in": root + "/mods", home + "/through": "work/out", home + "/fine": "mods", home + "/loop": "loop", root + "/instate": home + "/state",
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(top+"/everybody", 0o1777); err != nil {
		t.Fatal(err)
	}
	fresh := func(root string) *places.Registry {
		r := places.New(home)
		if _, err := r.Add(places.State, home+"/state"); err != nil {
			t.Fatal(err)
		}
		if err := r.Work(root); err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, c := range []struct {
		kind    places.Kind
		path    string
		root    string
		exposed bool
	}{
		{places.Plugins, home + "/mods", root, false}, {places.Plugins, home + "/fine", root, false}, {places.Plugins, root + "/mods", root, true},
		{places.Plugins, root + "/later/on", root, true}, {places.Plugins, root, root, true}, {places.Plugins, root + "more", root, false},
		{places.Token, root + "/out/token", root, true}, {places.Token, home + "/in/token", root, true}, {places.Token, home + "/through/token", root, true},
		{places.Token, root + "/../token", root, false}, {places.Token, home + "/state/w/token", root, false}, {places.Config, root + "/instate/file", root, true},
		{places.Config, home + "/loop/x", root, true}, {places.Cache, root + "/cache", root, false},
		{places.Plugins, home + "/mods", home, false}, {places.Token, home + "/token", top, false}, // all above the home is on the way to something hidden
		{places.Sockets, top + "/everybody/run", root, true}, {places.Sockets, home + "/run", root, false}, {places.Token, top + "/everybody/token", root, false},
	} {
		r := fresh(c.root)
		before := r.Paths()
		p, err := r.Add(c.kind, c.path)
		if errors.Is(err, places.ErrExposed) != c.exposed || !c.exposed && err != nil {
			t.Errorf("%s %s in the workspace %s: %v", c.kind, c.path, c.root, err)
		}
		if p.Path() != filepath.Clean(c.path) || p.Kind() != c.kind {
			t.Errorf("%s %s is %s %s", c.kind, c.path, p.Kind(), p.Path())
		}
		if listed := slices.Contains(r.Paths(), p.Path()); listed == c.exposed {
			t.Errorf("%s is listed: %t", c.path, listed)
		}
		if hidden := slices.Contains(r.Hidden(), p.Path()); hidden && c.kind == places.Cache {
			t.Errorf("%s is hidden", c.path)
		}
		_, _ = r.Add(c.kind, c.path)
		if n := len(r.Paths()); n > len(before)+1 {
			t.Errorf("%s is listed twice", c.path)
		}
	}
	// A workspace that comes later must not hold what is trusted already.
	r := fresh("")
	if _, err := r.Add(places.Plugins, root+"/mods"); err != nil {
		t.Fatal(err)
	}
	if err := r.Work(root); !errors.Is(err, places.ErrExposed) {
		t.Errorf("the workspace is taken: %v", err)
	}
	if err := r.Work(home); err != nil {
		t.Error(err)
	}
	// Nor is what lies in an earlier one trusted when there is another.
	r = fresh(root)
	if err := r.Work(home + "/another"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Add(places.Plugins, root+"/mods"); !errors.Is(err, places.ErrExposed) {
		t.Errorf("what lies in the earlier workspace is trusted: %v", err)
	}
}

// TestShare: the agents of a user keep from the chats of each what another one trusts, and
// trust nothing that lies where the other one's chats work.
func TestShare(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := top + "/home"
	agent := func(name string) *places.Registry {
		r := places.New(home)
		state, err := r.Add(places.State, top+"/state")
		if err := errors.Join(err, r.Work(home+"/"+name), os.MkdirAll(state.In("w", name).Path(), 0o700),
			r.Share(state.In("w", name, "own.json"), state.In("w", "*", "own.json").Path())); err != nil {
			t.Fatal(err)
		}
		return r
	}
	one, two := agent("one"), agent("two")
	for _, path := range []string{home + "/mods", home + "/two/mods"} {
		_, err := one.Add(places.Plugins, path)
		if exposed := path != home+"/mods"; errors.Is(err, places.ErrExposed) != exposed {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := one.Add(places.Config, home+"/one.toml"); err != nil {
		t.Fatal(err)
	}
	third := agent("third")
	for _, r := range []*places.Registry{two, third} {
		if got, want := r.Hidden(), []string{top + "/state", home + "/mods", home + "/one.toml"}; !slices.Equal(got, want) {
			t.Errorf("what is hidden is %v, want %v", got, want)
		}
	}
	if err := os.WriteFile(top+"/state/w/one/own.json", []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := two.Hidden(), []string{top + "/state"}; !slices.Equal(got, want) {
		t.Errorf("where another's list is broken, what is hidden is %v, want %v", got, want)
	}
}
