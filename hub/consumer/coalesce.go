package consumer

import (
	"slices"

	"waymark/hub/store"
)

// coalesce keeps the last event of each agent's pushes and of each pin. A push
// that stands for several names what all of them touched.
func coalesce(list []store.Event) []store.Event {
	type subject struct{ agent, pin string }
	of := func(e *store.Event) subject {
		switch {
		case e.Change != nil:
			return subject{agent: e.Change.AgentID}
		case e.Pin != nil:
			return subject{pin: e.Pin.ID}
		case e.Deleted != nil:
			return subject{pin: e.Deleted.ID}
		}
		return subject{"removed", e.RemovedAgent}
	}
	last := make(map[subject]*store.Event)
	var kept []store.Event
	for i := len(list) - 1; i >= 0; i-- {
		e := list[i]
		later, there := last[of(&e)]
		switch {
		case !there:
			last[of(&e)] = &list[i]
			if e.Change != nil { // what is merged into it must not change what others read
				change := *e.Change
				list[i].Change = &change
			}
		case e.Change != nil:
			merge(later.Change, e.Change)
		}
	}
	for i := range list {
		if last[of(&list[i])] == &list[i] {
			kept = append(kept, list[i])
		}
	}
	return kept
}

// merge adds what an older push touched.
func merge(ch, older *store.Change) {
	beyond := ch.Added + ch.Changed + ch.Removed - len(ch.Touched) + older.Added + older.Changed + older.Removed - len(older.Touched)
	all := slices.Concat(ch.Touched, older.Touched)
	slices.Sort(all)
	all = slices.Compact(all)
	ch.Touched = all[:min(len(all), store.MaxTouched)]
	ch.Added, ch.Changed, ch.Removed = 0, len(all)+beyond, 0
}
