package vfs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// look is one thing that a guest does with a file.
type look struct {
	name      string
	verb      string // read, whole, stat, fstat
	off, size int
}

// see is what comes out of looks.
func see(run *vfs.Run, looks []look) string {
	var b strings.Builder
	for _, l := range looks {
		fmt.Fprintf(&b, "%+v: ", l)
		if l.verb == "stat" {
			fmt.Fprintln(&b, fmt.Sprint(run.Stat(l.name)))
			continue
		}
		f, err := run.Open(l.name)
		if err != nil {
			fmt.Fprintln(&b, err)
			continue
		}
		switch l.verb {
		case "fstat":
			fmt.Fprintln(&b, fmt.Sprint(f.Stat()))
		case "whole":
			data, err := io.ReadAll(f)
			fmt.Fprintf(&b, "%q %v\n", data, err)
		default:
			buf := make([]byte, l.size)
			n, err := f.ReadAt(buf, int64(l.off))
			fmt.Fprintf(&b, "%q %v\n", buf[:n], err)
		}
		_ = f.Close()
	}
	return b.String()
}

// heads is a resolver that looks at parts of files, in units and outside of them.
type heads struct {
	units     [][]look
	outside   []look
	sometimes []look
	contents  []string // what the host reads as a content
}

// headsRun is what came of a run: what the guest saw, and what the host made of it.
type headsRun struct {
	guest string
	host  map[string]string
	units *vfs.Units
}

func content(run *vfs.Run, name string) string {
	c, err := run.Content(name)
	return fmt.Sprintf("%s %d %x %q %v", c.Class, c.Size, c.Hash, c.Data, err)
}

func (h *heads) play(t *testing.T, run *vfs.Run) headsRun {
	t.Helper()
	var guest strings.Builder
	guest.WriteString(see(run, h.outside[:len(h.outside)/2]))
	for i, looks := range h.units {
		value, err := run.BeginUnit(fmt.Sprint("unit ", i), room)
		if err != nil {
			t.Fatal(err)
		}
		if value == nil {
			value = []byte(see(run, looks) + ".")
			if err := run.EndUnit(value); err != nil {
				t.Fatal(err)
			}
		}
		guest.Write(value)
	}
	guest.WriteString(see(run, h.outside[len(h.outside)/2:]))
	if strings.Count(guest.String(), "a")%2 == 0 { // what it looks at next depends on what it saw
		guest.WriteString(see(run, h.sometimes))
	}
	was := headsRun{guest: guest.String(), host: map[string]string{}}
	for _, name := range h.contents {
		was.host[name] = content(run, name)
	}
	was.units = run.Units()
	return was
}

var headNames = []string{"a", "b", "d/a", "d/b", "to/a", "link"}

func randomHeads(r *rand.Rand) *heads {
	name := func() string { return headNames[r.IntN(len(headNames))] }
	looks := func(most int) (list []look) {
		for range r.IntN(most + 1) {
			l := look{name: name(), verb: "read", off: r.IntN(4), size: r.IntN(9)}
			if r.IntN(3) > 0 {
				l.off = 0
			}
			if r.IntN(8) == 0 {
				l.verb = []string{"whole", "stat", "fstat"}[r.IntN(3)]
			}
			list = append(list, l)
		}
		return list
	}
	h := &heads{outside: looks(2), sometimes: looks(2)}
	for range 1 + r.IntN(4) {
		h.units = append(h.units, looks(3))
	}
	for _, name := range headNames {
		if r.IntN(4) > 0 {
			h.contents = append(h.contents, name)
		}
	}
	return h
}

// editHeads changes something of one file, mostly behind its beginning, and
// returns the paths of which there would be events.
func editHeads(r *rand.Rand, dir string) []string {
	rel := headNames[r.IntN(4)]
	path := filepath.Join(dir, rel)
	data, _ := os.ReadFile(path)
	switch r.IntN(24) {
	case 0:
		_ = os.Remove(path)
		return []string{rel}
	case 1:
		_ = os.Remove(path)
		other := headNames[r.IntN(4)]
		_ = os.Link(filepath.Join(dir, other), path)
		return []string{rel}
	case 2:
		target := headNames[r.IntN(4)]
		_ = os.Remove(filepath.Join(dir, "link"))
		_ = os.Symlink(target, filepath.Join(dir, "link"))
		return []string{"link"}
	case 3:
		_ = os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, "e"))
		_ = os.Mkdir(filepath.Join(dir, "d"), 0o700)
		_ = os.WriteFile(filepath.Join(dir, "d/a"), data, 0o600)
		_ = os.RemoveAll(filepath.Join(dir, "e"))
		return []string{"d", "e"}
	case 4:
		data = data[:r.IntN(len(data)+1)]
	case 5:
		data = nil
	case 6, 7, 8, 9, 10, 11, 12, 13, 14, 15:
		data = append(data, byte('a'+r.IntN(3)))
	default:
		if len(data) > 0 {
			data[r.IntN(len(data))] = byte('a' + r.IntN(3))
		}
	}
	if r.IntN(2) == 0 {
		_ = os.WriteFile(path+".tmp", data, 0o600)
		_ = os.Rename(path+".tmp", path)
		return []string{rel, rel + ".tmp"}
	}
	_ = os.WriteFile(path, data, 0o600)
	// Of another name of the same file there is no event.
	return headNames[:4]
}

// TestRewrittenEqualsFresh: when a check says that a guest would see what it saw,
// though files are others, it does; and what the host makes of those files from the
// units is what a run that remembers nothing would make.
func TestRewrittenEqualsFresh(t *testing.T) {
	seed, rounds := testenv.Seed(t), testenv.Rounds(20, 60, 20_000)
	var rewritten, fresh, stale int
	for round := range rounds {
		r := testenv.RandOf(seed, uint64(round))
		dir := vfstest.Build(t, []string{"a = 0123456789", "b = 0123456789abcdefghi", "d/a = 0123456789abc", "d/b = ", "to -> d", "link -> a", "secret = x"})
		root, filter, run := begin(t, everything(dir))
		h := randomHeads(r)
		was := h.play(t, run)
		_ = run.Close()
		for step := range 12 {
			var events []string
			for range 1 + r.IntN(4)/3 {
				events = append(events, editHeads(r, dir)...)
			}
			name := fmt.Sprintf("round %d step %d, %+v", round, step, *h)
			if r.IntN(4) == 0 {
				was.units = packedAndBack(t, was)
			}
			f := root.CheckUnits(filter, was.units)
			if r.IntN(2) == 0 {
				f = root.CheckUnitsNear(filter, was.units, events)
			}
			clean, again := root.Begin(filter, vfs.Limits{}), root.Begin(filter, vfs.Limits{})
			again.Recall(f.Units)
			want, is := h.play(t, clean), h.play(t, again)
			if is.guest != want.guest || !reflect.DeepEqual(is.host, want.host) {
				t.Fatalf("%s: with what holds\n%s", name, diff(want.guest, is.guest)+diff(fmt.Sprint(want.host), fmt.Sprint(is.host)))
			}
			switch {
			case !f.Fresh:
				stale++
			case len(f.Rewritten) == 0:
				fresh++
			default:
				rewritten++
			}
			if f.Fresh {
				judgeRewritten(t, name, h, root.Begin(filter, vfs.Limits{}), f, was, want)
				want.units = f.Units // as whoever keeps it does
			}
			_, _ = clean.Close(), again.Close()
			was = want
			if !f.Fresh {
				was = is
			}
		}
		_ = root.Close()
	}
	t.Logf("rewritten %d, fresh %d, stale %d", rewritten, fresh, stale)
	if rewritten < rounds/2 || fresh < rounds/4 || stale < rounds {
		t.Errorf("the test tests little")
	}
}

// What a run sees of a file outside of its units counts as well, where it takes the
// units over after it has looked.
func TestSeenOutsideOfUnits(t *testing.T) {
	beginning := []look{{name: "a", verb: "read", size: 3}}
	for name, later := range map[string]look{
		"size": {name: "a", verb: "stat"},
		"more": {name: "a", verb: "read", size: 8},
	} {
		dir := vfstest.Build(t, []string{"a = 0123456789"})
		root, filter, run := begin(t, everything(dir))
		h := &heads{units: [][]look{beginning}, contents: []string{"a"}}
		was := h.play(t, run)
		again := root.Begin(filter, vfs.Limits{})
		again.Recall(root.CheckUnits(filter, was.units).Units)
		see(again, beginning)
		if value, err := again.BeginUnit("unit 0", room); value == nil {
			t.Fatal(err)
		}
		see(again, []look{later})
		content(again, "a")
		units := again.Units()
		_ = again.Close()
		if err := os.WriteFile(filepath.Join(dir, "a"), []byte("01234x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if f := root.CheckUnits(filter, units); f.Fresh {
			t.Errorf("%s: fresh, though what was seen is another", name)
		}
	}
}

func judgeRewritten(t *testing.T, name string, h *heads, run *vfs.Run, f vfs.Freshness, was, want headsRun) {
	t.Helper()
	defer run.Close()
	if want.guest != was.guest {
		t.Fatalf("%s: fresh, but the guest sees\n%s", name, diff(was.guest, want.guest))
	}
	if got, want := lasting(f.Units.Trace()), lasting(want.units.Trace()); !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: trace\n%s", name, diff(spellDeps(want), spellDeps(got)))
	}
	names, ok := run.AdoptRewritten(f.Units, f.Rewritten)
	if !ok {
		t.Fatalf("%s: %v", name, run.Err())
	}
	for _, c := range h.contents {
		is := was.host[c]
		if names[c] {
			is = content(run, c)
		}
		var before bool // which tells whoever has the contents
		for _, w := range f.Rewritten {
			before = before || strings.Contains(was.host[c], fmt.Sprintf("%x", w.Before))
		}
		if is != want.host[c] && (names[c] || !before) {
			t.Fatalf("%s: content of %s, rewritten %v\n%s", name, c, f.Rewritten, diff(want.host[c], is))
		}
	}
}

// packedAndBack sends units through a file, with the contents that are at hand.
func packedAndBack(t *testing.T, was headsRun) *vfs.Units {
	t.Helper()
	text, err := json.Marshal(was.units.Pack())
	var packed vfs.PackedUnits
	if err = errors.Join(err, json.Unmarshal(text, &packed)); err != nil {
		t.Fatal(err)
	}
	back, err := packed.Unpack(func(hash []byte) []byte {
		for _, c := range was.host {
			var class, data string
			var size int
			var sum []byte
			if _, err := fmt.Sscanf(c, "%s %d %x %q", &class, &size, &sum, &data); err == nil && string(sum) == string(hash) {
				return []byte(data)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return back
}
