package vfs

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"syscall"
)

// Errors for misuse of units.
var (
	// ErrUnitOpen says that a unit begins inside another. Neither is remembered.
	ErrUnitOpen = errors.New("a unit is open already: units don't nest")
	// ErrNoUnit says that a unit ends that hasn't begun, or was already remembered.
	ErrNoUnit = errors.New("no unit is open")
)

// unitKeeper holds the units of a run.
type unitKeeper struct {
	known *Units   // of an earlier run, rechecked; nil for none
	open  *newUnit // nil outside units
	done  []doneUnit
	// charged holds the files of adopted units that aren't nodes, because their bytes are
	// charged once.
	charged map[string]bool
}

// newUnit is a unit that this run computes.
type newUnit struct {
	key   string
	outer memory // the run's own, set aside while the unit is open
	// used and loaded are the run's totals when the unit began and, after its end, the unit's
	// own.
	used   Usage
	loaded int64
	// foreign says that the unit used a file that had been opened before it. Its dependencies
	// are then unknown.
	foreign bool

	value []byte // nil: not to be remembered
	memory
}

// doneUnit is a unit of this run; exactly one field is set.
type doneUnit struct {
	computed *newUnit
	adopted  *unit
}

// Recall gives a run the units of an earlier run of the same resolver, with the same request
// and filter, as CheckUnits returned them. Call it before any question.
func (r *Run) Recall(known *Units) { r.units.known = known }

// BeginUnit begins a unit: a part of the run whose result, its value, depends only on its key
// and on what is asked of the run until EndUnit. If an earlier run left a valid value of at
// most room bytes for this key, BeginUnit returns it and the unit is over. What it depended
// on then counts as observed by this run, and its files as read. Otherwise it returns nil.
//
// In a unit everything but the content of files is looked at anew, so that its dependencies
// are known apart from the rest. A unit that uses a File opened before it isn't remembered.
// After the unit, everything that it saw is remembered for the rest of the run.
//
// # Errors
//
// ErrUnitOpen, which also drops the open unit; the error of a limit or of a closed run.
func (r *Run) BeginUnit(key string, room int) (value []byte, err error) {
	if err := r.usable("begin unit", "."); err != nil {
		return nil, err
	}
	if r.units.open != nil {
		r.DropUnit()
		return nil, ErrUnitOpen
	}
	if !r.chargeEntries(1 + len(key)/128) {
		return nil, r.over
	}
	if u := r.units.known.find(key); u != nil && len(u.value) <= room && r.adopt(u) {
		return u.value, r.Err()
	}
	if r.over != nil {
		return nil, r.over
	}
	r.units.open = &newUnit{key: key, outer: r.memory, used: r.used, loaded: r.loaded}
	r.memory = memory{}
	return nil, nil
}

// EndUnit ends a unit and remembers its value, unless that is empty. The value is kept: don't
// change it.
//
// # Errors
//
// ErrNoUnit.
func (r *Run) EndUnit(value []byte) error {
	u := r.units.open
	if u == nil {
		return ErrNoUnit
	}
	r.units.open = nil
	u.memory, r.memory, u.outer = r.memory, u.outer, memory{}
	for key, a := range u.answers {
		r.rememberNew(key, a)
	}
	for _, d := range u.denied {
		r.denied = appendDenial(r.denied, d)
	}
	if len(value) > 0 && !u.foreign {
		u.value = value
	}
	u.loaded = r.loaded - u.loaded
	u.used = Usage{
		Opens: r.used.Opens - u.used.Opens, Entries: r.used.Entries - u.used.Entries,
		ReadBytes: r.used.ReadBytes - u.used.ReadBytes - u.loaded,
	}
	r.units.done = append(r.units.done, doneUnit{computed: u})
	return nil
}

// DropUnit ends the open unit, if any, and remembers nothing of it.
func (r *Run) DropUnit() {
	if r.units.open != nil {
		_ = r.EndUnit(nil) // a unit is open, so there is no error
	}
}

// rememberNew remembers an answer, unless there is one.
func (r *Run) rememberNew(key question, a *answer) {
	if _, ok := r.answers[key]; !ok {
		r.remember(key, a)
	}
}

// Units is what a run leaves for the next one: its trace in parts, one for each unit and one
// for the rest, and the units' values. It is immutable.
type Units struct {
	rest  []Dep
	list  []*unit // by key
	trace []Dep   // the whole; files may have been renewed since

	keep int64 // Limits.KeepBytes of the run; 0 if unknown
	room int64 // what the run left of Limits.ReadBytes
}

// unit is a remembered unit. It is immutable.
type unit struct {
	key     string
	value   []byte
	deps    []Dep // without those of files
	files   []*unitFile
	answers []unitAnswer
	denied  []Denial
	used    Usage // what computing it costs, without the bytes of files
}

// unitFile is a file that units have read; several may share it.
type unitFile struct {
	dep Dep
	// data is what a node keeps of it, if kept is set because it became a resource's content.
	data []byte
	kept bool
	// seen is how many bytes from the file's beginning the guest can have seen, in units or
	// outside; wholly, if it knows the size. Later bytes, and the end of the file, can change
	// without affecting the guest's answers.
	seen int64
}

// wholly is unitFile.seen of a file whose end or size was seen.
const wholly = -1

// seenBoth combines two values of seen.
func seenBoth(a, b int64) int64 {
	if a == wholly || b == wholly {
		return wholly
	}
	return max(a, b)
}

// unitAnswer is an answer that a unit got.
type unitAnswer struct {
	key    question
	path   string // link-free
	info   Info
	target string
	file   int // index among the unit's files; -1 for none
	err    *Error
}

// NoUnits makes Units of a trace alone.
func NoUnits(trace []Dep) *Units { return &Units{rest: trace, trace: trace} }

// Len returns the number of units.
func (u *Units) Len() int { return len(u.list) }

// Trace returns the whole trace, as Run.Trace did.
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
	return simplify(deps, dirsOf(deps))
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

// Units returns the run's units for the next run. Call it after the last question. It waits
// for the hashes.
func (r *Run) Units() *Units {
	r.DropUnit()
	r.waitHashes()
	units := make([]*unit, 0, len(r.units.done))
	for i := range r.units.done {
		d := &r.units.done[i]
		u := d.adopted
		if u != nil {
			u = r.updated(u)
		} else {
			u = r.build(d.computed, i+1)
		}
		if u != nil {
			units = append(units, u)
		}
	}
	// Of several units with the same key, the last one counts.
	slices.Reverse(units)
	slices.SortStableFunc(units, func(a, b *unit) int { return strings.Compare(a.key, b.key) })
	units = slices.CompactFunc(units, func(a, b *unit) bool { return a.key == b.key })
	trace := r.Trace()
	return &Units{
		rest: without(trace, units), list: units, trace: trace,
		keep: r.limits.KeepBytes, room: r.limits.ReadBytes - r.used.ReadBytes,
	}
}

// without removes from a trace what units depend on.
func without(trace []Dep, units []*unit) []Dep {
	covered := make([]bool, len(trace)) // a trace is sorted
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

// depKey is a comparable form of a dep.
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

// build makes the unit that was computed, or nil if it can't hold. number distinguishes the
// run's units.
func (r *Run) build(d *newUnit, number int) *unit {
	if d.value == nil {
		return nil
	}
	u := &unit{key: d.key, value: d.value, denied: d.denied, used: d.used}
	for _, n := range d.opened {
		if n.slotOf == number {
			continue // it is a duplicate
		}
		f := r.fileOf(n)
		if f == nil {
			return nil
		}
		n.slot, n.slotOf = len(u.files), number
		u.files = append(u.files, f)
	}
	u.deps = u.ownDeps(d.deps)
	u.answers = make([]unitAnswer, 0, len(d.answers))
	for key, a := range d.answers {
		k := unitAnswer{key: key, path: a.path, info: a.info, target: a.target, file: -1, err: a.err}
		if a.node != nil {
			k.file = a.node.slot // every node looked at is among the opened ones
		}
		u.answers = append(u.answers, k)
	}
	slices.SortFunc(u.answers, func(a, b unitAnswer) int {
		return cmp.Or(strings.Compare(a.key.path, b.key.path), strings.Compare(string(a.key.verb), string(b.key.verb)))
	})
	return u
}

// ownDeps simplifies the deps of a unit by what the unit itself has read.
func (u *unit) ownDeps(deps []Dep) []Dep {
	if len(deps) == 0 {
		return nil
	}
	all := slices.Clone(deps)
	for _, f := range u.files {
		all = append(all, f.dep)
	}
	all = simplify(all, dirsOf(all))
	return slices.DeleteFunc(all, func(d Dep) bool { return d.isRead() })
}

// dirsOf returns the directories that checking deps traverses.
func dirsOf(deps []Dep) map[string]struct{} {
	dirs := make(map[string]struct{})
	for i := range deps {
		switch d := &deps[i]; {
		case d.isRead():
			addDirs(dirs, d.Path)
		case d.isListing():
			addDirs(dirs, d.Path)
			dirs[d.Path] = struct{}{}
		}
	}
	return dirs
}

// updated returns an adopted unit as this run leaves it, including new content of resources,
// or nil if a file has turned out to be stale.
func (r *Run) updated(u *unit) *unit {
	fresh := u
	for i, f := range u.files {
		n := r.nodes[f.dep.Path]
		if n == nil {
			continue
		}
		its := n.file == f
		if its && n.unstable {
			return nil
		}
		now := r.fileOf(n)
		switch {
		case its && now != f: // more of it has been seen
		case its || now == nil || !now.dep.sameContent(&f.dep):
			continue
		case f.kept:
			// The unit stands for all that has been seen of the file, including by others;
			// see without.
			seen := seenBoth(f.seen, now.seen)
			if seen == f.seen {
				continue
			}
			more := *f
			more.seen = seen
			now = &more
		case !now.kept:
			continue
		default:
			// What the unit had seen of it isn't part of what this run has.
			whole := *now
			whole.seen = wholly
			now = &whole
		}
		if fresh == u {
			fresh = u.with(u.deps, slices.Clone(u.files))
		}
		fresh.files[i] = now
	}
	return fresh
}

// sameContent reports whether two observations of files found the same bytes.
func (d *Dep) sameContent(other *Dep) bool {
	return d.ID.Size == other.ID.Size && bytes.Equal(d.Hash, other.Hash)
}

// with returns the unit with other deps and files, or u itself if they are its own.
func (u *unit) with(deps []Dep, files []*unitFile) *unit {
	same := (len(deps) == 0 || &deps[0] == &u.deps[0]) && (len(files) == 0 || &files[0] == &u.files[0])
	if same {
		return u
	}
	next := *u
	next.deps, next.files = deps, files
	return &next
}

// fileOf returns the form in which units keep a node, or nil if it can't hold. The hashes
// must be complete.
func (r *Run) fileOf(n *node) *unitFile {
	d := n.toDep()
	if d.Unstable {
		return nil
	}
	if _, told := r.sized[n.path]; told {
		n.seen = wholly
	}
	switch {
	case n.file == nil:
		n.file = &unitFile{dep: d, kept: n.used, seen: n.seen}
		if n.used {
			n.file.data = n.data
		}
	case n.file.seen != n.seen:
		more := *n.file
		more.seen = n.seen
		n.file = &more
	}
	return n.file
}

// tellSize records that a guest may know the size of a file that it hasn't opened yet.
func (r *Run) tellSize(path string) {
	if r.sized == nil {
		r.sized = make(map[string]struct{})
	}
	r.sized[path] = struct{}{}
}

// adopt makes a unit of an earlier run part of this one, as if it had been computed when it
// was rechecked. It fails if the run has since seen a different version of one of its files.
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
		if !r.adoptFile(f) {
			return false
		}
	}
	for i := range u.deps {
		if d := &u.deps[i]; d.isListing() {
			r.addDir(d.Path)
		}
	}
	for i := range u.answers {
		r.adoptAnswer(u, &u.answers[i])
	}
	for _, d := range u.denied {
		r.denied = appendDenial(r.denied, d)
	}
	r.units.done = append(r.units.done, doneUnit{adopted: u})
	return true
}

// agrees reports whether a file matches what the run has seen of it, if anything.
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
		r.waitHashes()
		return bytes.Equal(n.sum[:], f.dep.Hash)
	}
	return n.id == f.dep.ID && !n.young && !f.dep.Young
}

// adoptFile makes a file count as read by the run, and charges its bytes.
func (r *Run) adoptFile(f *unitFile) bool {
	path := f.dep.Path
	if r.nodes[path] != nil || r.units.charged[path] {
		return true
	}
	size := min(f.dep.ID.Size, r.limits.KeepBytes)
	r.loaded += size
	if !r.chargeBytes(size) {
		return false
	}
	r.addParents(path)
	if !f.kept {
		if r.units.charged == nil {
			r.units.charged = make(map[string]bool)
		}
		r.units.charged[path] = true
		return true
	}
	n := &node{path: path, id: f.dep.ID, young: f.dep.Young, data: f.data, file: f, seen: f.seen}
	if f.dep.Hash != nil {
		n.whole = true
		copy(n.sum[:], f.dep.Hash)
	}
	r.nodes[path] = n
	return true
}

// adoptAnswer remembers an answer that a unit got.
func (r *Run) adoptAnswer(u *unit, k *unitAnswer) {
	a := &answer{asked: k.key.path, path: k.path, info: k.info, target: k.target, err: k.err}
	if len(a.asked) > 1 { // all but "."
		a.asked = strings.TrimSuffix(a.asked, "/")
	}
	if k.file >= 0 {
		f := u.files[k.file]
		if a.err == nil {
			a.info.Size = f.dep.ID.Size // which may differ from when the unit was computed
		}
		a.node = r.nodes[f.dep.Path]
		a.unread = a.node == nil
	}
	r.rememberNew(k.key, a)
}

// observed yields the deps of the run and of its units, except those of nodes.
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

// AdoptRewritten makes the units that have read one of the files part of this run, and
// returns the names by which they opened one. It is for a run of the host alone, which
// recomputes what it made of those files. ok is false if the run can't do that within its
// limits.
func (r *Run) AdoptRewritten(known *Units, files []Rewritten) (names map[string]bool, ok bool) {
	names = make(map[string]bool)
	rewritten := func(f *unitFile) bool {
		return slices.ContainsFunc(files, func(w Rewritten) bool { return w.Path == f.dep.Path })
	}
	for _, u := range known.list {
		if !slices.ContainsFunc(u.files, rewritten) {
			continue
		}
		if !r.adopt(u) {
			return nil, false
		}
		for i := range u.answers {
			if a := &u.answers[i]; a.key.verb == verbOpen && a.file >= 0 && rewritten(u.files[a.file]) {
				names[a.key.path] = true
			}
		}
	}
	return names, true
}
