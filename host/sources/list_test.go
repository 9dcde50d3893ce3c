package sources_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"waymark/host/sources"
)

func TestList(t *testing.T) {
	dir := tree(t, "home/b/", "home/a/AGENTS.md", "home/link -> b", "etc/")
	home := dir + "/home"
	l := sources.New(sources.Options{Home: home})

	s, added, err := l.Add("~/link", sources.AddOptions{})
	if want := (sources.Source{Path: home + "/b", Exists: true, Origin: sources.OriginAPI}); err != nil || !added || s != want {
		t.Fatalf("%+v, %t, %v", s, added, err)
	}
	if _, added, err = l.Add(home+"/b/", sources.AddOptions{}); err != nil || added {
		t.Fatalf("twice: %t, %v", added, err)
	}
	if _, _, err = l.Add("~/a/AGENTS.md", sources.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	s, _, err = l.Add(dir+"/etc", sources.AddOptions{Trusted: true})
	if err != nil || s.Origin != sources.OriginFlag {
		t.Fatalf("%+v, %v", s, err)
	}
	// The operator's come first; the others stay as they were added.
	if got, want := paths(l.All()), []string{dir + "/etc", home + "/b", home + "/a/AGENTS.md"}; !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	if text, err := json.Marshal(l.All()[1]); err != nil || string(text) !=
		fmt.Sprintf(`{"path":%q,"exists":true,"persisted":false,"origin":"api","error":""}`, home+"/b") {
		t.Errorf("%s, %v", text, err)
	}

	for _, path := range []string{"~/link", "~/b", home + "/a/../b"} {
		if s, err := l.Get(path); err != nil || s.Path != home+"/b" {
			t.Errorf("get %s: %+v, %v", path, s, err)
		}
	}
	// A link that has meanwhile been put in its place doesn't hide it.
	must(t, os.Rename(home+"/b", home+"/c"))
	must(t, os.Symlink("c", home+"/b"))
	if s, err := l.Get(home + "/b"); err != nil || s.Path != home+"/b" {
		t.Errorf("%+v, %v", s, err)
	}
	must(t, l.Remove("~/b"))
	if err := l.Remove("~/b"); !errors.Is(err, sources.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	if err := l.Remove("b"); !errors.Is(err, sources.ErrRelative) {
		t.Errorf("%v", err)
	}
	if got := paths(l.All()); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

func TestTooMany(t *testing.T) {
	home := tree(t)
	l := sources.New(sources.Options{Home: home})
	for i := range sources.DefaultMax {
		if _, _, err := l.Add(fmt.Sprintf("~/%d", i), sources.AddOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := l.Add("~/more", sources.AddOptions{Trusted: true}); !errors.Is(err, sources.ErrTooMany) {
		t.Errorf("%v", err)
	}
	if _, added, err := l.Add("~/7", sources.AddOptions{}); err != nil || added {
		t.Errorf("one that is there: %t, %v", added, err)
	}
	must(t, l.Remove("~/7"))
	if _, added, err := l.Add("~/more", sources.AddOptions{}); err != nil || !added {
		t.Errorf("%t, %v", added, err)
	}
}

// Changes from everywhere at once: none is lost, and readers see whole lists.
func TestConcurrent(t *testing.T) {
	home := tree(t, "state/")
	l := sources.New(sources.Options{Home: home, File: home + "/state/sources.json"})
	const n = 8
	var g sync.WaitGroup
	for i := range n {
		g.Go(func() {
			for _, opts := range []sources.AddOptions{{}, {Persist: true}, {Trusted: true}} {
				path := fmt.Sprintf("~/%d-%t%t", i, opts.Persist, opts.Trusted)
				if _, added, err := l.Add(path, opts); err != nil || !added {
					t.Errorf("%s: %t, %v", path, added, err)
				}
			}
			if err := l.Remove(fmt.Sprintf("~/%d-falsefalse", i)); err != nil {
				t.Error(err)
			}
			l.SetWorkDir(home)
		})
		g.Go(func() {
			for _, s := range l.All() {
				if err := l.Allowed(s.Path); err != nil {
					t.Error(err)
				}
			}
		})
	}
	g.Wait()
	if got := len(l.All()); got != 2*n {
		t.Errorf("%d sources, want %d", got, 2*n)
	}
	again := sources.New(sources.Options{Home: home, File: home + "/state/sources.json"})
	if err := again.Load(); err != nil || len(again.All()) != n {
		t.Errorf("%d sources were kept, %v", len(again.All()), err)
	}
}
