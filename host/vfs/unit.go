package vfs

import (
	"errors"
)

// Misuse of units.
var (
	// ErrUnitOpen: a unit begins inside of another. Neither is remembered.
	ErrUnitOpen = errors.New("a unit is open already: units don't nest")
	// ErrNoUnit: a unit ends that hasn't begun, or was remembered.
	ErrNoUnit = errors.New("no unit is open")
)

// unitKeeper holds the units of a run.
type unitKeeper struct {
	known *Units   // of an earlier run, re-checked; nil for none
	open  *newUnit // nil outside of units
	done  []doneUnit
	// charged are the files of adopted units that aren't nodes, since their
	// bytes are charged once.
	charged map[string]bool
}

// newUnit is a unit that is computed by this run.
type newUnit struct {
	key   string
	outer memory // what was asked before it; while it is open
	// used and loaded are up to its beginning while it is open, and its own
	// afterwards.
	used   Usage
	loaded int64
	// foreign: a file was used that had been opened before it. What the unit
	// depends on isn't known then.
	foreign bool

	value []byte // nil: not to be remembered
	memory
}

// doneUnit is a unit of this run; one field is set.
type doneUnit struct {
	computed *newUnit
	adopted  *unit
}

// Recall gives a run the units of an earlier run of the same resolver, with the
// same request and filter, as CheckUnits returned them. Call it before anything
// is asked.
func (r *Run) Recall(known *Units) { r.units.known = known }

// BeginUnit begins a unit: a part of the run whose result, its value, depends
// on nothing but its key and what is asked of the run until EndUnit. When an
// earlier run left a value for this key that holds and has at most room bytes,
// BeginUnit returns it, and the unit is over: what it depended on counts as
// observed by this run, and files as read. Else it returns nil.
//
// In a unit everything but the content of files is looked at anew, so that
// what it depends on is known apart from the rest; one that uses a File opened
// before it isn't remembered. After it, all that it saw is remembered for the
// rest of the run.
//
// # Errors
//
// ErrUnitOpen, which also drops the unit that is open; that of a limit or of a
// closed run.
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

// EndUnit ends a unit and remembers its value; of an empty one nothing is
// remembered. The value is kept: don't change it.
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
	for key, l := range u.looks {
		r.know(key, l)
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

// DropUnit ends a unit of which nothing is to be remembered, if one is open.
func (r *Run) DropUnit() {
	if r.units.open != nil {
		_ = r.EndUnit(nil) // one is open
	}
}

// know remembers an answer, unless there is one.
func (r *Run) know(key lookKey, l *look) {
	if _, ok := r.looks[key]; !ok {
		r.remember(key, l)
	}
}
