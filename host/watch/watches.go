package watch

import "slices"

// watches are the directories that exist, with the watches on them. All of it
// belongs to the keeper's goroutine.
type watches struct {
	w       *Watcher
	backend Backend // nil: there is none
	entries map[string]*entry
	byID    map[identity]string // the paths that watches were added under
	silent  map[uint64]bool     // whether the file system of a device is silent
	lost    []string            // the paths that a pass found to mean something else than before
	failed  error               // the last failure to add, as long as one is unmended
}

// entry is a directory that exists.
type entry struct {
	id      identity
	how     how
	silent  bool
	aliases []string // of a watched one: the paths of the same directory
}

// how says how an entry is watched.
type how uint8

const (
	watched    how = iota
	aliased        // under another path, as by a bind mount
	unreadable     // not: it may not be read
	unwatched      // not: adding failed
)

func newWatches(w *Watcher) watches {
	return watches{
		w: w, entries: map[string]*entry{}, byID: map[identity]string{}, silent: map[uint64]bool{},
	}
}

// reset forgets all watches.
func (k *watches) reset() {
	for path, e := range k.entries {
		for _, alias := range e.aliases {
			k.w.unalias(path, alias)
		}
	}
	clear(k.entries)
	clear(k.byID)
	k.failed = nil
}

// drop ends the watch of a path, if it has one.
func (k *watches) drop(path string) {
	e := k.entries[path]
	if e == nil {
		return // it went with another
	}
	delete(k.entries, path)
	switch e.how {
	case watched:
		delete(k.byID, e.id)
		// It may have ended by itself; there is no other way to fail.
		_ = k.backend.Remove(path)
	case aliased:
		of := k.byID[e.id]
		k.entries[of].aliases = slices.DeleteFunc(k.entries[of].aliases, func(p string) bool { return p == path })
		k.w.unalias(of, path)
	case unreadable, unwatched:
	}
	for _, alias := range e.aliases { // they need a watch of their own
		delete(k.entries, alias)
		k.w.unalias(path, alias)
		k.w.mark(alias)
	}
}

// add watches a directory and reports whether it now is. full says, and is
// told, that there are no more watches, so that trying is of no use.
func (k *watches) add(f *finding, full *bool) bool {
	e := &entry{id: f.id, how: unwatched, silent: k.isSilent(f.path, f.id)}
	k.entries[f.path] = e
	if *full {
		return false
	}
	if k.shares(f.path, e) {
		return true
	}
	err := k.backend.Add(f.path)
	switch kind := kindOf(err); {
	case err == nil:
		return k.added(f.path, e)
	case kind == vanished:
		delete(k.entries, f.path)
		k.w.mark(f.path)
	case kind == forbidden:
		e.how = unreadable
	default:
		*full = kind == exhausted
		k.failed = addError(f.path, err)
	}
	return false
}

// added makes sure that the watch just added is on the directory that was
// looked at.
func (k *watches) added(path string, e *entry) bool {
	if id, here := identify(path); !here || id != e.id {
		delete(k.entries, path)
		_ = k.backend.Remove(path)
		k.w.mark(path)
		return false
	}
	e.how = watched
	k.byID[e.id] = path
	return true
}

// shares reports whether a directory is watched already under another path
// that means the same, as by a bind mount: there is one watch to an inode. If
// that path means something else by now, its watch is in the way and ends.
func (k *watches) shares(path string, e *entry) bool {
	of, ok := k.byID[e.id]
	if !ok {
		return false
	}
	if id, here := identify(of); !here || id != e.id {
		k.drop(of)
		k.lost = append(k.lost, of)
		k.w.mark(of)
		return false
	}
	e.how = aliased
	k.entries[of].aliases = append(k.entries[of].aliases, path)
	k.w.alias(of, path)
	return true
}
