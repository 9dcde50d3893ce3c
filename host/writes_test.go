package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"waymark/host"
	"waymark/host/watch"
	"waymark/snapshot"
)

// asked is a notifier that notes which directories are watched for writes.
type asked struct {
	backend watch.Backend
	mu      sync.Mutex // guards writes
	writes  map[string]bool
}

func (a *asked) Add(path string, writes bool) error {
	a.mu.Lock()
	a.writes[path] = writes
	a.mu.Unlock()
	return a.backend.Add(path, writes)
}

func (a *asked) Remove(path string) error     { return a.backend.Remove(path) }
func (a *asked) WatchList() []string          { return a.backend.WatchList() }
func (a *asked) Read() ([]watch.Event, error) { return a.backend.Read() }
func (a *asked) Close() error                 { return a.backend.Close() }
func (a *asked) forWrites(path string) (writes, watched bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	writes, watched = a.writes[path]
	return writes, watched
}

// TestWaysAreQuiet: what lies on the way to a root, or only leads somewhere in it, isn't
// watched for writes, and what is read is.
func TestWaysAreQuiet(t *testing.T) {
	noLeaks(t)
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(base, "way", "root")
	put(t, filepath.Join(root, "AGENTS.md"), "one")
	put(t, filepath.Join(root, ".agents", "skills", "s", "SKILL.md"), "---\nname: s\ndescription: d\n---\n")
	if err := os.Symlink(filepath.Join(base, "way"), filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	a := &asked{writes: map[string]bool{}}
	opts := quick
	opts.NewBackend = func() (watch.Backend, error) {
		var err error
		a.backend, err = watch.System()
		return a, err
	}
	h := newHost(t, host.Options{
		Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: filepath.Join(base, "link", "root")}}, Watch: opts,
	})
	running(t, h)
	awaitSnapshot(t, h, "first", func(s *snapshot.Snapshot) bool { return len(s.Resources) > 1 })
	put(t, filepath.Join(root, "AGENTS.md"), "two") // seen: all is watched by then
	awaitSnapshot(t, h, "an edit", func(s *snapshot.Snapshot) bool {
		return strings.Contains(payloads(s), "AGENTS.md=two")
	})
	for path, want := range map[string]bool{
		"/": false, base: false, filepath.Join(base, "way"): false,
		root: true, filepath.Join(root, ".agents/skills/s"): true,
	} {
		if writes, watched := a.forWrites(path); !watched || writes != want {
			t.Errorf("%s: watched %v, for writes %v, want %v", path, watched, writes, want)
		}
	}
}
