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
	// ErrChanged says that something covered by digests has changed, even if it has been
	// changed back.
	ErrChanged = errors.New("it has changed meanwhile, and nothing of it is taken")
	// ErrOpen says that a program can write a file without opening it first.
	ErrOpen = errors.New("a program has it open for writing: close it there")
)

// covered is what digests cover.
type covered struct {
	files []watched
	links []link // with absolute paths
	// looked are the absolute paths that were checked, including those that don't exist.
	looked []string
	// young says that a file may have changed without altering its times.
	young bool
}

// watched is a file that was read.
type watched struct {
	path string // absolute, without links
	id   identity
}

// add records a file that was just read.
func (c *covered) add(path string, id identity, young bool) {
	c.files = append(c.files, watched{path, id})
	c.young = c.young || young
}

// Watch reports changes of what digests cover. While the Store listens, the system reports
// changes as they happen: of files, links, directories on the way, and paths that didn't
// exist. Otherwise the Watch compares. A nil Watch watches nothing. All methods may be
// called concurrently.
type Watch struct {
	of      *covered
	root    string
	others  map[string]identity // links and directories as they were at its creation
	events  *events             // nil if the system doesn't report changes
	whole   bool                // the system reports all changes
	changed chan struct{}

	mu     sync.Mutex // guards the fields below; not held while reading files
	what   string     // what has changed; empty while nothing has
	leases []lease
	free   []string // files for which no lease could be taken
}

// lease notifies the holder before anybody opens a file for writing.
type lease struct {
	path string
	file *os.File
}

// Watch begins to watch what digests cover. It returns nil if that is nothing. The caller
// must Close it.
func (s *Store) Watch(d *Digests) *Watch {
	if d == nil || d.covered == nil || len(d.covered.files) == 0 {
		return nil
	}
	w := &Watch{of: d.covered, root: s.opts.Root(), others: map[string]identity{}, changed: make(chan struct{})}
	names := map[string]map[string]bool{} // relevant names by directory
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

// Changed is closed when the system reports a change.
func (w *Watch) Changed() <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.changed
}

// Told reports whether Changed covers every change since the digests were computed.
func (w *Watch) Told() bool { return w != nil && w.whole && !w.of.young }

// Stale reports whether something may have changed since the digests were computed. It
// reads no file, and serves to notice changes early.
func (w *Watch) Stale() bool { return w != nil && (w.of.young || w.Err() != nil) }

// Err handles pending reports of the system, and compares the current state with the
// original one without reading files. It covers every change that happened before the call.
//
// # Errors
//
// ErrChanged with the first change. It is permanent.
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

// name returns a path for people.
func (w *Watch) name(path string) string {
	if rel, in := below(w.root, path); in {
		return rel
	}
	return path
}

// tell records a change, and returns the first one; empty if there is none.
func (w *Watch) tell(what string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if what != "" && w.what == "" {
		w.what = what
		close(w.changed)
	}
	return w.what
}

// compare returns what differs. If the system doesn't report that a directory or link of
// the workspace was replaced temporarily, its times reveal it: creating a file in a
// directory changes mtime and ctime, changing the directory itself only ctime.
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

// Hold delays programs that open a file for writing, and Changed reports them. It lasts
// until Release. Files without a lease aren't held; see Free.
//
// # Errors
//
// ErrOpen if a program has a file open for writing or mapped, and could change it
// unnoticed. ErrChanged if a file was replaced.
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
		case err != nil: // if the user can't write it, neither can programs that act for the user
		default:
			w.leases = append(w.leases, l)
		}
	}
	return nil
}

// Free returns the files for which Hold got no lease and that the user can write, relative
// to the workspace if they are in it.
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

// broken handles a request for a leased file: it releases all leases at once.
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

// Close ends the watch.
func (w *Watch) Close() {
	if w == nil {
		return
	}
	w.Release()
	w.events.remove(w)
}

// Listen asks the system to report changes until stop is called. Without that, changes are
// found by comparing.
//
// # Errors
//
// The system doesn't support it.
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
