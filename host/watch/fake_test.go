package watch_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waymark/host/watch"
)

// notifier stands in for the system's. Its events are what a test sends.
type notifier struct {
	reads  chan read
	closed chan struct{}

	mu      sync.Mutex              // guards the rest
	paths   map[string]bool         // whether for writes, too
	adds    []string                // every path added, in order
	onAdd   func(path string) error // decides what Add does; nil adds
	closing bool
}

type read struct {
	events []watch.Event
	err    error
}

func newNotifier() *notifier {
	return &notifier{reads: make(chan read), closed: make(chan struct{}), paths: map[string]bool{}}
}

func (n *notifier) Add(path string, writes bool) error {
	n.mu.Lock()
	onAdd := n.onAdd
	n.adds = append(n.adds, path)
	n.mu.Unlock()
	if onAdd != nil {
		if err := onAdd(path); err != nil {
			return err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.paths[path] = n.paths[path] || writes
	return nil
}

func (n *notifier) Remove(path string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.paths, path)
	return nil
}

func (n *notifier) WatchList() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.paths))
}

// writes lists the watched directories below base that are watched for writes.
func (n *notifier) writes(base string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := []string{}
	for path, writes := range n.paths {
		if rel, err := filepath.Rel(base, path); err == nil && writes {
			list = append(list, rel)
		}
	}
	slices.Sort(list)
	return list
}

func (n *notifier) Read() ([]watch.Event, error) {
	select {
	case r := <-n.reads:
		return r.events, r.err
	case <-n.closed:
		return nil, io.EOF
	}
}

func (n *notifier) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closing {
		return errors.New("closed twice")
	}
	n.closing = true
	close(n.closed)
	return nil
}

func (n *notifier) decide(onAdd func(path string) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.onAdd = onAdd
}

// added returns the paths added since the last call, except those on the way
// to base.
func (n *notifier) added(base string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	adds := n.adds
	n.adds = nil
	var below []string
	for _, path := range adds {
		if rel, err := filepath.Rel(base, path); err == nil && filepath.IsLocal(rel) {
			below = append(below, rel)
		}
	}
	return below
}

func (n *notifier) send(path string, op watch.Op) {
	n.sendAll(watch.Event{Path: path, Op: op})
}

// sendAll sends events that are read at once.
func (n *notifier) sendAll(list ...watch.Event) { n.reads <- read{events: list} }

func (n *notifier) fail(err error) { n.reads <- read{err: err} }

// bench is a running Watcher over a notifier, inside a synctest bubble.
type bench struct {
	*watch.Watcher
	t   *testing.T
	n   *notifier
	dir string // a real directory
}

// withFake runs a test over a notifier in a synctest bubble; time stands still but for
// waiting. Everything must have ended when it returns.
func withFake(t *testing.T, opts watch.Options, test func(t *testing.T, b *bench)) {
	t.Helper()
	dir := linkFreeDir(t)
	synctest.Test(t, func(t *testing.T) {
		n := newNotifier()
		if opts.NewBackend == nil {
			opts.NewBackend = func() (watch.Backend, error) { return n, nil }
		}
		b := &bench{Watcher: watch.New(opts), t: t, n: n, dir: dir}
		var running sync.WaitGroup
		running.Go(func() {
			if err := b.Run(t.Context()); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
		defer running.Wait()
		defer b.Close()
		synctest.Wait()
		test(t, b)
	})
}

func linkFreeDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// path makes a path from names below the directory.
func (b *bench) path(names ...string) string {
	return filepath.Join(append([]string{b.dir}, names...)...)
}

func (b *bench) mkdir(names ...string) string {
	b.t.Helper()
	path := b.path(names...)
	if err := os.MkdirAll(path, 0o755); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// set asks for dirs and takes the batch that follows.
func (b *bench) set(owner string, dirs ...watch.Dir) {
	b.t.Helper()
	b.Set(owner, dirs)
	b.want(watch.Batch{Owners: []string{owner}, Reason: watch.ReasonAdded})
}

// want takes the next batch.
func (b *bench) want(want watch.Batch) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Hour)
	defer cancel()
	got, err := b.Wait(ctx)
	if err != nil {
		b.t.Fatalf("got no batch (%v), want %+v", err, want)
	}
	if got.All != want.All || got.Reason != want.Reason || !slices.Equal(got.Owners, want.Owners) {
		b.t.Fatalf("got %+v, want %+v", got, want)
	}
}

// wantAfter is want, and the batch must take just this long to come.
func (b *bench) wantAfter(d time.Duration, want watch.Batch) {
	b.t.Helper()
	start := time.Now()
	b.want(want)
	if got := time.Since(start); got != d {
		b.t.Fatalf("the batch came after %v, want %v", got, d)
	}
}

// wantNone waits for a while in which no batch may come.
func (b *bench) wantNone(d time.Duration) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), d)
	defer cancel()
	if got, err := b.Wait(ctx); err == nil {
		b.t.Fatalf("got %+v, want none", got)
	}
}

func (b *bench) wantState(want watch.State) {
	b.t.Helper()
	synctest.Wait()
	got, _ := b.State()
	if got.Error != "" && want.Error == "*" {
		want.Error = got.Error
	}
	if want.Dirs < 0 {
		want.Dirs = got.Dirs
	}
	if got != want {
		b.t.Fatalf("the state is %+v, want %+v", got, want)
	}
}
