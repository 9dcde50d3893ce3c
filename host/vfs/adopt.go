package vfs

import (
	"bytes"
	"iter"
	"strings"
)

// adopt makes a unit of an earlier run part of this one: as if it had been
// computed just when it was re-checked. It fails when the run has meanwhile
// seen something else of one of its files.
func (r *Run) adopt(u *unit) bool {
	for _, f := range u.files {
		if !r.agrees(f) {
			return false
		}
	}
	r.used.Opens += u.used.Opens
	if !r.within(r.used.Opens <= r.limits.Opens, "opens", int64(r.limits.Opens)) ||
		!r.chargeEntries(u.used.Entries) || !r.chargeBytes(u.used.ReadBytes) {
		return false
	}
	for _, f := range u.files {
		if !r.take(f) {
			return false
		}
	}
	for i := range u.deps {
		if d := &u.deps[i]; d.listedIt() {
			r.sawDir(d.Path)
		}
	}
	for i := range u.looks {
		r.takeLook(u, &u.looks[i])
	}
	for _, d := range u.denied {
		r.denied = appendDenial(r.denied, d)
	}
	r.units.done = append(r.units.done, doneUnit{adopted: u})
	return true
}

// agrees reports whether a file is what the run has seen of it, if anything.
func (r *Run) agrees(f *unitFile) bool {
	n := r.nodes[f.dep.Path]
	switch {
	case n == nil:
		return !f.kept || int64(len(f.data)) == min(f.dep.ID.Size, r.limits.KeepBytes)
	case n.file == f:
		return !n.unstable
	case n.unstable || n.failed.errno != 0 || n.id.Size != f.dep.ID.Size:
		return false
	case n.whole && f.dep.Hash != nil:
		r.hashing.Wait()
		return bytes.Equal(n.sum[:], f.dep.Hash)
	}
	return n.id == f.dep.ID && !n.young && !f.dep.Young
}

// take makes a file one that the run has read. Its bytes are charged as if it
// had been.
func (r *Run) take(f *unitFile) bool {
	path := f.dep.Path
	if r.nodes[path] != nil || r.units.charged[path] {
		return true
	}
	size := min(f.dep.ID.Size, r.limits.KeepBytes)
	r.loaded += size
	if !r.chargeBytes(size) {
		return false
	}
	r.sawDirs(path)
	if !f.kept {
		if r.units.charged == nil {
			r.units.charged = make(map[string]bool)
		}
		r.units.charged[path] = true
		return true
	}
	n := &node{path: path, id: f.dep.ID, young: f.dep.Young, data: f.data, file: f}
	if f.dep.Hash != nil {
		n.whole = true
		copy(n.sum[:], f.dep.Hash)
	}
	r.nodes[path] = n
	return true
}

// takeLook remembers an answer that a unit got.
func (r *Run) takeLook(u *unit, k *unitLook) {
	l := &look{asked: k.key.path, path: k.path, info: k.info, target: k.target, err: k.err}
	if len(l.asked) > 1 { // all but "."
		l.asked = strings.TrimSuffix(l.asked, "/")
	}
	if k.file >= 0 {
		l.node = r.nodes[u.files[k.file].dep.Path]
		l.unread = l.node == nil
	}
	r.know(k.key, l)
}

// observed gives the deps of the run and of its units, as far as they aren't
// those of nodes.
func (r *Run) observed() iter.Seq[*Dep] {
	return func(yield func(*Dep) bool) {
		more := eachDep(r.deps, yield)
		if u := r.units.open; u != nil {
			more = more && eachDep(u.outer.deps, yield)
		}
		for i := 0; i < len(r.units.done) && more; i++ {
			u := r.units.done[i].adopted
			if u == nil {
				more = eachDep(r.units.done[i].computed.deps, yield)
				continue
			}
			more = eachDep(u.deps, yield)
			for k := 0; k < len(u.files) && more; k++ {
				more = yield(&u.files[k].dep)
			}
		}
	}
}

func eachDep(deps []Dep, yield func(*Dep) bool) bool {
	for i := range deps {
		if !yield(&deps[i]) {
			return false
		}
	}
	return true
}
