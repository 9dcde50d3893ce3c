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

// watchSet gathers what must be watched so that no change of what was
// observed goes unnoticed: for each path the directory that holds its name,
// and all directories on the way to it, since each of them can be replaced.
type watchSet map[string]*watched // by absolute path

type watched struct {
	any   bool // any name matters: the directory was listed
	names map[string]bool
}

func (s watchSet) dir(path string) *watched {
	w := s[path]
	if w == nil {
		w = &watched{names: map[string]bool{}}
		s[path] = w
	}
	return w
}

// name watches one name in its directory.
func (s watchSet) name(absolute string) {
	if absolute != "/" {
		s.dir(filepath.Dir(absolute)).names[filepath.Base(absolute)] = true
	}
}

// listed watches the names that a resolver could see in a directory. Files
// that it can't see come and go without a notice.
func (s watchSet) listed(root *vfs.Root, f *vfs.Filter, d *vfs.Dep) {
	w := s.dir(filepath.Join(root.Path(), d.Path))
	names, all := root.Names(f, cmp.Or(d.As, d.Path))
	w.any = w.any || all
	for _, name := range names {
		w.names[name] = true
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
		for p := d.Path; !done[p]; p = path.Dir(p) {
			done[p] = true
			s.name(filepath.Join(root.Path(), p))
		}
	}
}

// dirs is the set as host/watch takes it, in order.
func (s watchSet) dirs() []watch.Dir {
	list := make([]watch.Dir, 0, len(s))
	for _, path := range slices.Sorted(maps.Keys(s)) {
		d := watch.Dir{Path: path}
		if w := s[path]; !w.any {
			d.Names = slices.AppendSeq([]string{}, maps.Keys(w.names)) // empty isn't nil, which means any
			slices.Sort(d.Names)
		}
		list = append(list, d)
	}
	return list
}

// watchOf is the watch set of a slot, given what its resolvers observed.
func watchOf(slot *rootSlot, outcomes []resolve.Outcome) []watch.Dir {
	set := watchSet{}
	for _, path := range slot.way {
		set.name(path)
	}
	if slot.open != nil {
		dir := slot.open.Path()
		set.name(dir)
		if file := slot.open.File(); file != "" {
			set.name(filepath.Join(dir, file))
		}
		for i := range outcomes {
			set.trace(slot.open, &outcomes[i])
		}
	}
	return set.dirs()
}
