package trust

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

var (
	// ErrChanged says that something has changed of what digests were taken of, also
	// where it is by now as it was.
	ErrChanged = errors.New("it has changed meanwhile, and nothing of it is taken")
	// ErrOpen says that somebody can write a file without opening it first.
	ErrOpen = errors.New("a program has it open for writing: close it there")
)

// covered is what digests were taken of.
type covered struct {
	files []watched
	links []link // by absolute paths
	// looked are the absolute paths that were looked for, also those where nothing was.
	looked []string
	// young says that a file may have changed since without its times showing it.
	young bool
}

// watched is a file that was read.
type watched struct {
	path string // absolute, without links
	id   identity
}

// add takes down a file that was read not long before now.
func (c *covered) add(path string, id identity, young bool) {
	c.files = append(c.files, watched{path, id})
	c.young = c.young || young
}

// Watch tells of changes of what digests were taken of. While the Store listens it is told
// by the system, as they happen, what is done to the files, the links and the directories
// on the way, and to what has the name of something that was looked for; else it compares.
// A nil Watch watches nothing. All methods may be called at the same time.
type Watch struct {
	of      *covered
	root    string
	others  map[string]identity // links and directories, as they were when it was made
	events  *events             // nil where the system tells nothing
	whole   bool                // it tells of everything
	changed chan struct{}

	mu     sync.Mutex // guards what follows; no file is read under it
	what   string     // has changed; empty while nothing has
	leases []lease
	free   []string // files that are held by no lease, where leases were asked for
}

// lease is a file that nobody opens for writing without this being told first.
type lease struct {
	path string
	file *os.File
}

// Watch begins to watch what digests were taken of; it is nil where that is nothing. Close
// ends it.
func (s *Store) Watch(d *Digests) *Watch {
	if d == nil || d.covered == nil || len(d.covered.files) == 0 {
		return nil
	}
	w := &Watch{of: d.covered, root: s.opts.Root(), others: map[string]identity{}, changed: make(chan struct{})}
	names := map[string]map[string]bool{} // that count, by directory
	paths := slices.Clone(w.of.looked)
	for _, f := range w.of.files {
		paths = append(paths, f.path)
	}
	for _, l := range w.of.links {
		paths = append(paths, l.path)
	}
	for _, path := range paths {
		for path = filepath.Clean(path); path != "/"; path = filepath.Dir(path) {
			dir := filepath.Dir(path)
			if names[dir] == nil {
				names[dir] = map[string]bool{}
			}
			names[dir][filepath.Base(path)] = true
		}
	}
	if w.events = s.events.Load(); w.events != nil {
		w.whole = w.events.add(w, names)
	}
	others := slices.Collect(maps.Keys(names))
	for _, l := range w.of.links {
		others = append(others, l.path)
	}
	for _, path := range others {
		var st unix.Stat_t
		if unix.Lstat(path, &st) == nil {
			w.others[path] = identityOf(&st)
		}
	}
	return w
}

// Changed is closed when the system tells of a change.
func (w *Watch) Changed() <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.changed
}

// Told reports whether every change since the digests were taken is one that Changed
// tells of.
func (w *Watch) Told() bool { return w != nil && w.whole && !w.of.young }

// Stale reports whether something may have changed since the digests were taken. It reads
// no file, and is for noticing a change early.
func (w *Watch) Stale() bool { return w != nil && (w.of.young || w.Err() != nil) }

// Err compares what there is with what there was, without reading it, and takes what the
// system has to tell: what happened before it is called it knows.
//
// # Errors
//
// ErrChanged, with what has changed first. There is no way back from it.
func (w *Watch) Err() error {
	if w == nil {
		return nil
	}
	w.events.take()
	what := w.tell("")
	if what == "" {
		what = w.tell(w.compare())
	}
	if what == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrChanged, w.name(what))
}

// name is a path as people are told it.
func (w *Watch) name(path string) string {
	if rel, in := below(w.root, path); in {
		return rel
	}
	return path
}

// tell notes what has changed, and returns what has first; empty is nothing.
func (w *Watch) tell(what string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if what != "" && w.what == "" {
		w.what = what
		close(w.changed)
	}
	return w.what
}

// compare returns what differs from what it was. Where nothing else tells that a directory
// or a link of the workspace was away, its times do: what is made in a directory changes
// both of them, what is done to it the one alone.
func (w *Watch) compare() string {
	var st unix.Stat_t
	for _, f := range w.of.files {
		if unix.Lstat(f.path, &st) != nil || identityOf(&st) != f.id {
			return f.path
		}
	}
	for _, l := range w.of.links {
		if target, err := os.Readlink(l.path); err != nil || target != l.target {
			return l.path
		}
	}
	for path, was := range w.others {
		if unix.Lstat(path, &st) != nil {
			return path
		}
		now := identityOf(&st)
		_, in := below(w.root, path)
		if now.Dev != was.Dev || now.Ino != was.Ino || !w.whole && in && now.Changed != was.Changed && now.Changed != now.Modified {
			return path
		}
	}
	return ""
}

// Hold keeps all files from being opened for writing until Release: who does opens it a
// moment later, and Changed tells of it. Where that can't be had it goes on without.
//
// # Errors
//
// ErrOpen for a file that somebody has open, or has mapped, so that he can write it
// without being noticed. ErrChanged for another file.
func (w *Watch) Hold() error {
	if w == nil || w.events == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.of.files {
		l, err := w.events.lease(f)
		switch {
		case errors.Is(err, ErrOpen), errors.Is(err, ErrChanged):
			return fmt.Errorf("%s: %w", w.name(f.path), err)
		case err != nil && unix.Access(f.path, unix.W_OK) == nil:
			w.free = append(w.free, w.name(f.path))
		case err != nil: // what its user can't write nobody can whom the user lets act
		default:
			w.leases = append(w.leases, l)
		}
	}
	return nil
}

// Free returns the files that Hold couldn't keep, and that the user can write, relative to
// the workspace where they are in it.
func (w *Watch) Free() []string {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.free)
}

// Release ends Hold.
func (w *Watch) Release() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.leases {
		l.release()
	}
	w.leases = nil
}

// broken gives back at once what somebody wants to write, with all the rest.
func (w *Watch) broken() {
	w.mu.Lock()
	var what string
	if i := slices.IndexFunc(w.leases, lease.wanted); i >= 0 {
		what = w.leases[i].path
	}
	w.mu.Unlock()
	if w.tell(what); what != "" {
		w.Release()
	}
}

// Close ends it.
func (w *Watch) Close() {
	if w == nil {
		return
	}
	w.Release()
	w.events.remove(w)
}

// Listen has the system tell of changes until stop is called. Without it, or where the
// system doesn't, they are found by comparing.
//
// # Errors
//
// That the system doesn't.
func (s *Store) Listen() (stop func(), err error) {
	e, end, err := listen()
	if err != nil {
		return nil, err
	}
	s.events.Store(e)
	return func() {
		s.events.Store(nil)
		end()
	}, nil
}
