// Package watch says which owners should look again, and never what they will
// see: events are hints.
//
// An owner asks for directories, and in each of them for names. The directory
// is watched, never a file and never what is below it. So is every directory
// on the way to it, which is how a directory that doesn't exist is seen to
// come, step by step, and one that is renamed, replaced, deleted or made again
// is followed: a watch of the kernel's belongs to an inode, and what a path
// means is compared by (device, inode) whenever anything happened on the way.
// A link on the way counts as missing: paths are free of links, and what has
// become a link is its owner's to see.
//
// A directory that only leads somewhere, such as /tmp or a home, is watched for its
// entries alone. Writes to the files in it make no event, where the system can be
// asked for so little (Linux).
//
// Guarantees:
//   - What happens to a name that an owner asked for, while its directory is
//     watched, is in a [Batch] with this owner (or with All) afterwards.
//   - When a watch or a name has really been added, one batch for its owners
//     follows, because something may have changed between their look and the
//     watch. The same set again adds nothing, so this ends. Looking, reading
//     and listing make no events.
//   - What nobody asked for costs the reading of its event and no batch.
//   - Lost events, a full watch table, no inotify at all and a broken
//     notifier lead to more looking, never to less: see [State].
//   - Batches that nobody waits for are merged, so memory is bounded by the
//     sets, whatever happens.
//   - A batch is ready when nothing that it is for may be half done. Where the
//     system says that a file is finished (Linux: it was closed by who wrote it,
//     or renamed to its name) that is at once; else, and for who closes a file
//     again and again, after a time of quiet.
//
// Concurrency: all methods are safe for concurrent use, but Wait is for one
// goroutine. [Watcher.Run] owns two: one takes events from the notifier and
// makes batches of them, and one adds and removes watches, so that a full queue
// of events can't block the adding of watches, nor the other way around. A timer
// hands out what waits for quiet. Close ends them and waits.
//
// Limits: some changes make no event. These are writes through another hard
// link, those through a memory map as long as the file is open (elsewhere than on
// Linux for ever), a mount put over a watched directory, and what others
// do to a network file system. They wait for the safety re-check. Names that come and go in a
// directory on the way, such as /tmp, are read and dropped. A file system that
// doesn't answer blocks Run, and thus Close. Who writes a file in steps, closing it
// after each, may have the first step looked at; the last is, too.
package watch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"waymark/internal/defaults"
	"waymark/internal/notify"
)

// ErrClosed says that the Watcher has been closed, or that its Run has ended.
var ErrClosed = errors.New("the watcher is closed")

// errRunning says that Run was called twice.
var errRunning = errors.New("the watcher is already running")

// Watcher watches directories for owners. Make one with New.
type Watcher struct {
	opts Options
	log  *slog.Logger

	closing context.Context // done once Close has been called
	close   context.CancelFunc
	done    chan struct{} // closed when Run has ended or never will begin

	// Each holds one token.
	wake notify.Wake // the keeper has something to do
	full notify.Wake // ready isn't empty

	mu        sync.Mutex // guards everything below; no file I/O under it
	begun     bool       // Run has been called
	tree      tree
	busy      bool          // the keeper hasn't yet done what the tree asks for
	gathering pending       // waits until it is finished, or for quiet
	handed    time.Time     // when a batch was last ready
	timer     *time.Timer   // calls ring; nil before it is first needed
	alarm     time.Time     // when it does; zero when it doesn't
	ended     bool          // no alarm any more
	ready     pending       // waits for Wait
	checking  bool          // a Batch with All was taken, and its taker isn't back
	postponed bool          // the keeper's re-check waits for the end of checking
	resumed   bool          // the end of checking, for the keeper
	state     State         // what State returns
	changed   notify.Signal // state has changed
}

// New makes a Watcher; Run starts it.
func New(opts Options) *Watcher {
	opts = opts.WithDefaults()
	closing, closeNow := context.WithCancel(context.Background())
	return &Watcher{
		opts: opts, log: opts.Logger,
		closing: closing, close: closeNow,
		done:  make(chan struct{}),
		wake:  notify.NewWake(),
		full:  notify.NewWake(),
		tree:  newTree(),
		state: State{Mode: ModeOff},
	}
}

// Run watches until ctx is done or Close is called, and then returns nil. It
// can be called once; after Close it returns ErrClosed.
func (w *Watcher) Run(ctx context.Context) error {
	if err := w.begin(); err != nil {
		return err
	}
	defer close(w.done)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.closing, cancel)()

	newKeeper(w).run(ctx)
	w.end()
	w.setState(State{Mode: ModeOff})
	return nil
}

// end makes sure that the alarm is off.
func (w *Watcher) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.silenceLocked()
}

// begin makes sure that Run runs once.
func (w *Watcher) begin() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closing.Err() != nil {
		return ErrClosed
	}
	if w.begun {
		return errRunning
	}
	w.begun = true
	return nil
}

// Close ends Run and waits. It is safe to call twice, and before Run.
func (w *Watcher) Close() error {
	w.mu.Lock()
	first := w.closing.Err() == nil
	w.close() // under the lock: no Run can begin after this
	if first && !w.begun {
		close(w.done)
	}
	w.mu.Unlock()
	<-w.done
	return nil
}

// Set replaces the set of an owner; without dirs it removes the owner. It
// doesn't block, and an unchanged set in unchanged order costs its comparison.
// The Watcher keeps no part of dirs.
func (w *Watcher) Set(owner string, dirs []Dir) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.tree.owners[owner]
	switch {
	case o == nil && len(dirs) == 0, o != nil && same(o.given, dirs):
		return
	case o == nil:
		o = &subscription{name: owner}
		w.tree.owners[owner] = o
	}
	w.tree.set(o, dirs)
	if len(dirs) == 0 {
		delete(w.tree.owners, owner)
		w.gathering.forget(o)
		w.ready.forget(o)
	}
	w.wakeLocked()
}

// wakeLocked has the keeper do what the tree asks for. The caller holds mu.
func (w *Watcher) wakeLocked() {
	w.busy = true
	w.wake.Set()
}

// Dir is one directory to watch.
type Dir struct {
	// Path is absolute, clean and free of links. It needn't exist.
	Path string
	// Names are the names in it that matter. Nil means any; empty means that
	// only the directory itself matters, besides Globs and Through.
	Names []string
	// Globs are patterns of more names, in doublestar's language for one name.
	Globs []string
	// Through are more names, of what only leads on: that they come, go or become
	// something else matters, and what is written at them doesn't. For these alone,
	// and for what lies on the way to a directory, the system isn't asked to tell of
	// writes, where it can be asked for less.
	Through []string
	// Directories says that directories that come to be in it or go matter, whatever their
	// names. Where the system doesn't tell a directory from a file, all names do.
	Directories bool
}

// Options sets up a Watcher. The zero value works.
type Options struct {
	// Quiet is how long nothing may happen before a batch is handed out in which
	// something may be half done; 0 means defaults.Quiet. Nor is a batch handed out
	// at once that begins so soon after another.
	Quiet time.Duration
	// MaxWait is the longest that a batch waits for quiet; 0 means defaults.MaxWait.
	MaxWait time.Duration
	// Recheck is the pace of the safety re-check of everything; 0 means
	// defaults.Recheck.
	Recheck time.Duration
	// SilentRecheck is its pace while a watched directory makes no events or
	// not all of them: it can't be read, or lies on a file system known to be
	// silent (NFS, SMB, FUSE, 9p, virtiofs and their like). 0 means 5 s.
	SilentRecheck time.Duration
	// Poll is the pace of re-checking everything while degraded, and the
	// first delay before trying to leave that state; 0 means 2 s.
	Poll time.Duration
	// Logger gets a line when the watcher becomes degraded or recovers. Nil
	// means none.
	Logger *slog.Logger
	// NewBackend makes the notifier, anew after each failure; nil means
	// System. It is here for failure injection.
	NewBackend func() (Backend, error)
}

// longestRetry bounds the delay before watches are tried again: a person who
// has raised a limit shouldn't wait longer.
const longestRetry = time.Minute

// WithDefaults returns the options with the defaults where a field is zero.
func (o Options) WithDefaults() Options {
	return defaults.Or(o, Options{
		Quiet: defaults.Quiet, MaxWait: defaults.MaxWait, Recheck: defaults.Recheck, SilentRecheck: 5 * time.Second,
		Poll: 2 * time.Second, Logger: slog.New(slog.DiscardHandler), NewBackend: System,
	})
}

// The modes of a State.
const (
	// ModeOff: Run hasn't begun or has ended.
	ModeOff = "off"
	// ModeNotify: every directory that exists is watched.
	ModeNotify = "notify"
	// ModeDegraded: there is no notifier, or not a watch for every directory.
	// What is watched is watched, and everything is polled.
	ModeDegraded = "degraded"
)

// State says how well the watching goes.
type State struct {
	Mode string
	// Dirs counts the directories that are watched.
	Dirs int
	// Silent says that a watched directory makes no events or not all of
	// them, so the safety re-check is quicker.
	Silent bool
	// Error says why the mode is degraded, and what to do about it.
	Error string
}

// State returns how well the watching goes, and a channel that is closed when
// this is no longer so.
func (w *Watcher) State() (State, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state, w.changed.Changed()
}

// setState returns the state before.
func (w *Watcher) setState(s State) State {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.state
	if s != before {
		w.state = s
		w.changed.Notify()
	}
	return before
}
