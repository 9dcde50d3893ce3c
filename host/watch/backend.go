package watch

import (
	"errors"
	"io"
	"strings"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// Backend is the notifier of the operating system, or a stand-in for it. One
// goroutine calls Read, another the rest, Close included, which ends Read.
// After Read has returned an error other than ErrOverflow, only Close is
// called.
type Backend interface {
	// Add watches a directory. Its errors are distinguished by errno: a
	// directory that is gone or that can't be read is no trouble, all else
	// is.
	Add(path string) error
	// Remove ends a watch. Whether there was one doesn't matter.
	Remove(path string) error
	// WatchList lists the paths of the watches that there still are.
	WatchList() []string
	// Read returns the next event. ErrOverflow, also wrapped, says that some
	// were lost.
	Read() (Event, error)
	Close() error
}

// ErrOverflow says that the system's queue was full and events were lost.
var ErrOverflow = errors.New("file events were lost")

// Event says that something happened to the directory entry at Path.
type Event struct {
	Path string
	Op   Op
}

// Op is a set of operations.
type Op uint8

// The operations. A rename is OpRename of the old path and OpCreate of the
// new one.
const (
	OpCreate Op = 1 << iota
	OpWrite
	OpRemove
	OpRename
	OpChmod
)

// FSNotify is the real Backend: inotify, or what the system has instead.
func FSNotify() (Backend, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return &notifier{w: w}, nil
}

// notifier is a Backend over fsnotify.
type notifier struct{ w *fsnotify.Watcher }

func (n *notifier) Add(path string) error    { return n.w.Add(path) }
func (n *notifier) Remove(path string) error { return n.w.Remove(path) }
func (n *notifier) WatchList() []string      { return n.w.WatchList() }
func (n *notifier) Close() error             { return n.w.Close() }

// Read implements Backend.
func (n *notifier) Read() (Event, error) {
	for {
		select {
		case ev, ok := <-n.w.Events:
			if !ok {
				return Event{}, io.EOF
			}
			return Event{Path: trimSlash(ev.Name), Op: opOf(ev.Op)}, nil
		case err, ok := <-n.w.Errors:
			switch {
			case !ok:
				return Event{}, io.EOF
			case errors.Is(err, fsnotify.ErrEventOverflow):
				return Event{}, ErrOverflow
			case err == syscall.EINVAL: //nolint:errorlint // a wrapped one comes from reading
				// A directory was moved and then deleted, so the watch that
				// fsnotify wants to remove is already gone. Its event comes.
			default:
				return Event{}, err
			}
		}
	}
}

// trimSlash mends the names that fsnotify makes of what is in "/".
func trimSlash(path string) string {
	if strings.HasPrefix(path, "//") {
		return path[1:]
	}
	return path
}

func opOf(op fsnotify.Op) Op {
	var o Op
	for _, p := range [...]struct {
		theirs fsnotify.Op
		ours   Op
	}{
		{fsnotify.Create, OpCreate},
		{fsnotify.Write, OpWrite},
		{fsnotify.Remove, OpRemove},
		{fsnotify.Rename, OpRename},
		{fsnotify.Chmod, OpChmod},
	} {
		if op.Has(p.theirs) {
			o |= p.ours
		}
	}
	return o
}
