package watch

import (
	"errors"
	"path/filepath"
	"strings"
)

// drain takes events from a backend until it fails. It calls nothing that
// waits for the adding of watches.
func (w *Watcher) drain(b Backend) error {
	for {
		ev, err := b.Read()
		switch {
		case err == nil:
			w.event(ev)
		case errors.Is(err, ErrOverflow):
			w.overflow()
		default:
			return err
		}
	}
}

// overflow has everything looked at. Among the lost events may be those that
// watches have gone, so each watch is made anew.
func (w *Watcher) overflow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gatherAllLocked(ReasonOverflow)
	w.tree.markAll(true)
	w.wakeLocked()
}

// event finds out whom an event concerns.
func (w *Watcher) event(ev Event) {
	dir, name := split(ev.Path)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entered(dir, name)
	w.moved(ev.Path, ev.Op)
	if len(w.tree.aliases) == 0 {
		return
	}
	for _, alias := range w.tree.aliases[dir] {
		w.entered(alias, name)
		w.moved(filepath.Join(alias, name), ev.Op)
	}
	for _, alias := range w.tree.aliases[ev.Path] {
		w.moved(alias, ev.Op)
	}
}

// split parts a path into its directory and the name in it.
func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 {
		return "/", path[i+1:]
	}
	return path[:i], path[i+1:]
}

// entered gathers those who asked for a name in a directory. The caller holds
// mu.
func (w *Watcher) entered(dir, name string) {
	n := w.tree.nodes[dir]
	if n == nil {
		return
	}
	for _, o := range n.any {
		w.gatherLocked(o, ReasonEvents)
	}
	for _, o := range n.names[name] {
		w.gatherLocked(o, ReasonEvents)
	}
}

// moved gathers those who asked for a directory or what is below, when the
// directory itself isn't what it was. The caller holds mu.
func (w *Watcher) moved(path string, op Op) {
	const itself = OpCreate | OpRemove | OpRename
	n := w.tree.nodes[path]
	if n == nil || op&(itself|OpChmod) == 0 {
		return
	}
	n.below(func(o *subscription) { w.gatherLocked(o, ReasonEvents) })
	// Whoever deletes and makes a directory again may get the same inode
	// number, but not the same watch.
	w.tree.mark(n, op&itself != 0)
	w.wakeLocked()
}
