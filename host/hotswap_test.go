package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"waymark/host"
	"waymark/snapshot"
	"waymark/test/testenv"
)

// TestHotSwapUnderLoad swaps a module 200 times while files are edited: no
// snapshot lacks a find of it, or mixes two versions; every edit arrives; what
// belongs to another module is computed for the edits alone; and nothing is left
// of all the versions.
func TestHotSwapUnderLoad(t *testing.T) {
	noLeaks(t)
	swaps := testenv.Rounds(60, 200, 200)
	var mu sync.Mutex        // guards runs
	runs := map[string]int{} // in the root that nobody edits
	second, quiet := t.TempDir(), t.TempDir()
	put(t, filepath.Join(second, "F.md"), "text")
	put(t, filepath.Join(quiet, "F.md"), "text")
	b := hotplug(t, host.Options{Roots: []host.RootSpec{{Path: second}, {Path: quiet}}, Observe: func(r *host.Report) {
		mu.Lock()
		defer mu.Unlock()
		for _, o := range r.Checked {
			if o.Root == quiet && !o.Reused {
				runs[o.Resolver]++
			}
		}
	}})
	b.drop(t, "other.wasm", tiny{name: "other", version: "1"}.build())
	b.drop(t, "swapped.wasm", tiny{name: "swapped", version: "0"}.build())
	b.is(t, "both", "other.wasm ready; swapped.wasm ready; other=1; swapped=0; other=1; swapped=0; other=1; swapped=0")
	wasm := [2][]byte{tiny{name: "swapped", version: "0"}.build(), tiny{name: "swapped", version: "1"}.build()}

	var work sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	work.Go(func() { inspect(ctx, t, b) })
	work.Go(func() { edit(ctx, t, b, b.root, second) })
	before := footprint{}
	for i := 1; i <= swaps; i++ {
		if version := i % 2; i%3 == 0 { // in place
			if err := os.WriteFile(filepath.Join(b.dir, "swapped.wasm"), wasm[version], 0o600); err != nil {
				t.Fatal(err)
			}
		} else {
			b.drop(t, "swapped.wasm", wasm[version])
		}
		awaitSnapshot(t, b.Host, "swap "+strconv.Itoa(i), func(s *snapshot.Snapshot) bool {
			return strings.Contains(state(s), "swapped="+strconv.Itoa(i%2))
		})
		if i == swaps/10 {
			before = measure()
		}
	}
	cancel()
	work.Wait()
	before.settles(t)
	report := refresh(t, b.Host)
	for i := range report.Snapshot.Resources {
		r := &report.Snapshot.Resources[i]
		if want, err := os.ReadFile(r.Source); err != nil || string(r.Payload) != string(want) {
			t.Errorf("%s is %q, the file %q, %v", r.ID(), r.Payload, want, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if runs["other/r"] != 1 || runs["swapped/r"] < swaps {
		t.Errorf("where nothing was edited, the resolvers ran %v times", runs)
	}
}

// inspect looks at all snapshots that it can get.
func inspect(ctx context.Context, t *testing.T, b *bench) {
	for version := uint64(0); ; {
		s, err := b.Wait(ctx, version)
		if err != nil {
			return
		}
		version = s.Version
		found := map[string]int{}
		for i := range s.Resources {
			r := &s.Resources[i]
			found[fmt.Sprintf("%s %s", r.Name, r.Resolver)]++
			if r.Stale || r.Status != snapshot.StatusOK {
				t.Errorf("version %d: %s is %s, stale %v", version, r.ID(), r.Status, r.Stale)
			}
		}
		for _, p := range s.Plugins {
			if n := found[fmt.Sprintf("%s %s/r@%s", p.Version, p.Name, p.Version)]; n != 3 || len(s.Resources) != 6 {
				t.Errorf("version %d: %d finds of %s %s: %v", version, n, p.Name, p.Version, found)
			}
		}
	}
}

// edit changes the files of all roots in turn, each time as soon as there is
// another snapshot than that of the time before.
func edit(ctx context.Context, t *testing.T, b *bench, roots ...string) {
	version := b.Current().Version
	for i := 0; ctx.Err() == nil; i++ {
		file := filepath.Join(roots[i%len(roots)], "F.md")
		if err := errors.Join(os.WriteFile(file+"~", []byte("edit "+strconv.Itoa(i)), 0o600), os.Rename(file+"~", file)); err != nil {
			t.Error(err)
			return
		}
		s, err := b.Wait(ctx, version)
		if err != nil {
			return
		}
		version = s.Version
	}
}

// footprint is what a process has that could be left over.
type footprint struct{ goroutines, descriptors, mappings int }

func measure() footprint {
	runtime.GC()
	f := footprint{goroutines: runtime.NumGoroutine()}
	if list, err := os.ReadDir("/proc/self/fd"); err == nil {
		f.descriptors = len(list)
	}
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil {
		f.mappings = strings.Count(string(maps), "\n")
	}
	return f
}

// settles waits until there is about as much as before: each module that is
// left over would be several of each.
func (f footprint) settles(t *testing.T) {
	t.Helper()
	const slack = 40
	for end := time.Now().Add(timeout); ; runtime.Gosched() {
		now := measure()
		if now.goroutines <= f.goroutines+slack && now.descriptors <= f.descriptors+slack && now.mappings <= f.mappings+slack {
			t.Logf("before %+v, after %+v", f, now)
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after the swaps there are %+v, before %+v", now, f)
		}
	}
}
