// Package watch says which owners should look again, and never what they will see: events are
// hints.
//
// An owner asks for directories, and for names in each of them. The watcher watches the
// directory, never a file and never what is below it. It also watches every directory on the
// way to it. That is how it notices that a missing directory is created, step by step, and
// follows one that is renamed, replaced, deleted or created again. A kernel watch belongs to
// an inode; so whenever something happened on the way, the meaning of a path is compared by
// (device, inode). A link on the way counts as missing: paths are free of links, and owners
// have to deal with what has become a link.
//
// A directory that is only on the way to others, such as /tmp or a home directory, is watched
// for its entries alone. Where the system allows it (Linux), writes to the files in it cause
// no events.
//
// # Guarantees
//
//   - An event of a name that an owner asked for, while its directory is watched, is followed
//     by a [Batch] with this owner (or with All).
//   - When a watch or a name was actually added, one batch for its owners follows, because
//     something may have changed between their look and the watch. Setting the same set again
//     adds nothing, so this ends. Looking, reading and listing cause no events.
//   - What nobody asked for costs reading its event, and no batch.
//   - Lost events, a full watch table, a missing inotify and a broken notifier lead to more
//     looking, never to less: see [State].
//   - Batches that nobody waits for are merged, so memory is bounded by the sets.
//   - A batch is ready when all changes in it are complete. If the system reports that a file
//     is finished (Linux: its writer closed it, or it was renamed to its name), that is at
//     once. Otherwise, and for a file that is closed repeatedly, it is after a quiet period.
//
// # Concurrency
//
// All methods are safe for concurrent use, except that one goroutine may call Wait.
// [Watcher.Run] has two goroutines: one takes events from the notifier and makes batches of
// them; the other adds and removes watches. So a full event queue can't block the adding of
// watches, nor the other way around. A timer hands out batches that wait for quiet. Close
// ends all of them and waits.
//
// # Limits
//
// Some changes cause no event: writes through another hard link, those through a memory map
// while the file is open (forever, on systems other than Linux), a mount over a watched
// directory, and changes to a network file system by other machines. The safety recheck finds
// them. Names that appear and vanish in a directory on the way, such as /tmp, are read and
// dropped. A file system that doesn't answer blocks Run, and thus Close. If a file is written
// in steps and closed after each, owners may see the first step; they also see the last.
package watch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"waymark/internal/await"
	"waymark/internal/defaults"
)

// ErrClosed says that the Watcher is closed, or that its Run has ended.
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
	wake await.Wake // the keeper has something to do
	full await.Wake // ready isn't empty

	mu        sync.Mutex // guards everything below; no file I/O under it
	begun     bool       // Run has been called
	tree      tree
	busy      bool         // the keeper hasn't yet done what the tree asks for
	gathering pending      // waits until it is finished, or for quiet
	handed    time.Time    // when a batch was last ready
	timer     *time.Timer  // calls ring; nil before it is first needed
	alarm     time.Time    // when timer fires; zero if it is stopped
	ended     bool         // no more alarms
	ready     pending      // waits for Wait
	checking  bool         // a Batch with All was taken, and its receiver isn't back
	postponed bool         // the keeper's recheck waits for the end of checking
	resumed   bool         // checking has ended; read by the keeper
	state     State        // what State returns
	changed   await.Signal // state has changed
}

// New makes a Watcher; Run starts it.
func New(opts Options) *Watcher {
	opts = opts.WithDefaults()
	closing, closeNow := context.WithCancel(context.Background())
	return &Watcher{
		opts: opts, log: opts.Logger,
		closing: closing, close: closeNow,
		done:  make(chan struct{}),
		wake:  await.NewWake(),
		full:  await.NewWake(),
		tree:  newTree(),
		state: State{Mode: ModeOff},
	}
}

// Run watches until ctx is done or Close is called, and then returns nil. It can be called
// once; after Close it returns ErrClosed.
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

// Set replaces the set of an owner; without dirs it removes the owner. It doesn't block. An
// unchanged set in unchanged order costs only a comparison. The Watcher keeps no part of
// dirs.
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

// wakeLocked makes the keeper do what the tree asks for. The caller holds mu.
func (w *Watcher) wakeLocked() {
	w.busy = true
	w.wake.Set()
}

// Dir is one directory to watch.
type Dir struct {
	// Path is absolute, clean and free of links. It needn't exist.
	Path string
	// Names are the names in it that matter. Nil means any. Empty means only the directory
	// itself, besides Globs and Through.
	Names []string
	// Globs are patterns of more names, in doublestar's language for one name.
	Globs []string
	// Through are more names, which only lead to others: it matters if they are created,
	// removed or replaced, but not if they are written to. For these and for directories on
	// the way, the system isn't asked to report writes, where that can be chosen.
	Through []string
	// Directories says that creating or removing a directory in it matters, whatever the
	// name. If the system doesn't distinguish directories from files, all names matter.
	Directories bool
}

// Options configures a Watcher. The zero value works.
type Options struct {
	// Quiet is how long nothing may happen before a batch with incomplete changes is handed
	// out; 0 means defaults.Quiet. A batch that begins so soon after another one waits as
	// well.
	Quiet time.Duration
	// MaxWait is the longest that a batch waits for quiet; 0 means defaults.MaxWait.
	MaxWait time.Duration
	// Recheck is the interval of the safety recheck of everything; 0 means defaults.Recheck.
	Recheck time.Duration
	// SilentRecheck replaces Recheck while a watched directory doesn't report all changes: it
	// can't be read, or lies on a file system known to be silent (NFS, SMB, FUSE, 9p,
	// virtiofs and the like). 0 means 5 s.
	SilentRecheck time.Duration
	// Poll is the interval of checking everything while degraded, and the first delay before
	// trying to leave that state; 0 means 2 s.
	Poll time.Duration
	// Logger gets a line when the watcher becomes degraded or recovers; nil logs nothing.
	Logger *slog.Logger
	// NewBackend makes the notifier, again after each failure; nil means System. It is for
	// failure injection.
	NewBackend func() (Backend, error)
}

// longestRetry bounds the delay before adding watches is retried: a person who has raised a
// limit shouldn't wait longer.
const longestRetry = time.Minute

// WithDefaults returns the options, with defaults for zero fields.
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
	// ModeDegraded: there is no notifier, or not a watch for every directory. Existing
	// watches work, and everything is polled.
	ModeDegraded = "degraded"
)

// State is the state of the watching.
type State struct {
	Mode string
	// Dirs counts the directories that are watched.
	Dirs int
	// Silent says that a watched directory doesn't report all changes, so the safety recheck
	// is more frequent.
	Silent bool
	// Error says why the mode is degraded, and what to do about it.
	Error string
}

// State returns the current state, and a channel that is closed when it has changed.
func (w *Watcher) State() (State, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state, w.changed.Changed()
}

// setState returns the previous state.
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
