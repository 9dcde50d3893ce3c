package sources

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"waymark/internal/defaults"
	"waymark/internal/errtext"
)

// Options configures a List. With the zero value requests can't add sources, and none is kept.
type Options struct {
	// Home is the user's home directory, "" if there is none.
	Home string
	// WorkDir is the working directory, absolute; "" while it isn't known.
	WorkDir string
	// File is where persistent sources are kept; "" keeps none. Its directory is created when
	// needed.
	File string
	// Max is how many sources there may be. Default DefaultMax.
	Max int
	// LockFor is how long a change waits for that of another agent, which takes milliseconds
	// unless the agent was stopped in the middle. Default 2 s.
	LockFor time.Duration
}

// AddOptions say how a source is added. The zero value is a request's.
type AddOptions struct {
	// Persist keeps it across restarts.
	Persist bool
	// Trusted is for the operator's own sources, which may lie anywhere.
	Trusted bool
}

// List is the user's list of sources.
type List struct {
	opts  Options
	state atomic.Pointer[state] // replaced as a whole by the holder of change

	change sync.Mutex // one change at a time, with its file; readers don't take it
}

// state is immutable.
type state struct {
	workDir string
	entries []entry // trusted ones first, each kind in order of adding
}

type entry struct {
	path      string // that it is known by
	named     string // as given: clean, with its links
	open      string // where it is opened; see locate
	within    string // the working directory that it was added in, link-free, or ""
	origin    Origin
	trusted   bool // in this run
	persisted bool
	kept      bool // trusted in the file, too
}

// New makes a List that is empty until Load.
func New(opts Options) *List {
	opts = defaults.Or(opts, Options{Max: DefaultMax, LockFor: defaultLockFor})
	l := &List{opts: opts}
	l.state.Store(&state{workDir: opts.WorkDir})
	return l
}

// SetWorkDir sets the working directory, when it becomes known or changes.
func (l *List) SetWorkDir(dir string) {
	l.change.Lock()
	defer l.change.Unlock()
	next := *l.state.Load()
	next.workDir, next.entries = dir, slices.Clone(next.entries)
	for i := range next.entries {
		locate(&next.entries[i], dir)
	}
	l.state.Store(&next)
}

// locate finds out where a source is opened: at the path that it is known by, unless the way
// there goes through a working directory. The links in that one aren't the user's, and are
// followed anew at each opening, within bounds.
func locate(e *entry, workDir string) {
	e.open = e.path
	for _, bound := range bounds(workDir, e.within) {
		path, err := canonical(e.named, []string{bound})
		if err == nil && within(bound, path) {
			e.open, e.within = path, cmp.Or(e.within, bound)
			return
		}
	}
}

// bounds returns the link-free working directories, current and earlier.
func bounds(workDir, before string) []string {
	var list []string
	for _, dir := range []string{workDir, before} {
		if !filepath.IsAbs(dir) {
			continue
		}
		if bound, err := canonical(filepath.Clean(dir), nil); err == nil && !slices.Contains(list, bound) {
			list = append(list, bound)
		}
	}
	return list
}

// Add puts a source on the list, and reports whether it is new there. Adding it again with
// more rights or with Persist gives these to the existing one. A link of the working
// directory that redirects a trusted source doesn't prevent adding it: the source shows the
// error, and the agent starts.
//
// # Errors
//
// ErrNotAllowed, ErrTooMany, ErrPersist, and what Canonical reports. The list is then
// unchanged.
func (l *List) Add(path string, opts AddOptions) (Source, bool, error) {
	e, err := l.entryOf(path)
	if err == nil && !opts.Trusted {
		err = l.allowed(&e)
	}
	if err != nil {
		return Source{}, false, err
	}
	l.change.Lock()
	e, added, err := l.add(e, opts)
	l.change.Unlock()
	if err != nil {
		return Source{}, false, err
	}
	return l.show(e), added, nil
}

// entryOf returns the entry for a path.
func (l *List) entryOf(path string) (e entry, err error) {
	if e.named, err = absolute(path, l.opts.Home); err != nil {
		return e, err
	}
	now := bounds(l.state.Load().workDir, "")
	if e.path, err = canonical(e.named, now); err != nil {
		return e, err
	}
	e.open = e.path
	if len(now) > 0 && within(now[0], e.path) {
		e.within = now[0]
	}
	return e, nil
}

func (l *List) add(e entry, opts AddOptions) (_ entry, added bool, err error) {
	now := l.state.Load()
	e.origin = OriginAPI
	if opts.Trusted {
		e.origin = OriginFlag
	}
	if old := now.find(e.path); old != nil {
		e = *old
	} else if added = true; len(now.entries) >= l.opts.Max {
		return e, false, fmt.Errorf("%w: there are %d already: remove one first", ErrTooMany, l.opts.Max)
	}
	e.trusted = e.trusted || opts.Trusted
	if opts.Persist {
		e.persisted, e.kept = true, e.kept || opts.Trusted
		if err := l.persist(e.inFile()); err != nil {
			return e, false, err
		}
	}
	l.state.Store(now.with(e))
	return e, added, nil
}

// Remove removes a source from the list and from the file.
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

// Get returns one source; ErrNotFound if it isn't on the list.
func (l *List) Get(path string) (Source, error) {
	e, err := l.lookUp(path)
	if err != nil {
		return Source{}, err
	}
	return l.show(e), nil
}

// All returns all sources, in order of precedence: trusted ones first, then persisted ones of
// earlier runs, then those of requests.
func (l *List) All() []Source {
	entries := l.state.Load().entries
	list := make([]Source, len(entries))
	for i, e := range entries {
		list[i] = l.show(e)
	}
	return list
}

// Roots returns where the sources are to be opened, in the order of All.
func (l *List) Roots() []Root {
	now := l.state.Load()
	list := make([]Root, len(now.entries))
	for i, e := range now.entries {
		list[i] = Root{Source: e.path, Path: e.open}
		for _, dir := range []string{now.workDir, e.within} {
			if dir != "" {
				list[i].Within = append(list[i].Within, dir)
			}
		}
		for _, other := range now.entries {
			if other.open != e.open && within(other.open, e.open) {
				list[i].Within = append(list[i].Within, other.open)
			}
		}
	}
	return list
}

// lookUp finds a source by the path that it is known by, even if links have changed since, or
// by any other path that leads there now.
func (l *List) lookUp(path string) (entry, error) {
	clean, err := absolute(path, l.opts.Home)
	if err != nil {
		return entry{}, err
	}
	now := l.state.Load()
	if e := now.find(clean); e != nil {
		return *e, nil
	}
	if e, err := l.entryOf(clean); err == nil {
		if e := now.find(e.path); e != nil {
			return *e, nil
		}
	}
	if target, err := Canonical(clean, ""); err == nil {
		if e := now.find(target); e != nil {
			return *e, nil
		}
	}
	return entry{}, fmt.Errorf("%w: %s: see 'agent sources list'", ErrNotFound, path)
}

// show describes a source in its current state.
func (l *List) show(e entry) Source {
	s := Source{Path: e.path, Persisted: e.persisted, Origin: e.origin}
	if err := l.mayOpen(&e); err != nil {
		// Then nobody may know whether it exists.
		s.Error = errtext.Of(err)
		return s
	}
	_, err := os.Stat(e.open)
	s.Exists = err == nil
	if err != nil && !missing(err) {
		s.Error = errtext.Of(err)
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

// with returns a state with the entry replacing the one of the same path, or added to its
// group.
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

// rank sorts the operator's current sources before earlier ones.
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
