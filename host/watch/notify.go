package watch

import (
	"errors"
	"io"
	"strings"
	"syscall"

	"github.com/fsnotify/fsnotify"
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
			return Event{Path: unslash(ev.Name), Op: opOf(ev.Op)}, nil
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

// unslash mends the names that fsnotify makes of what is in "/".
func unslash(path string) string {
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
