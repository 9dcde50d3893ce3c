package why

import (
	"fmt"
	"strings"

	"waymark/abi"
	"waymark/snapshot"
)

// fate tells what became of a find. ok is false when the snapshot and the
// notes know nothing of it, which is so only of a find that is newer than
// they are.
func (q *question) fate(m match) (a Answer, ok bool) {
	a = Answer{ResourceID: m.cand.ID(), Resolver: m.cand.Resolver, Root: q.rootName(m)}
	listed := q.find(a.ResourceID)
	note := q.note(m)
	switch {
	case note == nil:
	case note.Reason == snapshot.ReasonCollapsed && m.as == note.Path && m.as != m.cand.Source:
		return q.instead(a, ReasonCollapsedInto, note.Winner, "a link to what is listed as "), true
	case note.Reason == snapshot.ReasonDeduplicated && note.Winner != note.ID:
		return q.instead(a, ReasonDeduplicated, note.Winner, note.Detail+"; rename or remove one of them. Listed is "), true
	case note.Reason == snapshot.ReasonExcluded && listed == nil:
		a.Reason, a.Detail = ReasonExcluded, note.Detail
		return a, true
	}
	if listed == nil {
		return Answer{}, false
	}
	a.Resolver = listed.Resolver
	a.Reason, a.Detail = q.status(m, listed)
	a.Found = a.Reason == ReasonFound
	return a, true
}

// instead answers with the resource that stands in a find's place.
func (q *question) instead(a Answer, reason Reason, winner, detail string) Answer {
	a.Reason, a.ResourceID = reason, winner
	a.Detail = detail + show(winner)
	w := q.find(winner)
	switch {
	case w == nil:
		a.Detail += ", which isn't in the context"
	case w.Status != snapshot.StatusOK:
		a.Detail += fmt.Sprintf(", which is %s: %s", w.Status, w.Error)
	default:
		a.Found = reason == ReasonCollapsedInto
	}
	return a
}

// status turns a listed resource's status into a reason.
func (q *question) status(m match, r *snapshot.Resource) (Reason, string) {
	switch r.Status {
	case snapshot.StatusOK:
		return ReasonFound, q.found(m, r)
	case snapshot.StatusOversize:
		return ReasonOversize, r.Error + "; it is listed without its text: shorten it, or raise max_resource_bytes under [snapshot]"
	case snapshot.StatusExcluded:
		return ReasonExcluded, r.Error + "; it is listed without its text: remove what isn't needed, or see [snapshot] in the configuration"
	}
	reason, detail := q.trouble(m)
	switch {
	case reason != "":
		return reason, detail
	case r.Status == snapshot.StatusUnreadable:
		return ReasonUnreadable, r.Error
	}
	return ReasonInvalid, r.Error
}

// found says how a resource was found.
func (q *question) found(m match, r *snapshot.Resource) string {
	var b strings.Builder
	switch {
	case r.Kind == abi.KindMCPConfig:
		b.WriteString("listed as an MCP configuration; its text stays on this machine")
	case m.content != "":
		fmt.Fprintf(&b, "the text of the %s %s, %s", r.Kind, show(m.as), count(int(r.SizeBytes), "byte", "bytes"))
	default:
		fmt.Fprintf(&b, "%s, %s", r.Kind, count(int(r.SizeBytes), "byte", "bytes"))
	}
	switch at := foundAt(m.cand); {
	case m.as != r.Source:
		b.WriteString("; a link, listed under the path it leads to")
	case at != r.Source && m.content == "":
		b.WriteString("; found as " + show(at) + ", which leads to it")
	}
	if r.Stale {
		b.WriteString("; the resolver failed since, and this is what is left of its last good answer")
		if m.run != nil && m.run.Err != nil {
			b.WriteString(": " + m.run.Err.Error())
		}
	}
	return b.String()
}

// find returns a listed resource.
func (q *question) find(id string) *snapshot.Resource {
	if q.in.Snapshot == nil {
		return nil
	}
	return q.in.Snapshot.Find(id)
}

// note returns what Assemble said of a find: why it isn't in the list, rather
// than that it is there without its text.
func (q *question) note(m match) (note *snapshot.Note) {
	if m.run == nil {
		return nil
	}
	id := m.cand.ID()
	for i := range q.in.Notes {
		n := &q.in.Notes[i]
		if n.Root == m.cand.Root && n.ID == id && n.Path == foundAt(m.cand) && n.Resolver == m.cand.Resolver &&
			(note == nil || n.Reason != snapshot.ReasonOversize) {
			note = n
		}
	}
	return note
}

// rootName names the root of a find. What only the snapshot knows belongs to
// the innermost root that holds it.
func (q *question) rootName(m match) string {
	if m.run != nil && q.rootOf(m.run) != nil {
		return q.in.Roots[m.run.Root].name()
	}
	name, length := "", -1
	for i := range q.in.Roots {
		r := &q.in.Roots[i]
		if _, ok := r.holds(m.cand.Source); ok && len(r.FS.Path()) > length {
			name, length = r.name(), len(r.FS.Path())
		}
	}
	return name
}
