package watch

import "slices"

// What the keeper asks and tells under the lock.

// markAll has everything looked at in the next pass.
func (w *Watcher) markAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tree.markAll(false)
	w.busy = true
}

// mark has one path looked at in the next pass.
func (w *Watcher) mark(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tree.markPath(path, true)
}

// takeDirty returns what has to be looked at, who asked for more, and which of
// the watched paths nobody needs any more.
func (w *Watcher) takeDirty(watched map[string]*entry) (places []place, grown map[*owned]struct{}, unneeded []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tree.pruned {
		w.tree.pruned = false
		for path := range watched {
			if w.tree.nodes[path] == nil {
				unneeded = append(unneeded, path)
			}
		}
	}
	if len(w.tree.grown) > 0 {
		grown = w.tree.grown
		w.tree.grown = map[*owned]struct{}{}
	}
	return w.tree.takeDirty(), grown, unneeded
}

// tell gathers the owners of what a pass lost and added, and of what grew.
// What was added is looked at once more, now that a change makes an event.
func (w *Watcher) tell(lost, added []string, grown map[*owned]struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, path := range lost {
		w.gatherBelow(path, ReasonEvents)
	}
	for _, path := range added {
		w.gatherBelow(path, ReasonAdded)
		w.tree.markPath(path, false)
	}
	for o := range grown {
		if w.tree.owners[o.name] == o { // it may have gone meanwhile
			w.gather(o, ReasonAdded)
		}
	}
}

func (w *Watcher) gatherBelow(path, reason string) {
	if n := w.tree.nodes[path]; n != nil {
		n.below(func(o *owned) { w.gather(o, reason) })
	}
}

// all gathers everybody.
func (w *Watcher) all(reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gatherAll(reason)
}

// alias makes the events of one path those of another, too.
func (w *Watcher) alias(of, path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tree.aliases[of] = append(w.tree.aliases[of], path)
}

// unalias ends what alias began.
func (w *Watcher) unalias(of, path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := slices.DeleteFunc(w.tree.aliases[of], func(p string) bool { return p == path })
	if len(rest) == 0 {
		delete(w.tree.aliases, of)
		return
	}
	w.tree.aliases[of] = rest
}

// needs reports whether an owner needs to learn what happens in a directory:
// it asked for it, or something in it doesn't exist yet.
func (w *Watcher) needs(path string, entries map[string]*entry) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.tree.nodes[path]
	if n == nil {
		return false
	}
	for c := range n.children {
		if entries[c.path] == nil {
			return true
		}
	}
	return len(n.wants) > 0
}

// unfinished reports whether another pass is needed.
func (w *Watcher) unfinished() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tree.asks()
}

// idle notes that a round has ended. One that gave up isn't waited for.
func (w *Watcher) idle(gaveUp bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy = !gaveUp && w.tree.asks() // by an event of the last moment
	signal(w.poke)
}

// postpone reports whether somebody is still looking at everything, so that a
// tick has to wait.
func (w *Watcher) postpone() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.owed = w.checking
	return w.checking
}

// isBack reports whether a postponed tick may be timed again.
func (w *Watcher) isBack() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	back := w.resumed
	w.resumed = false
	return back
}
