package vfs

import "slices"

// CheckUnits is Check for what a run left by Run.Units. It goes on after the
// first change, to tell which units still hold.
func (r *Root) CheckUnits(f *Filter, units *Units) Freshness {
	run := r.Begin(f, Limits{Entries: maxCheckEntries})
	defer run.Close()
	if run.closed {
		return Freshness{Changed: ".", Units: &Units{}}
	}
	c := unitChecker{run: run, deps: make(map[depKey]verdict), files: make(map[*unitFile]*unitFile, len(units.list))}
	holds := &Units{list: make([]*unit, 0, len(units.list))}
	rest := c.rest(units.rest) // first: it tells which directories are steady
	for _, u := range units.list {
		if now := c.unit(u); now != nil {
			holds.list = append(holds.list, now)
		}
	}
	if c.stale {
		return Freshness{Changed: c.changed, Units: holds}
	}
	holds.rest, holds.trace = rest, units.trace
	return Freshness{Fresh: true, Units: holds}
}

// unitChecker re-checks each dep once, however many units have it.
type unitChecker struct {
	run   *Run
	deps  map[depKey]verdict
	files map[*unitFile]*unitFile // as it is now; nil when it has changed
	// stale says that something has changed, changed what: the first path in
	// order.
	stale   bool
	changed string
}

// verdict is what recheck said of a dep.
type verdict struct {
	fresh   bool
	renewed *Dep
}

func (c *unitChecker) differs(path string) {
	if !c.stale || path < c.changed {
		c.stale, c.changed = true, path
	}
}

// unit returns the unit to keep from now on, or nil when it doesn't hold.
func (c *unitChecker) unit(u *unit) *unit {
	deps, files := u.deps, u.files
	for i := range u.deps {
		fresh, renewed := c.dep(&u.deps[i])
		if !fresh {
			c.differs(u.deps[i].Path)
			return nil
		}
		if renewed != nil {
			if &deps[0] == &u.deps[0] {
				deps = slices.Clone(deps)
			}
			deps[i] = *renewed
		}
	}
	for i, f := range u.files {
		renewed := c.file(f)
		if renewed == nil {
			c.differs(f.dep.Path)
			return nil
		}
		if renewed != f {
			if &files[0] == &u.files[0] {
				files = slices.Clone(files)
			}
			files[i] = renewed
		}
	}
	return u.with(deps, files)
}

// dep re-checks what isn't a file that was read.
func (c *unitChecker) dep(d *Dep) (fresh bool, renewed *Dep) {
	key := keyOf(d)
	v, ok := c.deps[key]
	if !ok {
		v.fresh, v.renewed = c.run.recheck(*d)
		c.deps[key] = v
	}
	return v.fresh, v.renewed
}

func (c *unitChecker) file(f *unitFile) *unitFile {
	if now, ok := c.files[f]; ok {
		return now
	}
	now := f
	switch fresh, renewed := c.run.reread(f.dep, f.data); {
	case !fresh:
		now = nil
	case renewed != nil:
		now = &unitFile{dep: *renewed, data: f.data, kept: f.kept}
	}
	c.files[f] = now
	return now
}

// rest re-checks what belongs to no unit. The first change will do: all of it
// is computed anew then.
func (c *unitChecker) rest(deps []Dep) []Dep {
	kept := deps
	for i, d := range deps {
		fresh, renewed := c.run.recheck(d)
		switch {
		case !fresh:
			c.differs(d.Path)
			return nil
		case renewed != nil:
			if &kept[0] == &deps[0] {
				kept = slices.Clone(deps)
			}
			kept[i] = *renewed
		case d.listedIt():
			c.run.keepSteady(d.Path)
		}
	}
	return kept
}
