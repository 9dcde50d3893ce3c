package host_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"waymark/host"
	"waymark/snapshot"
)

// told is what the resolvers of the slow module have said, each once, and how many of
// them by a row that is marked stale.
func told(s *snapshot.Snapshot) (text string, stale int) {
	said := map[string]bool{}
	for i := range s.Resources {
		r := &s.Resources[i]
		if !strings.HasPrefix(r.Key, "s") {
			continue
		}
		said[r.Name] = true
		if r.Stale {
			stale++
		}
	}
	for name := range said {
		text += name + ";"
	}
	return text, stale
}

// TestPostponed: what slow modules find is published when it is ready, and nothing else
// waits for it: until then what they found before is there, marked stale. Whoever asks for
// everything gets it.
func TestPostponed(t *testing.T) {
	noLeaks(t)
	// Each that was there, also those that another one has replaced.
	came := make(chan *snapshot.Snapshot, 10_000)
	b := hotplug(t, host.Options{Observe: func(r *host.Report) { came <- r.Snapshot }, PluginDirs: []string{pluginDir(t, map[string][]byte{
		"slow.wasm": guest(t, "./testdata/slow"), "tiny.wasm": tiny{name: "tiny", version: "1"}.build(),
	})}})
	if text, stale := told(refresh(t, b.Host).Snapshot); text != "text;" || stale > 0 {
		t.Fatalf("at first: %q, %d stale", text, stale)
	}
	// From now on each takes some 20 ms, and the machine two of them at a time.
	put(t, filepath.Join(b.root, "SPIN.md"), "12000000")
	put(t, filepath.Join(b.root, "F.md"), "first")
	if text, stale := told(refresh(t, b.Host).Snapshot); text != "first;" || stale > 0 {
		t.Fatalf("slowly: %q, %d stale", text, stale)
	}
	for _, edit := range []string{"second", "third"} {
		put(t, filepath.Join(b.root, "F.md"), edit)
		s := <-came
		for !strings.Contains(payloads(s), "="+edit) {
			s = <-came
		}
		if _, stale := told(s); stale == 0 {
			t.Errorf("%q came with what slow resolvers make of it", edit)
		}
		for _, p := range s.Plugins {
			if p.State != snapshot.PluginReady {
				t.Errorf("%s is %s: %s", p.Name, p.State, p.Error)
			}
		}
	}
	last := awaitSnapshot(t, b.Host, "all", func(s *snapshot.Snapshot) bool {
		text, stale := told(s)
		return text == "third;" && stale == 0
	})
	clean := newHost(t, host.Options{PluginDirs: []string{b.dir}, Roots: []host.RootSpec{{Path: b.root}}})
	if got, want := fmt.Sprint(payloads(last)), fmt.Sprint(payloads(refresh(t, clean).Snapshot)); got != want {
		t.Errorf("after all there is %s, and at a clean start %s", got, want)
	}
}
