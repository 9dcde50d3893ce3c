package host

import "slices"

// scope says which roots a refresh looks at.
type scope struct {
	all    bool
	owners map[string]bool // of rootSlots
	// near maps further owners to absolute paths. Only what lies near these paths is checked
	// now; the rest follows soon after, see unchecked.
	near   map[string][]string
	paths  []string // roots that contain these paths, near them
	reason string
	// whole waits for all resolvers, slow for those that were postponed before; see patience.
	whole, slow bool
}

// everything returns the scope of a full refresh.
func everything(reason string) scope { return scope{all: true, reason: reason} }

func (s scope) covers(slot *rootSlot) bool {
	return s.all || s.owners[slot.owner] || s.near[slot.owner] != nil || slot.touches(s.paths)
}

// nearIn lists the paths near which a slot is to be checked, relative to its root. It is nil
// if the whole root is.
func (s scope) nearIn(slot *rootSlot) []string {
	if s.all || s.owners[slot.owner] || slot.open == nil {
		return nil
	}
	return slot.below(slices.Concat(s.near[slot.owner], s.paths))
}

// merge returns a scope that covers both.
func (s scope) merge(other scope) scope {
	merged := scope{
		all: s.all || other.all, owners: map[string]bool{}, near: map[string][]string{},
		paths: slices.Concat(s.paths, other.paths), reason: s.reason,
		whole: s.whole || other.whole, slow: s.slow || other.slow,
	}
	if merged.reason == "" || other.all && !s.all {
		merged.reason = other.reason
	}
	for _, owners := range []map[string]bool{s.owners, other.owners} {
		for owner := range owners {
			merged.owners[owner] = true
		}
	}
	for _, near := range []map[string][]string{s.near, other.near} {
		for owner, paths := range near {
			merged.near[owner] = append(merged.near[owner], paths...)
		}
	}
	return merged
}
