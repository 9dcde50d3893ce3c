package consumer

import "waymark/hub/store"

// group is what happened in one revision.
type group struct {
	revision int64
	events   []store.Event
	size     int
}

// groupUp puts together what belongs to one revision.
func groupUp(list []store.Event) []group {
	var groups []group
	for i := 0; i < len(list); {
		end := i + 1
		for end < len(list) && list[end].Revision == list[i].Revision {
			end++
		}
		g := group{revision: list[i].Revision, events: list[i:end:end]}
		for j := range g.events {
			g.size += weigh(&g.events[j])
		}
		groups = append(groups, g)
		i = end
	}
	return groups
}

// weigh is about what an event takes in memory.
func weigh(e *store.Event) int {
	n := 300
	if e.Change != nil {
		for _, id := range e.Change.Touched {
			n += 16 + len(id)
		}
	}
	return n
}
