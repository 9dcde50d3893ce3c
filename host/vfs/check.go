package vfs

import (
	"bytes"
	"io/fs"
	"math"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
)

// Freshness is the outcome of a check.
type Freshness struct {
	// Fresh says that a new run would get the answers recorded in the trace.
	Fresh bool
	// Changed is the first path that differs, if not Fresh.
	Changed string
	// Deps, if Fresh, is the trace to keep from now on: files and directories that had to be
	// compared have their new identity. It is the given slice if nothing needs to be renewed.
	// Check sets it.
	Deps []Dep
	// Units are the units to keep from now on if Fresh; otherwise those that still hold and
	// may be given to Run.Recall. CheckUnits sets it.
	Units *Units
	// Rewritten, if Fresh, lists files whose content changed only where no guest has looked.
	// A new run would get the same requests and answers, but what the host makes of the files
	// differs. Units has their new content. CheckUnits sets it.
	Rewritten []Rewritten
}

// Rewritten is a file whose content has changed; see Freshness.
type Rewritten struct {
	Path   string // relative to the root and free of links
	Before []byte // the SHA-256 of the previous content
}

// maxCheckEntries bounds what a check lists, in case a directory has grown beyond what any
// run would list.
const maxCheckEntries = 1_000_000

// Check reports whether a trace still holds. f must be the filter of the run. A file or
// directory costs one stat if its identity is unchanged and it was older than 2 s when it was
// read or listed. Otherwise its content is compared.
func (r *Root) Check(f *Filter, deps []Dep) Freshness {
	run := r.Begin(f, Limits{Entries: maxCheckEntries})
	defer run.Close()
	if run.closed {
		return Freshness{Changed: "."}
	}
	renewed := deps
	for i, d := range deps {
		fresh, now := run.recheck(d)
		if !fresh {
			return Freshness{Changed: d.Path}
		}
		if now != nil {
			if &renewed[0] == &deps[0] {
				renewed = slices.Clone(deps)
			}
			renewed[i] = *now
		}
	}
	return Freshness{Fresh: true, Deps: renewed}
}

// keepSteady records a directory whose identity is unchanged since it was listed: none of its
// entries has been replaced since then. An entry that was seen to be a directory, then or later,
// is therefore still the same directory.
func (r *Run) keepSteady(path string) {
	if r.steady == nil {
		r.steady = make(map[string]bool)
	}
	r.steady[path] = true
}

// statAgain is Stat for a path whose identity is known. It saves opening the last directory.
// If a link replaced that directory between the two calls, the second would describe another
// file, which has another identity.
func (r *Run) statAgain(path string, st *unix.Stat_t) syscall.Errno {
	dir, _ := beneath.Split(path)
	if dir == "." || r.walker.Keeps(dir) {
		_, errno := r.walker.Stat(path, st)
		return errno
	}
	above, _ := beneath.Split(dir)
	fd, _, errno := r.walker.Dir(above)
	if errno != 0 {
		return errno
	}
	start := 0
	if above != "." {
		start = len(above) + 1
	}
	if !r.steady[above] {
		if errno := beneath.StatAt(fd, path[start:len(dir)], st); errno != 0 {
			return errno
		}
		if beneath.TypeOf(st) != fs.ModeDir {
			return unix.ENOTDIR
		}
	}
	return beneath.StatAt(fd, path[start:], st)
}

// recheck reports whether an observation would be made again. If renewed isn't nil, it
// replaces d.
func (r *Run) recheck(d Dep) (fresh bool, renewed *Dep) {
	if d.Unstable {
		return false, nil
	}
	switch d.Kind {
	case DepMissing:
		var st unix.Stat_t
		_, errno := r.walker.Stat(d.Path, &st)
		return errno == unix.ENOENT, nil
	case DepStat:
		var st unix.Stat_t
		_, errno := r.walker.Stat(d.Path, &st)
		return errno == d.Errno && (errno != 0 || beneath.TypeOf(&st) == d.Type && (d.Size < 0 || d.Size == st.Size)), nil
	case DepLink:
		target, _, errno := r.walker.Readlink(d.Path)
		return errno == 0 && target == d.Target, nil
	case DepListed:
		return r.relist(d)
	case DepRead:
		return r.reread(d, nil)
	}
	return false, nil // written by a newer version
}

// relist reports whether a directory would be listed as before. If its times are unchanged,
// so are the names and types in it.
func (r *Run) relist(d Dep) (fresh bool, renewed *Dep) {
	if d.Errno == 0 && !d.Young && d.ID != (Identity{}) {
		var st unix.Stat_t
		if _, errno := r.walker.Stat(d.Path, &st); errno == 0 && beneath.TypeOf(&st) == fs.ModeDir && identityOf(&st) == d.ID {
			return true, nil
		}
	}
	a := &answer{asked: d.Path, path: d.Path}
	if d.As != "" {
		a.asked = d.As
	}
	list := r.list(a)
	if r.over != nil || list.failed.errno != d.Errno || d.Errno == 0 && !bytes.Equal(list.hash(), d.Hash) {
		return false, nil
	}
	if d.Errno == 0 {
		d.ID, d.Young = list.id, list.young
		renewed = &d
	}
	return true, renewed
}

// reread reports whether a file would be read as before. data is its content, if available.
func (r *Run) reread(d Dep, data []byte) (fresh bool, renewed *Dep) {
	if d.Errno != 0 { // a regular file that couldn't be opened
		o := opened{}
		_, errno := o.open(&r.walker, d.Path)
		if errno == 0 && o.fd >= 0 {
			_ = unix.Close(o.fd)
		}
		return errno == 0 && o.closed == d.Errno && beneath.TypeOf(&o.st) == 0, nil
	}
	var st unix.Stat_t
	if errno := r.statAgain(d.Path, &st); errno != 0 || beneath.TypeOf(&st) != 0 {
		return false, nil
	}
	id := identityOf(&st)
	// A file with several names may have become protected without changing itself, because
	// the directory of another name moved.
	if st.Nlink > 1 && r.hardLinked(d.Path, &st).errno != 0 {
		return false, nil
	}
	if id == d.ID && !d.Young {
		return true, nil
	}
	if d.Hash == nil || id.Size != d.ID.Size {
		return false, nil
	}
	return r.recompare(d, data)
}

// recompare compares the content, using data if that is the whole of it.
func (r *Run) recompare(d Dep, data []byte) (fresh bool, renewed *Dep) {
	fd, _, errno := r.walker.Open(d.Path)
	if errno != 0 {
		return false, nil
	}
	defer unix.Close(fd)
	var before, after unix.Stat_t
	now := r.root.now()
	if unix.Fstat(fd, &before) != nil || beneath.TypeOf(&before) != 0 || before.Size != d.ID.Size {
		return false, nil
	}
	if !sameContent(fd, &d, data) {
		return false, nil
	}
	if unix.Fstat(fd, &after) != nil || identityOf(&before) != identityOf(&after) {
		return false, nil
	}
	d.ID = identityOf(&after)
	d.Young = d.ID.young(now)
	return true, &d
}

// sameContent compares the content of an open file that has its previous size.
func sameContent(fd int, d *Dep, data []byte) bool {
	if int64(len(data)) == d.ID.Size && len(data) > 0 {
		buf := make([]byte, len(data))
		n, errno := preadFull(fd, buf, 0)
		return errno == 0 && n == len(buf) && bytes.Equal(buf, data)
	}
	sum, errno := hashFile(fd, d.ID.Size)
	return errno == 0 && bytes.Equal(sum[:], d.Hash)
}

// CheckUnits is Check for the result of Run.Units. It continues after the first change, to
// find all units that still hold.
func (r *Root) CheckUnits(f *Filter, units *Units) Freshness {
	return r.checkUnits(f, units, nil)
}

// CheckUnitsNear is CheckUnits for what an event at one of the paths can have changed. Paths
// are link-free and relative to the root. Everything else is taken as unchanged: the caller
// must check all of it soon after.
func (r *Root) CheckUnitsNear(f *Filter, units *Units, paths []string) Freshness {
	return r.checkUnits(f, units, func(d *Dep) bool {
		return slices.ContainsFunc(paths, func(path string) bool { return near(d.Path, path) })
	})
}

// near reports whether an event at one path can change what is observed at another: at the
// same path, at its directory, or below it if it is a directory that was created, removed or
// moved.
func near(observed, event string) bool {
	if below, ok := strings.CutPrefix(observed, event); ok {
		return below == "" || below[0] == '/'
	}
	dir, _ := beneath.Split(event)
	return observed == dir
}

func (r *Root) checkUnits(f *Filter, units *Units, wanted func(*Dep) bool) Freshness {
	// What is reread was read by another run, within its limits; see unitChecker.rewritten.
	run := r.Begin(f, Limits{Entries: maxCheckEntries, KeepBytes: units.keep, ReadBytes: math.MaxInt64})
	defer run.Close()
	if run.closed {
		return Freshness{Changed: ".", Units: &Units{}}
	}
	c := unitChecker{
		run: run, wanted: wanted, keep: units.keep, room: units.room,
		deps: make(map[depKey]verdict), files: make(map[*unitFile]*unitFile),
	}
	if wanted == nil {
		c.files = make(map[*unitFile]*unitFile, len(units.list))
	}
	holds := &Units{list: make([]*unit, 0, len(units.list)), keep: units.keep}
	rest := c.rest(units.rest) // first, because it finds the steady directories
	for _, u := range units.list {
		if now := c.unit(u); now != nil {
			holds.list = append(holds.list, now)
		}
	}
	if c.room < 0 && len(c.rewritten) > 0 { // a run would exceed its limit and must report it
		c.differs(c.rewritten[0].Path)
	}
	if c.stale {
		return Freshness{Changed: c.changed, Units: holds}
	}
	holds.rest, holds.trace, holds.room = rest, c.renewed(units.trace), c.room
	return Freshness{Fresh: true, Units: holds, Rewritten: c.rewritten}
}

// unitChecker rechecks each dep once, however many units have it.
type unitChecker struct {
	run    *Run
	wanted func(*Dep) bool // nil checks all
	deps   map[depKey]verdict
	files  map[*unitFile]*unitFile // the current form; nil if it has changed
	// stale says that something has changed; changed is the first such path, in order.
	stale   bool
	changed string
	// rewritten lists files that changed only where the guest hadn't looked; now maps their
	// paths to the current files.
	rewritten []Rewritten
	now       map[string]*unitFile
	keep      int64 // as in Units
	room      int64
}

// wants reports whether a dep is to be checked.
func (c *unitChecker) wants(d *Dep) bool { return c.wanted == nil || c.wanted(d) }

// renewed returns a trace with the rewritten files replaced.
func (c *unitChecker) renewed(trace []Dep) []Dep {
	if len(c.rewritten) == 0 {
		return trace
	}
	trace = slices.Clone(trace)
	for path, f := range c.now {
		i, _ := slices.BinarySearchFunc(trace, path, func(d Dep, path string) int { return strings.Compare(d.Path, path) })
		for ; i < len(trace) && trace[i].Path == path; i++ {
			if trace[i].isRead() {
				trace[i] = f.dep
			}
		}
	}
	return trace
}

// verdict is the result of recheck for a dep.
type verdict struct {
	fresh   bool
	renewed *Dep
}

func (c *unitChecker) differs(path string) {
	if !c.stale || path < c.changed {
		c.stale, c.changed = true, path
	}
}

// unit returns the unit to keep from now on, or nil if it doesn't hold.
func (c *unitChecker) unit(u *unit) *unit {
	deps, files := u.deps, u.files
	for i := range u.deps {
		if !c.wants(&u.deps[i]) {
			continue
		}
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
		if !c.wants(&f.dep) {
			continue
		}
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

// dep rechecks anything but a file that was read.
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
		now = c.rewrite(f)
	case renewed != nil:
		now = &unitFile{dep: *renewed, data: f.data, kept: f.kept, seen: f.seen}
	}
	c.files[f] = now
	return now
}

// rewrite returns the current form of a file if it would give the guest the same answers,
// else nil. It reads the content as a run would, so that what the guest has seen is the
// beginning of what the host keeps.
func (c *unitChecker) rewrite(f *unitFile) *unitFile {
	r, path := c.run, f.dep.Path
	whole := f.kept && f.dep.Hash != nil && int64(len(f.data)) == f.dep.ID.Size
	if !whole || f.seen < 0 || f.seen > f.dep.ID.Size || c.keep == 0 {
		return nil
	}
	now := c.now[path]
	if now == nil {
		var st unix.Stat_t
		fd, _, errno := r.walker.Open(path)
		if errno != 0 {
			return nil
		}
		defer unix.Close(fd)
		if unix.Fstat(fd, &st) != nil || beneath.TypeOf(&st) != 0 || st.Size > c.keep {
			return nil
		}
		n := r.load(path, fd, &st)
		r.waitHashes()
		if n.failed.errno != 0 || !n.whole {
			return nil
		}
		now = &unitFile{dep: n.toDep(), data: n.data, kept: true}
	}
	if int64(len(now.data)) < f.seen || !bytes.Equal(now.data[:f.seen], f.data[:f.seen]) {
		return nil
	}
	if c.now[path] == nil {
		if c.now == nil {
			c.now = make(map[string]*unitFile)
		}
		c.now[path] = now
		c.rewritten = append(c.rewritten, Rewritten{path, f.dep.Hash})
		c.room -= now.dep.ID.Size - f.dep.ID.Size
	}
	its := *now
	its.seen = f.seen
	return &its
}

// rest rechecks what belongs to no unit. It stops at the first change, because all of the
// rest is then computed anew.
func (c *unitChecker) rest(deps []Dep) []Dep {
	kept := deps
	for i, d := range deps {
		if !c.wants(&d) {
			continue
		}
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
		case d.isListing():
			c.run.keepSteady(d.Path)
		}
	}
	return kept
}
