package sources

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options configures a List. The zero value works: a list of trusted sources
// that isn't kept.
type Options struct {
	// Home is the user's home directory, "" when there is none.
	Home string
	// WorkDir is the working directory, absolute; "" while it isn't known.
	WorkDir string
	// File is where persistent sources are kept; "" keeps none. Its directory
	// is made when it is needed.
	File string
	// Max is how many sources there may be. Default DefaultMax.
	Max int
	// LockFor is how long a change waits for another agent's. Default 2 s:
	// that takes milliseconds, unless the agent was stopped in the middle.
	LockFor time.Duration
}

// AddOptions say how a source is added. The zero value is a request's.
type AddOptions struct {
	// Persist keeps it across restarts.
	Persist bool
	// Trusted is for the operator's own wish: it may lie anywhere.
	Trusted bool
}

// List is the user's list of sources.
type List struct {
	opts  Options
	state atomic.Pointer[state] // replaced as a whole, by whoever holds change

	change sync.Mutex // one change at a time, with its file; readers don't take it
}

// state is immutable.
type state struct {
	workDir string
	entries []entry // trusted ones first, each kind in order of adding
}

type entry struct {
	path      string
	origin    Origin
	trusted   bool // now
	persisted bool
	kept      bool // trusted in the file, too
}

// New makes a List that is empty until Load.
func New(opts Options) *List {
	if opts.Max <= 0 {
		opts.Max = DefaultMax
	}
	if opts.LockFor <= 0 {
		opts.LockFor = defaultLockFor
	}
	l := &List{opts: opts}
	l.state.Store(&state{workDir: opts.WorkDir})
	return l
}

// SetWorkDir tells the working directory when it becomes known, or changes.
func (l *List) SetWorkDir(dir string) {
	l.change.Lock()
	defer l.change.Unlock()
	next := *l.state.Load()
	next.workDir = dir
	l.state.Store(&next)
}

// Add puts a source on the list, and reports whether it is new there. Adding
// again with more rights or with Persist gives these to what is there.
//
// # Errors
//
// ErrNotAllowed, ErrTooMany, ErrPersist, and what Canonical reports. The list
// is then as it was.
func (l *List) Add(path string, opts AddOptions) (Source, bool, error) {
	target, err := Canonical(path, l.opts.Home)
	if err == nil && !opts.Trusted {
		err = l.within(path, target)
	}
	if err != nil {
		return Source{}, false, err
	}
	l.change.Lock()
	e, added, err := l.add(target, opts)
	l.change.Unlock()
	if err != nil {
		return Source{}, false, err
	}
	return l.show(e), added, nil
}

func (l *List) add(path string, opts AddOptions) (e entry, added bool, err error) {
	now := l.state.Load()
	e = entry{path: path, origin: OriginAPI}
	if opts.Trusted {
		e.origin = OriginFlag
	}
	if old := now.find(path); old != nil {
		e = *old
	} else if added = true; len(now.entries) >= l.opts.Max {
		return e, false, fmt.Errorf("%w: there are %d already: remove one first", ErrTooMany, l.opts.Max)
	}
	if opts.Persist {
		if err := l.persist(path, opts.Trusted); err != nil {
			return e, false, err
		}
		e.persisted, e.kept = true, e.kept || opts.Trusted
	}
	e.trusted = e.trusted || opts.Trusted
	l.state.Store(now.with(e))
	return e, added, nil
}

// Remove takes a source off the list, and out of the file.
//
// # Errors
//
// ErrNotFound, ErrPersist, and what Canonical reports.
func (l *List) Remove(path string) error {
	l.change.Lock()
	defer l.change.Unlock()
	e, err := l.lookUp(path)
	if err != nil {
		return err
	}
	if e.persisted {
		if err := l.forget(e.path); err != nil {
			return err
		}
	}
	l.state.Store(l.state.Load().without(e.path))
	return nil
}

// Get returns one source; ErrNotFound when it isn't on the list.
func (l *List) Get(path string) (Source, error) {
	e, err := l.lookUp(path)
	if err != nil {
		return Source{}, err
	}
	return l.show(e), nil
}

// All returns all sources, in order of precedence: trusted ones first, then
// persisted ones of earlier runs, then those of requests.
func (l *List) All() []Source {
	entries := l.state.Load().entries
	list := make([]Source, len(entries))
	for i, e := range entries {
		list[i] = l.show(e)
	}
	return list
}

// lookUp finds a source by the path that it is known by, also when links have
// changed since, or by any other that leads there now.
func (l *List) lookUp(path string) (entry, error) {
	clean, err := absolute(path, l.opts.Home)
	if err != nil {
		return entry{}, err
	}
	now := l.state.Load()
	if e := now.find(clean); e != nil {
		return *e, nil
	}
	if target, err := Canonical(clean, ""); err == nil {
		if e := now.find(target); e != nil {
			return *e, nil
		}
	}
	return entry{}, fmt.Errorf("%w: %s: see 'agent sources list'", ErrNotFound, path)
}

// show looks at a source as it is now.
func (l *List) show(e entry) Source {
	s := Source{Path: e.path, Persisted: e.persisted, Origin: e.origin}
	if err := l.Allowed(e.path); err != nil && !e.trusted {
		// What lies there is nobody's business then.
		s.Error = err.Error()
		return s
	}
	_, err := os.Stat(e.path)
	s.Exists = err == nil
	if err != nil && !missing(err) {
		s.Error = err.Error()
	}
	return s
}

func (s *state) find(path string) *entry {
	i := slices.IndexFunc(s.entries, func(e entry) bool { return e.path == path })
	if i < 0 {
		return nil
	}
	return &s.entries[i]
}

// with returns a state with the entry in place of the one of the same path, or
// behind its like.
func (s *state) with(e entry) *state {
	next := &state{workDir: s.workDir, entries: slices.Clone(s.entries)}
	if i := slices.IndexFunc(next.entries, func(o entry) bool { return o.path == e.path }); i >= 0 {
		next.entries[i] = e
	} else {
		next.entries = append(next.entries, e)
	}
	slices.SortStableFunc(next.entries, func(a, b entry) int { return rank(a) - rank(b) })
	return next
}

// rank orders what the operator says now before what was said earlier.
func rank(e entry) int {
	if e.trusted {
		return 0
	}
	return 1
}

func (s *state) without(path string) *state {
	return &state{workDir: s.workDir, entries: slices.DeleteFunc(slices.Clone(s.entries), func(e entry) bool {
		return e.path == path
	})}
}
