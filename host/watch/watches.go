package watch

import (
	"cmp"
	"context"
	"slices"

	"golang.org/x/sys/unix"
)

// watches are the existing directories and the watches on them. They belong to the keeper's
// goroutine.
type watches struct {
	w       *Watcher
	backend Backend // nil: there is none
	entries map[string]*entry
	byID    map[identity]string // the paths under which watches were added
	silent  map[uint64]bool     // whether the file system of a device is silent
	lost    []string            // the paths that a pass found to have another meaning
	failed  error               // the last failure to add, while one isn't resolved
}

// entry is a directory that exists.
type entry struct {
	id      identity
	by      coverage
	writes  bool // it is watched for writes, too
	silent  bool
	aliases []string // of a watched one: other paths of the same directory
}

// coverage says how an entry is watched.
type coverage uint8

const (
	watched    coverage = iota
	aliased             // under another path, as with a bind mount
	unreadable          // not: it is unreadable
	unwatched           // not: adding failed
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
		return // it ended with another
	}
	delete(k.entries, path)
	switch e.by {
	case watched:
		delete(k.byID, e.id)
		// It may have ended by itself; it can't fail in another way.
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

// add watches a directory and reports whether it now is. It sets full when there are no more
// watches; nothing more is then tried.
func (k *watches) add(f *inspected, full *bool) bool {
	e := &entry{id: f.id, by: unwatched, writes: f.writes, silent: k.isSilent(f.path, f.id)}
	k.entries[f.path] = e
	if *full {
		return false
	}
	if k.shares(f.path, e) {
		return true
	}
	err := k.backend.Add(f.path, f.writes)
	switch why := failureOf(err); {
	case err == nil:
		return k.added(f.path, e)
	case why == vanished:
		delete(k.entries, f.path)
		k.w.mark(f.path)
	case why == forbidden:
		e.by = unreadable
	default:
		*full = why == exhausted
		k.failed = addError(f.path, err)
	}
	return false
}

// added makes sure that the watch just added is on the inspected directory.
func (k *watches) added(path string, e *entry) bool {
	if id, here := identify(path); !here || id != e.id {
		delete(k.entries, path)
		_ = k.backend.Remove(path)
		k.w.mark(path)
		return false
	}
	e.by = watched
	k.byID[e.id] = path
	return true
}

// shares reports whether a directory is already watched under another path, as with a bind
// mount: an inode has only one watch. If that path has another meaning by now, or is watched
// for less, its watch is in the way and is ended.
func (k *watches) shares(path string, e *entry) bool {
	of, ok := k.byID[e.id]
	if !ok {
		return false
	}
	main := k.entries[of]
	id, here := identify(of)
	same := here && id == e.id
	if !same || e.writes && !main.writes {
		k.drop(of)
		if !same {
			k.lost = append(k.lost, of)
		}
		k.w.mark(of)
		return false
	}
	e.by = aliased
	main.aliases = append(main.aliases, path)
	k.w.alias(of, path)
	return true
}

// pass inspects what is dirty, ends the watches that no longer fit, and adds missing ones.
func (k *watches) pass(ctx context.Context) {
	dirs, grown, unneeded := k.w.takeDirty(k.entries)
	if k.backend == nil {
		return // everything is polled
	}
	for _, path := range unneeded {
		k.drop(path)
	}
	if len(unneeded) > 0 && k.failed != nil {
		k.retryUnwatched() // there may be room now
	}
	k.lost = k.lost[:0]
	missing := k.inspect(dirs)
	// What an owner needs comes before what is on the way to it, in case watches run out.
	slices.SortStableFunc(missing, func(a, b *inspected) int { return cmp.Compare(a.rank(), b.rank()) })
	var added []string
	full := false
	for _, f := range missing {
		if ctx.Err() != nil {
			return
		}
		if k.add(f, &full) {
			added = append(added, f.path)
		}
	}
	k.w.gatherChanged(k.lost, added, grown)
}

// inspected is what a dirty directory turned out to be.
type inspected struct {
	dirtyDir
	id        identity
	here      bool // it is a directory
	essential bool // an owner needs it, and not only to learn of renames
}

func (f *inspected) rank() int {
	if f.essential {
		return 0
	}
	return 1
}

// inspect compares dirty directories with their entries, and returns the directories without
// a watch.
func (k *watches) inspect(dirs []dirtyDir) (missing []*inspected) {
	found := make(map[string]*inspected, len(dirs))
	for _, p := range dirs {
		f := &inspected{dirtyDir: p, essential: p.target}
		dir, _ := split(p.path)
		up := found[dir] // nil of "/", too
		found[p.path] = f
		if p.path == "/" || up != nil && up.here || up == nil && k.entries[dir] != nil {
			f.id, f.here = identify(p.path)
		}
		if !f.here && up != nil {
			up.essential = true
		}
		e := k.entries[p.path]
		if e != nil && (!f.here || e.id != f.id || p.lost || e.writes != f.writes) {
			k.drop(p.path)
			if !f.here || e.id != f.id {
				k.lost = append(k.lost, p.path)
			}
			e = nil
		}
		if f.here && (e == nil || e.by == unreadable || e.by == unwatched) {
			missing = append(missing, f)
		}
	}
	return missing
}

// retryUnwatched makes the next pass retry what couldn't be added.
func (k *watches) retryUnwatched() {
	for path, e := range k.entries {
		if e.by == unwatched {
			k.w.mark(path)
		}
	}
}

// revise forgets the watches that ended without an event, as on an unmount.
func (k *watches) revise() {
	clear(k.silent) // a device number may be reused
	list := k.backend.WatchList()
	still := make(map[string]struct{}, len(list))
	for _, path := range list {
		still[path] = struct{}{}
	}
	for path, e := range k.entries {
		if _, ok := still[path]; !ok && e.by == watched {
			k.drop(path)
			k.w.mark(path)
		}
	}
}

// survey counts the watches, and clears a failure that is resolved.
func (k *watches) survey() State {
	var s State
	unmended := false
	for path, e := range k.entries {
		switch e.by {
		case watched, aliased:
			s.Dirs++
			s.Silent = s.Silent || e.silent
		case unreadable:
			s.Silent = s.Silent || k.w.needs(path, k.entries)
		case unwatched:
			unmended = true
		}
	}
	if !unmended {
		k.failed = nil
	}
	return s
}

// isSilent reports whether the file system of a directory causes no events for changes by
// others. It is asked once per device.
func (k *watches) isSilent(path string, id identity) bool {
	if silent, ok := k.silent[id.dev]; ok {
		return silent
	}
	var st unix.Statfs_t
	silent := unix.Statfs(path, &st) == nil && silentFS(&st)
	k.silent[id.dev] = silent
	return silent
}

// identity says which directory a path leads to.
type identity struct{ dev, ino uint64 }

// identify finds out which directory a path leads to. Anything but an accessible directory,
// including a link to one, isn't here.
func identify(path string) (id identity, here bool) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	for err == unix.EINTR {
		err = unix.Lstat(path, &st)
	}
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return identity{}, false
	}
	return identity{dev: uint64(st.Dev), ino: st.Ino}, true //nolint:unconvert // dev is an int32 on darwin, and only compared
}
