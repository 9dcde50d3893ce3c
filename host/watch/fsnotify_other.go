//go:build !linux

package watch

import (
	"errors"
	"io"
	"strings"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// System returns the real Backend: the system's notifier through fsnotify.
func System() (Backend, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return &notifier{w: w}, nil
}

// notifier is a Backend over fsnotify. It doesn't report when a file is finished, and reports
// writes in every directory.
type notifier struct{ w *fsnotify.Watcher }

func (n *notifier) Add(path string, _ bool) error { return n.w.Add(path) }
func (n *notifier) Remove(path string) error      { return n.w.Remove(path) }
func (n *notifier) WatchList() []string           { return n.w.WatchList() }
func (n *notifier) Close() error                  { return n.w.Close() }

// Read implements Backend.
func (n *notifier) Read() ([]Event, error) {
	for {
		select {
		case ev, ok := <-n.w.Events:
			if !ok {
				return nil, io.EOF
			}
			return []Event{{Path: trimSlash(ev.Name), Op: opOf(ev.Op)}}, nil
		case err, ok := <-n.w.Errors:
			switch {
			case !ok:
				return nil, io.EOF
			case errors.Is(err, fsnotify.ErrEventOverflow):
				return nil, ErrOverflow
			case err == syscall.EINVAL: //nolint:errorlint // a wrapped one comes from reading
				// A directory was moved and then deleted, so the watch that fsnotify wants to
				// remove is already gone. Its event follows.
			default:
				return nil, err
			}
		}
	}
}

// trimSlash fixes the names that fsnotify reports for entries of "/".
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
