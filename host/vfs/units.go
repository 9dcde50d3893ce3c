package vfs

import (
	"bytes"
	"cmp"
	"io/fs"
	"slices"
	"strings"
	"syscall"
)

// Units is what a run leaves for the next one: its trace in parts, each unit's
// apart from the rest, with the units' values. It is immutable.
type Units struct {
	rest  []Dep
	list  []*unit // by key
	trace []Dep   // the whole; files may have been renewed since
}

// unit is a remembered unit. It is immutable.
type unit struct {
	key    string
	value  []byte
	deps   []Dep // without those of files
	files  []*unitFile
	looks  []unitLook
	denied []Denial
	used   Usage // what computing it costs, without the bytes of files
}

// unitFile is a file that units have read; several may share it.
type unitFile struct {
	dep Dep
	// data is what a node keeps of it, if kept is set: of what became a
	// resource's content.
	data []byte
	kept bool
}

// unitLook is an answer that a unit got.
type unitLook struct {
	key    lookKey
	path   string // link-free
	info   Info
	target string
	file   int // among the unit's files; -1 for none
	err    *Error
}

// NoUnits makes Units of a trace alone.
func NoUnits(trace []Dep) *Units { return &Units{rest: trace, trace: trace} }

// Len is the number of units.
func (u *Units) Len() int { return len(u.list) }

// Trace is the whole trace, as Run.Trace gave it.
func (u *Units) Trace() []Dep { return u.trace }

// joined puts the parts of the trace together.
func (u *Units) joined() []Dep {
	deps := slices.Clone(u.rest)
	for _, unit := range u.list {
		deps = append(deps, unit.deps...)
		for _, f := range unit.files {
			deps = append(deps, f.dep)
		}
	}
	return simplify(deps, walked(deps))
}

func (u *Units) find(key string) *unit {
	if u == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(u.list, key, func(u *unit, key string) int { return strings.Compare(u.key, key) })
	if !ok {
		return nil
	}
	return u.list[i]
}

// Units returns the run's units for the next run. Call it when everything has
// been asked. It waits for the hashes.
func (r *Run) Units() *Units {
	r.DropUnit()
	r.hashing.Wait()
	units := make([]*unit, 0, len(r.units.done))
	for i := range r.units.done {
		d := &r.units.done[i]
		u := d.adopted
		if u != nil {
			u = r.updated(u)
		} else {
			u = d.computed.build(i + 1)
		}
		if u != nil {
			units = append(units, u)
		}
	}
	// The last of one key, as everywhere where something is replaced.
	slices.Reverse(units)
	slices.SortStableFunc(units, func(a, b *unit) int { return strings.Compare(a.key, b.key) })
	units = slices.CompactFunc(units, func(a, b *unit) bool { return a.key == b.key })
	trace := r.Trace()
	return &Units{rest: without(trace, units), list: units, trace: trace}
}

// without leaves out of a trace what units depend on.
func without(trace []Dep, units []*unit) []Dep {
	covered := make([]bool, len(trace)) // a trace is in order
	cover := func(d *Dep) {
		i, ok := slices.BinarySearchFunc(trace, d, func(a Dep, b *Dep) int { return compareDeps(&a, b) })
		if ok && trace[i].ID == d.ID {
			covered[i] = true
		}
	}
	for _, u := range units {
		for i := range u.deps {
			cover(&u.deps[i])
		}
		for _, f := range u.files {
			cover(&f.dep)
		}
	}
	var rest []Dep
	for i := range trace {
		if !covered[i] {
			rest = append(rest, trace[i])
		}
	}
	return rest
}

// depKey is a dep in a form that can be compared.
type depKey struct {
	kind     DepKind
	path, as string
	errno    syscall.Errno
	typ      fs.FileMode
	size     int64
	target   string
	hash     string
	id       Identity
	unstable bool
}

func keyOf(d *Dep) depKey {
	return depKey{
		kind: d.Kind, path: d.Path, as: d.As, errno: d.Errno, typ: d.Type, size: d.Size, target: d.Target,
		hash: string(d.Hash), id: d.ID, unstable: d.Unstable,
	}
}

// build makes the unit that was computed, or nil when it can't hold. number
// tells the run's units apart.
func (d *newUnit) build(number int) *unit {
	if d.value == nil {
		return nil
	}
	u := &unit{key: d.key, value: d.value, denied: d.denied, used: d.used}
	for _, n := range d.opened {
		if n.slotOf == number {
			continue // it stood there before
		}
		f := n.asFile()
		if f == nil {
			return nil
		}
		n.slot, n.slotOf = len(u.files), number
		u.files = append(u.files, f)
	}
	u.deps = u.own(d.deps)
	u.looks = make([]unitLook, 0, len(d.looks))
	for key, l := range d.looks {
		k := unitLook{key: key, path: l.path, info: l.info, target: l.target, file: -1, err: l.err}
		if l.node != nil {
			k.file = l.node.slot // every node looked at is among those opened
		}
		u.looks = append(u.looks, k)
	}
	slices.SortFunc(u.looks, func(a, b unitLook) int {
		return cmp.Or(strings.Compare(a.key.path, b.key.path), strings.Compare(string(a.key.verb), string(b.key.verb)))
	})
	return u
}

// own simplifies the deps of a unit by what the unit itself has read.
func (u *unit) own(deps []Dep) []Dep {
	if len(deps) == 0 {
		return nil
	}
	all := slices.Clone(deps)
	for _, f := range u.files {
		all = append(all, f.dep)
	}
	all = simplify(all, walked(all))
	return slices.DeleteFunc(all, func(d Dep) bool { return d.readIt() })
}

// walked are the directories that checking deps goes through.
func walked(deps []Dep) map[string]struct{} {
	dirs := make(map[string]struct{})
	for i := range deps {
		switch d := &deps[i]; {
		case d.readIt():
			addDirs(dirs, d.Path)
		case d.listedIt():
			addDirs(dirs, d.Path)
			dirs[d.Path] = struct{}{}
		}
	}
	return dirs
}

// updated is an adopted unit as this run leaves it: with what has become the
// content of a resource since, or nil when a file has turned out not to hold.
func (r *Run) updated(u *unit) *unit {
	fresh := u
	for i, f := range u.files {
		n := r.nodes[f.dep.Path]
		if n == nil || n.file == f {
			if n != nil && n.unstable {
				return nil
			}
			continue
		}
		now := n.asFile()
		if f.kept || now == nil || !now.kept || !bytes.Equal(now.dep.Hash, f.dep.Hash) || now.dep.ID.Size != f.dep.ID.Size {
			continue
		}
		if fresh == u {
			fresh = u.with(u.deps, slices.Clone(u.files))
		}
		fresh.files[i] = now
	}
	return fresh
}

// with is the unit with other forms of its deps and files; itself when they
// are its own.
func (u *unit) with(deps []Dep, files []*unitFile) *unit {
	same := (len(deps) == 0 || &deps[0] == &u.deps[0]) && (len(files) == 0 || &files[0] == &u.files[0])
	if same {
		return u
	}
	next := *u
	next.deps, next.files = deps, files
	return &next
}

// asFile is the form in which units keep a node, or nil if it can't hold. The
// hashes must be there.
func (n *node) asFile() *unitFile {
	d := n.dep()
	if d.Unstable {
		return nil
	}
	if n.file == nil {
		n.file = &unitFile{dep: d, kept: n.used}
		if n.used {
			n.file.data = n.data
		}
	}
	return n.file
}
