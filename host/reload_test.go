package host_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"waymark/host"
	"waymark/host/sandbox"
	"waymark/snapshot"
	"waymark/test/wasmtest"
)

const longRun = time.Hour // of a module that nothing ends

// wild is a module that runs on for ever, in one export or the other.
func wild(t *testing.T, name string, inDescribe bool) []byte {
	t.Helper()
	if inDescribe {
		return wasmtest.MustWAT(`(module
			(func (export "describe") (result i32) (loop $again (br $again)) (i32.const 0))
			(func (export "resolve") (result i32) (i32.const 0)))`)
	}
	return tiny{name: name, version: "1", wild: true}.build()
}

// begun is a Running that tells when modules have been called.
type begun struct {
	mu    sync.Mutex
	calls int
	more  chan struct{} // closed when there are as many calls as are waited for
	want  int
}

func (b *begun) Begin(string, time.Duration) (end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls++; b.calls == b.want {
		close(b.more)
	}
	return func() {}
}
func (*begun) Quarantined(string) string { return "" }
func (*begun) Release() error            { return nil }

// TestReloadGoesThrough: whatever modules do, a reload is in force soon, and so
// are other roots: not after the run that is going on, let alone all those that
// wait for theirs.
func TestReloadGoesThrough(t *testing.T) {
	noLeaks(t)
	for _, inDescribe := range []bool{false, true} {
		t.Run(fmt.Sprintf("in describe %v", inDescribe), func(t *testing.T) {
			modules := map[string][]byte{"good.wasm": tiny{name: "good", version: "1"}.build()}
			for i := range 3 {
				name := fmt.Sprintf("w%d", i)
				modules[name+".wasm"] = wild(t, name, inDescribe)
			}
			dir, root, other := pluginDir(t, modules), t.TempDir(), t.TempDir()
			put(t, filepath.Join(root, "F.md"), "text")
			put(t, filepath.Join(other, "F.md"), "text")
			calls := &begun{more: make(chan struct{}), want: 5} // four to describe, one to resolve
			if inDescribe {
				calls.want = 2
			}
			opts := host.Options{
				PluginDirs: []string{dir}, Roots: []host.RootSpec{{Path: root}}, Watch: quick, Limits: sandbox.Limits{Time: longRun},
				Running: calls, ReloadWithin: 50 * time.Millisecond,
			}
			b, err := host.New(opts)
			if err != nil {
				t.Fatal(err)
			}
			var runs sync.WaitGroup
			runs.Go(func() {
				if err := b.Load(t.Context()); err != nil {
					t.Errorf("load: %v", err)
				}
				if err := b.Run(t.Context()); err != nil {
					t.Errorf("run: %v", err)
				}
			})
			defer runs.Wait()
			defer func() { _ = b.Close() }()
			<-calls.more
			// Each would take an hour if it waited.
			if err := b.SetRoots(t.Context(), []host.RootSpec{{Path: other}}); err != nil {
				t.Fatal(err)
			}
			next := opts
			next.Exclude = []string{"nothing"}
			if err := b.Reconfigure(t.Context(), next); err != nil {
				t.Fatal(err)
			}
			next.PluginDirs = []string{pluginDir(t, map[string][]byte{"good.wasm": modules["good.wasm"]})}
			if err := b.Reconfigure(t.Context(), next); err != nil {
				t.Fatal(err)
			}
			awaitSnapshot(t, b, "only the good one", func(s *snapshot.Snapshot) bool { return state(s) == "good.wasm ready; good=1" })
		})
	}
}
