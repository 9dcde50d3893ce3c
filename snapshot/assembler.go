package snapshot

import (
	"slices"

	"waymark/abi"
)

// Assembler is an incremental Assemble, for lists that usually differ little from the
// previous one. If only the contents of some finds differ, it replaces just these in the
// previous list. The zero value is ready. It belongs to one goroutine at a time, and keeps
// the last list.
type Assembler struct {
	caps      Caps
	groups    [][]Candidate
	resources []Resource
	notes     []Note
	bytes     int64 // of all payloads in resources
}

// Assemble returns what the function Assemble returns for all groups together. Neither the
// candidates nor the result may be changed afterwards. A group that is the same slice as
// before isn't compared. If all groups are, the result is the same slice, too.
func (a *Assembler) Assemble(groups [][]Candidate, caps Caps) ([]Resource, []Note) {
	if !a.patch(groups, caps) {
		a.caps, a.bytes = caps, 0
		a.resources, a.notes = Assemble(slices.Concat(groups...), caps)
		for i := range a.resources {
			a.bytes += int64(len(a.resources[i].Payload))
		}
	}
	a.groups = groups
	return a.resources, a.notes
}

// patch replaces the changed candidates in the list, and reports whether the list then equals
// the result of Assemble.
func (a *Assembler) patch(groups [][]Candidate, caps Caps) bool {
	if a.resources == nil || caps != a.caps || len(groups) != len(a.groups) {
		return false
	}
	resources, bytes := a.resources, a.bytes
	for i, group := range groups {
		if sameSlice(group, a.groups[i]) {
			continue
		}
		var done bool
		if resources, bytes, done = a.patchGroup(resources, bytes, a.groups[i], group); !done {
			return false
		}
	}
	if limits := caps.withDefaults(); bytes > limits.MaxBytes {
		return false
	}
	a.resources, a.bytes = resources, bytes
	return true
}

// patchGroup does so for one group, in a copy of the list. It returns the copy and the length
// of all its payloads.
func (a *Assembler) patchGroup(resources []Resource, bytes int64, past, group []Candidate) ([]Resource, int64, bool) {
	if len(past) != len(group) {
		return nil, 0, false
	}
	for i := range group {
		before, now := &past[i], &group[i]
		switch {
		case !before.samePlace(now):
			return nil, 0, false
		case before.Equal(&now.Resource):
			continue
		case !a.replaces(before, now):
			return nil, 0, false
		}
		at, found := slices.BinarySearchFunc(resources, &before.Resource, func(r Resource, c *Resource) int { return compareIDs(&r, c) })
		if !found || !resources[at].Equal(&before.Resource) {
			return nil, 0, false // another find replaces it, or it is listed in another form
		}
		if sameSlice(resources, a.resources) {
			resources = slices.Clone(resources)
		}
		order := resources[at].Order
		resources[at] = now.Resource
		resources[at].Order = order
		bytes += int64(len(now.Payload) - len(before.Payload))
	}
	return resources, bytes, true
}

// samePlace reports whether two candidates have the same place in the order of all.
func (c *Candidate) samePlace(other *Candidate) bool {
	return c.Path == other.Path && c.Rank == other.Rank && c.Root == other.Root && c.DropIn == other.DropIn && c.Provided == other.Provided &&
		c.Directory == other.Directory
}

// replaces reports whether now replaces before, whatever else there is: it is the same find,
// both are ok, and only the content differs. Candidates that share a budget with others of
// their origin, or with excluded ones, are left to Assemble.
func (a *Assembler) replaces(before, now *Candidate) bool {
	limits := a.caps.withDefaults()
	if before.Status != StatusOK || now.Status != StatusOK || before.Resolver != now.Resolver ||
		before.Kind != now.Kind || before.Source != now.Source || before.Key != now.Key || before.DropIn || before.Provided ||
		now.Kind == abi.KindMCPConfig || now.Kind == abi.KindMCPServer || int64(len(now.Payload)) > limits.MaxResourceBytes {
		return false
	}
	id, takesAsMuch := now.ID(), len(now.Payload) == len(before.Payload)
	return !slices.ContainsFunc(a.notes, func(n Note) bool {
		return n.Reason == ReasonExcluded && !takesAsMuch || n.ID == id || n.Winner == id
	})
}
