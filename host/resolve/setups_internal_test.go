package resolve

import (
	"strconv"
	"testing"

	"waymark/abi"
)

// TestSetups: a sum that is remembered is that of how the resolver is set up now, whatever
// it was before, and also where a list is changed in its place.
func TestSetups(t *testing.T) {
	change := map[string]func(*Resolver){
		"config":        func(r *Resolver) { r.Config[0]++ },
		"narrow":        func(r *Resolver) { r.Narrow[0] += "x" },
		"grant secrets": func(r *Resolver) { r.GrantSecrets[0] += "x" },
		"reads":         func(r *Resolver) { r.Info.Reads[0] += "x" },
		"more reads":    func(r *Resolver) { r.Info.Reads = append(r.Info.Reads, "x") },
		"places":        func(r *Resolver) { r.Places[0] += "x" },
		"manifests":     func(r *Resolver) { r.Manifests = !r.Manifests },
		"from narrow to secrets": func(r *Resolver) {
			r.Narrow, r.GrantSecrets = nil, append(r.GrantSecrets, r.Narrow...)
		},
	}
	made := func() *Resolver {
		return &Resolver{
			Module: Module{Name: "m"}, Info: abi.Resolver{Name: "r", Reads: []string{"a/**"}}, Config: []byte("1"),
			Narrow: []string{"b"}, GrantSecrets: []string{"c"}, Places: []string{"d"},
		}
	}
	for name, change := range change {
		var s setups
		r := made()
		before := s.of(r)
		change(r)
		after, want := s.of(r), new(setups).of(r)
		if after.config == before.config && after.view == before.view {
			t.Errorf("%s: the sums stay as they were", name)
		}
		if after.config != want.config || after.view != want.view {
			t.Errorf("%s: the sums are others than in a new engine", name)
		}
		if again := s.of(made()); again.config != before.config || again.view != before.view {
			t.Errorf("%s: the sums aren't those of before when all is as before", name)
		}
	}
}

// TestSetupsOfRoots: roots that have a resolver in ways of their own don't make each other's
// be forgotten, and of how it was set up long ago nothing is kept.
func TestSetupsOfRoots(t *testing.T) {
	var s setups
	r := func(reads string) *Resolver {
		return &Resolver{Module: Module{Name: "m"}, Info: abi.Resolver{Name: "r", Reads: []string{reads}}}
	}
	project, home := s.of(r("project")), s.of(r("home"))
	if s.of(r("project")) != project || s.of(r("home")) != home {
		t.Error("a sum is made anew for another root")
	}
	for i := range 100 {
		s.of(r(strconv.Itoa(i)))
	}
	if n := len(s.known["m/r"]); n != maxSetups {
		t.Errorf("%d are remembered", n)
	}
}
