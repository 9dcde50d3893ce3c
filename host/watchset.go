package host

import (
	"cmp"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"waymark/host/resolve"
	"waymark/host/vfs"
	"waymark/host/watch"
)

// watchSet is what must be watched so that no change of an observed path goes unnoticed. For
// each path it holds the directory with its name, and all directories on the way to it,
// because each of them can be replaced.
type watchSet map[string]*watched // by absolute path

type watched struct {
	any   bool            // any name matters, because the directory was listed
	dirs  bool            // directories of any name matter when they are created or removed
	names map[string]bool // the value says whether writes to the name matter, too
	globs map[string]bool // patterns of names
}

func (s watchSet) dir(path string) *watched {
	w := s[path]
	if w == nil {
		w = &watched{names: map[string]bool{}, globs: map[string]bool{}}
		s[path] = w
	}
	return w
}

// name watches one name in its directory, including writes to it if writes is set.
func (s watchSet) name(absolute string, writes bool) {
	if absolute == "/" {
		return
	}
	names, name := s.dir(filepath.Dir(absolute)).names, filepath.Base(absolute)
	names[name] = names[name] || writes
}

// listed watches the names that a resolver could see in a directory. Changes to other files
// cause no event.
func (s watchSet) listed(root *vfs.Root, f *vfs.Filter, d *vfs.Dep) {
	w := s.dir(filepath.Join(root.Path(), d.Path))
	names, globs, all := root.Names(f, cmp.Or(d.As, d.Path))
	w.any = w.any || all
	for _, name := range names {
		w.names[name] = true
	}
	for _, glob := range globs {
		w.globs[glob] = true
	}
}

// trace watches what a trace depends on in a root.
func (s watchSet) trace(root *vfs.Root, o *resolve.Outcome) {
	done := map[string]bool{".": true}
	for i := range o.Trace {
		d := &o.Trace[i]
		if d.Kind == vfs.DepListed {
			s.listed(root, o.Filter, d)
		}
		if d.Kind != vfs.DepListed && d.Kind != vfs.DepLink && d.Path != "." {
			s.name(filepath.Join(root.Path(), d.Path), true)
		}
		for p := d.Path; !done[p]; p = path.Dir(p) {
			done[p] = true
			s.name(filepath.Join(root.Path(), p), false)
		}
	}
}

// projects watches which directories there are in a root, and whether the given ones have a
// .git.
func (s watchSet) projects(root string, looked []string) {
	s.dir(root).dirs = true
	for _, name := range looked {
		s.name(filepath.Join(root, name), false)
		s.name(filepath.Join(root, name, ".git"), false)
	}
}

// dirs returns the set in the form of host/watch, in order.
func (s watchSet) dirs() []watch.Dir {
	list := make([]watch.Dir, 0, len(s))
	for _, path := range slices.Sorted(maps.Keys(s)) {
		list = append(list, s[path].dir(path))
	}
	return list
}

func (w *watched) dir(path string) watch.Dir {
	d := watch.Dir{Path: path}
	if w.any {
		return d
	}
	d.Names = []string{} // not nil, which would mean any name
	for _, name := range slices.Sorted(maps.Keys(w.names)) {
		if w.names[name] {
			d.Names = append(d.Names, name)
		} else {
			d.Through = append(d.Through, name)
		}
	}
	d.Globs, d.Directories = slices.Sorted(maps.Keys(w.globs)), w.dirs
	return d
}

// watch makes the watcher follow a slot by what its resolvers observed last.
func (s *rootSlot) watch(by *watch.Watcher) {
	now := watchedRoot{by: by, open: s.open, way: s.way, looked: s.children.looked, indexes: s.nested.watched(), blank: s.blank.trace, installed: s.installs.trace, shapes: make([]*resolve.Shape, len(s.outcomes))}
	for i := range s.outcomes {
		now.shapes[i] = s.outcomes[i].Shape
	}
	if s.watched.same(&now) {
		return
	}
	by.Set(s.owner, watchOf(s, s.outcomes))
	s.watched = now
}

// watchOf returns the watch set of a slot, given what its resolvers observed.
func watchOf(slot *rootSlot, outcomes []resolve.Outcome) []watch.Dir {
	set := watchSet{}
	for _, path := range slot.way {
		set.name(path, false)
	}
	if slot.open != nil {
		dir := slot.open.Path()
		set.name(dir, false)
		if file := slot.open.File(); file != "" {
			set.name(filepath.Join(dir, file), true)
		}
		for i := range outcomes {
			set.trace(slot.open, &outcomes[i])
		}
		if slot.blank.filter != nil {
			set.trace(slot.open, &resolve.Outcome{Filter: slot.blank.filter, Trace: slot.blank.trace})
		}
		if filter, err := installedFilter(); err == nil && len(slot.installs.trace) > 0 {
			set.trace(slot.open, &resolve.Outcome{Filter: filter, Trace: slot.installs.trace})
		}
		if slot.children.known {
			set.projects(dir, slot.children.looked)
		}
		for _, index := range slot.nested.watched() {
			set.name(filepath.Dir(index), false)
			set.name(index, true)
		}
	}
	return set.dirs()
}
