package watch

import (
	"cmp"
	"context"
	"slices"
)

// pass looks at what is dirty, ends the watches that no longer fit, and adds
// those that are missing.
func (k *watches) pass(ctx context.Context) {
	places, grown, unneeded := k.w.takeDirty(k.entries)
	if k.backend == nil {
		return // everything is polled
	}
	for _, path := range unneeded {
		k.drop(path)
	}
	if len(unneeded) > 0 && k.failed != nil {
		k.retryUnwatched() // there may be room now
	}
	k.lost = k.lost[:0]
	missing := k.look(places)
	// What an owner needs comes before what is on the way to it, in case
	// there aren't watches enough.
	slices.SortStableFunc(missing, func(a, b *finding) int { return cmp.Compare(a.rank(), b.rank()) })
	var added []string
	full := false
	for _, f := range missing {
		if ctx.Err() != nil {
			return
		}
		if k.add(f, &full) {
			added = append(added, f.path)
		}
	}
	k.w.tell(k.lost, added, grown)
}

// finding is what a place turned out to be.
type finding struct {
	place
	id        identity
	here      bool // it is a directory
	essential bool // an owner needs it, and not only to learn of renames
}

func (f *finding) rank() int {
	if f.essential {
		return 0
	}
	return 1
}

// look compares places with their entries, and returns the directories without
// a watch.
func (k *watches) look(places []place) (missing []*finding) {
	found := make(map[string]*finding, len(places))
	for _, p := range places {
		f := &finding{place: p, essential: p.target}
		dir, _ := split(p.path)
		up := found[dir] // nil of "/", too
		found[p.path] = f
		if p.path == "/" || up != nil && up.here || up == nil && k.entries[dir] != nil {
			f.id, f.here = identify(p.path)
		}
		if !f.here && up != nil {
			up.essential = true
		}
		e := k.entries[p.path]
		if e != nil && (!f.here || e.id != f.id || p.lost) {
			k.drop(p.path)
			if !f.here || e.id != f.id {
				k.lost = append(k.lost, p.path)
			}
			e = nil
		}
		if f.here && (e == nil || e.how == unreadable || e.how == unwatched) {
			missing = append(missing, f)
		}
	}
	return missing
}
