package hub

import (
	"cmp"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"waymark/hub/store"
	"waymark/hub/transport"
	"waymark/internal/notify"
)

// writers knows which connections write for each agent, so that of two agents
// with one token the one that isn't heard is told at once, and not when it has
// something to say. Which push counts is the store's to decide, by generations;
// this is about who has to know.
//
// An agent that can be told (it has sent the id of its run) has its older
// connection ended when a newer one has pushed. It comes back, asks with Open,
// hears that it is superseded, and waits. Others, Coder's agents, would come
// back and push, and take over in their turn: theirs stay open as long as the
// newer one is there. When that one goes, the connections of all who were
// superseded are ended, so that they come back and are heard.
type writers struct {
	log  *slog.Logger
	news notify.Signal // that other hubs say something else

	mu sync.Mutex // guards everything below, and the fields of each writer
	// here are the sessions of this hub by agent.
	here map[string][]*writer
	// elsewhere is what other hubs over the same store said last, by agent: of
	// several the newest writer, and all who aren't heard.
	elsewhere map[string]store.PresentAgent
}

// writer is a session of one agent. Its generation puts it in order: it was
// given out before the agent could send its first push, at the handshake or by
// Open, so that a push can't arrive late and be taken for newer than it is.
type writer struct {
	session    *session
	agentID    string
	generation int64 // never changes

	// run is the id that the agent has sent of its run; empty for one that
	// can't be told anything.
	run string
	// heard says that its push was accepted, and none of a newer one since.
	heard bool
	// superseded says that its pushes don't count, told that the agent knows.
	superseded, told bool
	// pushing says that the store has a push of it, and hasn't answered.
	pushing bool
	ended   bool
}

func (w *writers) init(log *slog.Logger) {
	w.log, w.here = log, make(map[string][]*writer)
}

// add makes the session one of the agent's.
func (w *writers) add(s *session, agentID string, generation int64) *writer {
	w.mu.Lock()
	defer w.mu.Unlock()
	wr := &writer{session: s, agentID: agentID, generation: generation}
	w.here[agentID] = append(w.here[agentID], wr)
	s.writers++
	return wr
}

// remove forgets a session whose connection is gone.
func (w *writers) remove(s *session) {
	var gone []*writer
	for _, wr := range s.writes { // nobody calls on it any more
		gone = append(gone, wr)
	}
	w.mu.Lock()
	var ends []ending
	for _, wr := range gone {
		left := slices.DeleteFunc(w.here[wr.agentID], func(other *writer) bool { return other == wr })
		if len(left) == 0 {
			delete(w.here, wr.agentID)
			continue
		}
		w.here[wr.agentID] = left
		ends = append(ends, w.settle(wr.agentID)...)
	}
	w.mu.Unlock()
	w.end(ends)
}

// open takes down which run of the agent is on the connection, and returns
// whether one that yields has to.
func (w *writers) open(wr *writer, run string, yields bool) (superseded bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wr.run = run
	holder := w.holder(wr.agentID)
	superseded = yields && holder.Generation != 0 && holder.Generation != wr.generation && holder.Run != run
	wr.superseded, wr.told = superseded, superseded
	return superseded
}

// pushing says that the store is about to get a push of wr; accepted, refused or
// failed says how that ended.
func (w *writers) pushing(wr *writer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wr.pushing = true
}

// accepted says that a push of wr was accepted.
func (w *writers) accepted(wr *writer) {
	w.mu.Lock()
	wr.pushing = false
	if wr.heard { // nothing has changed
		w.mu.Unlock()
		return
	}
	wr.heard, wr.superseded, wr.told = true, false, false
	for _, other := range w.here[wr.agentID] {
		older, newer := other, wr
		if other.generation > wr.generation { // accepted after, and here before
			older, newer = wr, other
		}
		if older != newer && newer.heard {
			older.heard, older.superseded = false, true
		}
	}
	ends := w.settle(wr.agentID)
	w.mu.Unlock()
	w.end(ends)
}

// refused says that the store has refused a push of wr because of a newer one.
func (w *writers) refused(wr *writer) {
	w.mu.Lock()
	wr.pushing = false
	wr.heard, wr.superseded, wr.told = false, true, true
	ends := w.settle(wr.agentID)
	w.mu.Unlock()
	w.end(ends)
}

// failed says that a push of wr wasn't decided.
func (w *writers) failed(wr *writer) {
	w.mu.Lock()
	wr.pushing = false
	ends := w.settle(wr.agentID)
	w.mu.Unlock()
	w.end(ends)
}

// setElsewhere takes what the other hubs say.
func (w *writers) setElsewhere(list []store.PresentAgent) {
	elsewhere := make(map[string]store.PresentAgent, len(list))
	for _, p := range list {
		known := elsewhere[p.ID]
		notHeard := known.NotHeard + p.NotHeard
		if p.Generation < known.Generation {
			p = known
		}
		p.NotHeard = notHeard
		elsewhere[p.ID] = p
	}
	w.mu.Lock()
	if !maps.Equal(elsewhere, w.elsewhere) {
		w.news.Notify()
	}
	w.elsewhere = elsewhere
	var ends []ending
	for agentID := range w.here {
		ends = append(ends, w.settle(agentID)...)
	}
	w.mu.Unlock()
	w.end(ends)
}

// holder returns the agent's writer that counts; one without a generation:
// there is none. The caller holds w.mu.
func (w *writers) holder(agentID string) store.PresentAgent {
	holder := w.elsewhere[agentID]
	for _, wr := range w.here[agentID] {
		if wr.heard && wr.generation > holder.Generation {
			holder.Generation, holder.Run = wr.generation, wr.run
		}
	}
	return holder
}

// ending is a connection that is to be ended, and why.
type ending struct {
	*writer
	why error
	// news says that another agent is the reason.
	news bool
}

// settle returns which of the agent's connections are to be ended. The caller
// holds w.mu.
func (w *writers) settle(agentID string) (ends []ending) {
	holder := w.holder(agentID)
	for _, wr := range w.here[agentID] {
		var why error
		switch {
		case wr.ended, wr.session.writers > 1: // of several agents: the others need it
		case wr.run != "" && wr.generation < holder.Generation:
			why = transport.ErrSuperseded
		case wr.superseded && holder.Generation == 0 && !w.mayHold(wr):
			why = transport.ErrReleased
		}
		if why != nil {
			wr.ended = true
			ends = append(ends, ending{writer: wr, why: why, news: holder.Run != wr.run})
		}
	}
	return ends
}

// mayHold reports whether a newer writer than wr may be the one that counts: the
// store has its push, and perhaps refuses others for it before that is known here.
// The caller holds w.mu.
func (w *writers) mayHold(wr *writer) bool {
	return slices.ContainsFunc(w.here[wr.agentID], func(other *writer) bool {
		return other.pushing && other.generation > wr.generation
	})
}

// end ends connections. The caller doesn't hold w.mu.
func (w *writers) end(list []ending) {
	for _, e := range list {
		switch {
		case errors.Is(e.why, transport.ErrReleased):
			w.log.Info("the agent that has taken over is gone; the other one with its token is heard again", slog.String("agent", e.agentID))
		case e.news:
			w.log.Warn("another agent with the same token has taken over; one of the two isn't heard", slog.String("agent", e.agentID))
		}
		e.session.end(e.why)
	}
}

// present says of each of the agents, which are connected to this hub, what
// other hubs have to know. They are in order of their ids.
func (w *writers) present(agents []string) []store.PresentAgent {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]store.PresentAgent, 0, len(agents))
	for _, id := range agents {
		p := store.PresentAgent{ID: id, NotHeard: w.notHeard(id)}
		for _, wr := range w.here[id] {
			if wr.heard && wr.generation > p.Generation {
				p.Generation, p.Run = wr.generation, wr.run
			}
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b store.PresentAgent) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// notHeard counts the agent's connections here that know that they are
// superseded by another agent. The caller holds w.mu.
func (w *writers) notHeard(agentID string) (n int) {
	for _, wr := range w.here[agentID] {
		if wr.told && !wr.ended {
			n++
		}
	}
	return n
}

// allNotHeard is notHeard of all agents.
func (w *writers) allNotHeard() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.here {
		n += w.notHeard(id)
	}
	return n
}

// others returns the agents that are connected elsewhere, and how many of each
// aren't heard there.
func (w *writers) others() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make(map[string]int, len(w.elsewhere))
	for id, p := range w.elsewhere {
		list[id] = p.NotHeard
	}
	return list
}

// at returns the hub that says that the agent is connected to it: of several the one to
// which it has connected last.
func (w *writers) at(agentID string) (at store.PresentHub, connected bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, connected := w.elsewhere[agentID]
	return p.Hub, connected
}
