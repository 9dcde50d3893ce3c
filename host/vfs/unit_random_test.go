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
	"syscall"
	"testing"

	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// part is a unit of the random test: it asks everything about some names.
type part struct {
	key   string
	names []string
}

// played is what came of a run: the units' values, which of them were
// remembered, what was asked outside of them, and what is left.
type played struct {
	values     map[string]string
	remembered map[string]bool
	rest       string
	used       vfs.Usage
	units      *vfs.Units
	trace      []vfs.Dep
}

func play(t *testing.T, run *vfs.Run, parts []part, outside []string) played {
	t.Helper()
	p := played{values: map[string]string{}, remembered: map[string]bool{}}
	p.rest = observeNames(run, outside[:len(outside)/2])
	for _, part := range parts {
		value, err := run.BeginUnit(part.key, room)
		if err != nil {
			t.Fatal(err)
		}
		p.remembered[part.key] = value != nil
		if value == nil {
			value = []byte(observeNames(run, part.names))
			if err := run.EndUnit(value); err != nil {
				t.Fatal(err)
			}
		}
		p.values[part.key] = string(value)
	}
	p.rest += observeAll(run, outside)
	p.used, p.units, p.trace = run.Usage(), run.Units(), run.Trace()
	return p
}

// TestUnitsEqualFresh: after any edits, a run that remembers comes out like one
// that doesn't, and it remembers every unit whose computation would observe
// the same.
func TestUnitsEqualFresh(t *testing.T) { unitsEqualFresh(t) }

// TestUnitsEqualFreshToOrdinaryUser is the same where permissions count.
func TestUnitsEqualFreshToOrdinaryUser(t *testing.T) { testenv.RunOrdinary(t, unitsEqualFresh) }

func unitsEqualFresh(t *testing.T) {
	seed, rounds := testenv.Seed(t), testenv.Rounds(16, 120, 10_000)
	var count unitCounts
	for round := range rounds {
		u := unitRound{t: t, r: testenv.RandOf(seed, uint64(round)), counts: &count}
		u.name = fmt.Sprint("round ", round)
		u.play()
	}
	t.Logf("%+v", count)
	if few := rounds / 8; count.remembered < rounds || count.computed < few || count.partly < few { // the usual is 12 for 10 rounds
		t.Errorf("the test tests little: %+v", count)
	}
}

type unitCounts struct{ remembered, computed, partly, fresh int }

// unitRound is one tree with its units and edits.
type unitRound struct {
	t      *testing.T
	r      *rand.Rand
	name   string
	counts *unitCounts
	dir    string
}

func (u *unitRound) play() {
	t, r := u.t, u.r
	u.dir = buildOpen(t)
	config := vfstest.Config{Dir: u.dir, View: randomViews[r.IntN(len(randomViews))], Options: vfs.RootOptions{Exclude: []string{"e/d/b"}}}
	root, filter, run := begin(t, config)
	defer root.Close()
	for range 25 {
		edit(r, u.dir)
	}
	some := func() []string {
		names := append(slices.Clone(randomNames), ".", "a/a", "d/a/b", "e/d", "d/", "../x")
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		return names[:1+r.IntN(3)]
	}
	var parts []part
	for i := range 2 + r.IntN(6) {
		parts = append(parts, part{fmt.Sprint("unit ", i), some()})
	}
	outside := some()
	was := play(t, run, parts, outside)
	_ = run.Close()
	for step := range 10 {
		for range min(step, 1+r.IntN(3)) { // at first nothing has changed
			edit(r, u.dir)
		}
		if r.IntN(4) == 0 {
			was.units = u.stored(was.units)
		}
		name := fmt.Sprintf("%s step %d, view %+v", u.name, step, config.View)
		f := root.CheckUnits(filter, was.units)
		again, clean := root.Begin(filter, vfs.Limits{}), root.Begin(filter, vfs.Limits{})
		again.Recall(f.Units)
		is, want := play(t, again, parts, outside), play(t, clean, parts, outside)
		u.compare(name, is, want)
		for _, p := range parts {
			u.judge(name+", "+p.key, p.key, is.remembered[p.key], was, want)
		}
		if f.Fresh {
			u.counts.fresh++
			if is.rest != was.rest {
				t.Fatalf("%s: fresh, but\n%s", name, diff(was.rest, is.rest))
			}
		} else if f.Units.Len() > 0 {
			u.counts.partly++
		}
		was = is
		_, _ = again.Close(), clean.Close()
	}
}

// compare holds a run that remembers against one that doesn't.
func (u *unitRound) compare(name string, is, want played) {
	u.t.Helper()
	for key, value := range want.values {
		if is.values[key] != value {
			u.t.Fatalf("%s: %s, remembered: %v\n%s", name, key, is.remembered[key], diff(value, is.values[key]))
		}
	}
	if is.rest != want.rest {
		u.t.Fatalf("%s: outside of units\n%s", name, diff(want.rest, is.rest))
	}
	if got, want := lasting(is.units.Trace()), lasting(is.trace); !reflect.DeepEqual(got, want) {
		u.t.Fatalf("%s: trace of the units\n%s", name, diff(spellDeps(want), spellDeps(got)))
	}
}

// judge reports whether a unit had to be remembered. That a remembered one was
// right is known already.
func (u *unitRound) judge(name, key string, remembered bool, was, clean played) {
	u.t.Helper()
	before, now := depsOf(was.units, key), depsOf(clean.units, key)
	same := before != nil && reflect.DeepEqual(lasting(before), lasting(now))
	switch {
	case !remembered && same && !u.doubtful(before, now):
		u.t.Fatalf("%s isn't remembered, but it depends on the same:\n%s", name, spellDeps(now))
	case remembered:
		u.counts.remembered++
	default:
		u.counts.computed++
	}
}

// doubtful reports whether deps may be taken for stale although they hold: a
// file of several names may have become a protected one, and one without hash
// can't be compared.
func (u *unitRound) doubtful(before, now []vfs.Dep) bool {
	for i, d := range before {
		if d.Kind != vfs.DepRead || d.Errno != 0 || d.ID == now[i].ID && !d.Young {
			continue
		}
		info, err := os.Lstat(filepath.Join(u.dir, d.Path))
		if err != nil || d.Hash == nil || links(info) > 1 {
			return true
		}
	}
	return false
}

// stored sends units through a file, with or without contents.
func (u *unitRound) stored(units *vfs.Units) *vfs.Units {
	u.t.Helper()
	text, err := json.Marshal(units.Pack())
	if err != nil {
		u.t.Fatal(err)
	}
	var packed vfs.PackedUnits
	if err := json.Unmarshal(text, &packed); err != nil {
		u.t.Fatal(err)
	}
	back, err := packed.Unpack(func([]byte) []byte { return nil })
	if err != nil {
		u.t.Fatal(err)
	}
	again, err := json.Marshal(back.Pack())
	if err != nil || string(again) != string(text) {
		u.t.Fatalf("%v\n%s\n%s", err, text, again)
	}
	return back
}

// depsOf is all that a unit depends on; nil if it isn't remembered.
func depsOf(units *vfs.Units, key string) []vfs.Dep {
	p := units.Pack()
	for _, u := range p.Units {
		if u.Key == key {
			deps := append([]vfs.Dep{}, u.Deps...)
			for _, at := range u.Files {
				deps = append(deps, p.Files[at])
			}
			return deps
		}
	}
	return nil
}

// lasting leaves out of deps what differs between two observations of the
// same, and sorts them.
func lasting(deps []vfs.Dep) []vfs.Dep {
	out := []vfs.Dep{}
	for _, d := range deps {
		d.ID, d.Young = vfs.Identity{}, false
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b vfs.Dep) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return slices.CompactFunc(out, func(a, b vfs.Dep) bool { return reflect.DeepEqual(a, b) })
}

func spellDeps(deps []vfs.Dep) string {
	var lines []string
	for _, d := range deps {
		lines = append(lines, fmt.Sprintf("%+v", d))
	}
	return strings.Join(lines, "\n")
}

func links(info os.FileInfo) uint64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(st.Nlink) //nolint:unconvert // the types differ between platforms
}
