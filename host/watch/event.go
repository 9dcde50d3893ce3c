package watch

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// drain takes events from a backend until it fails. It never waits for watches to be added.
func (w *Watcher) drain(b Backend) error {
	for {
		list, err := b.Read()
		switch {
		case err == nil:
			w.events(list)
		case errors.Is(err, ErrOverflow):
			w.overflow()
		default:
			return err
		}
	}
}

// events finds the owners that events concern.
func (w *Watcher) events(list []Event) {
	w.mu.Lock()
	defer w.unlock()
	for _, ev := range list {
		w.eventLocked(ev)
	}
}

// overflow makes everything be checked. The lost events may have ended watches, so each watch
// is made anew.
func (w *Watcher) overflow() {
	w.mu.Lock()
	defer w.unlock()
	w.gatherAllLocked(ReasonOverflow)
	w.tree.markAll(true)
	w.wakeLocked()
}

// eventLocked finds the owners that an event concerns. The caller holds mu.
func (w *Watcher) eventLocked(ev Event) {
	dir, name := split(ev.Path)
	w.entered(dir, name, ev)
	w.moved(ev.Path, ev.Op)
	if len(w.tree.aliases) == 0 {
		return
	}
	for _, alias := range w.tree.aliases[dir] {
		w.entered(alias, name, ev)
		w.moved(filepath.Join(alias, name), ev.Op)
	}
	for _, alias := range w.tree.aliases[ev.Path] {
		w.moved(alias, ev.Op)
	}
}

// split splits a path into its directory and the name in it.
func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 {
		return "/", path[i+1:]
	}
	return path[:i], path[i+1:]
}

// entered gathers the owners that asked for a name in a directory. The caller holds mu.
func (w *Watcher) entered(dir, name string, ev Event) {
	const comesOrGoes = OpCreate | OpRemove | OpRename
	n := w.tree.nodes[dir]
	if n == nil {
		return
	}
	op, named, dirs := ev.Op, n.names[name], n.dirs
	if ev.File || op&comesOrGoes == 0 {
		dirs = nil
	}
	if len(named) == 0 && len(n.any) == 0 && len(n.globs) == 0 && len(dirs) == 0 {
		return
	}
	path := filepath.Join(dir, name)
	for _, o := range dirs {
		w.gatherEventLocked(o, path, op, len(named) > 0)
	}
	for _, o := range n.any {
		w.gatherEventLocked(o, path, op, len(named) > 0)
	}
	for glob, owners := range n.globs {
		if !doublestar.MatchUnvalidated(glob, name) {
			continue
		}
		for _, o := range owners {
			w.gatherEventLocked(o, path, op, len(named) > 0)
		}
	}
	for _, o := range named {
		w.gatherEventLocked(o, path, op, true)
	}
}

// moved gathers the owners that asked for a directory or something below it, when the
// directory itself has changed. The caller holds mu.
func (w *Watcher) moved(path string, op Op) {
	const itself = OpCreate | OpRemove | OpRename
	n := w.tree.nodes[path]
	if n == nil || op&(itself|OpChmod) == 0 {
		return
	}
	n.below(func(o *subscription) { w.gatherEventLocked(o, path, op, true) })
	// A directory that is deleted and created again may get the same inode number, but not
	// the same watch.
	w.tree.mark(n, op&itself != 0)
	w.wakeLocked()
}
