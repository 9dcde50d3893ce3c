package fleet

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"storj.io/drpc/drpcerr"

	"waymark/hub/store"
	"waymark/hub/transport"
	"waymark/internal/await"
	"waymark/wire"
)

// writers tracks which connections write for each agent. If two agents have the same token,
// the superseded one is notified at once, and not only with its next push. The store
// decides by generations which push counts; this is only about notifications.
//
// An agent that can be notified (it has sent the id of its run) has its older connection
// ended when a newer one has pushed. It reconnects, asks with Open, learns that it is
// superseded, and waits. Others, Coder's agents, would reconnect and push, and take over in
// turn: their connections stay open while the newer one exists. When that has ended, the
// connections of all superseded agents are ended, so that they reconnect and can push
// again.
type writers struct {
	log     *slog.Logger
	changed await.Signal // signals that other connections aren't heard than before

	mu sync.Mutex // guards the fields below, and those of each writer
	// here are the sessions of this hub by agent.
	here map[string][]*writer
	// elsewhere are writers at other hubs with the same store, of agents that have connections
	// here, too.
	elsewhere map[string]elsewhere
	// begun is the number of sessions so far.
	begun int
}

// elsewhere is a writer at another hub.
type elsewhere struct {
	store.Writer
	// known is writers.begun when it was found by the beginning of a session here; 0 otherwise.
	known int
}

// writer is a session of an agent. Its generation determines the order. It was given out
// before the agent could send its first push, at the handshake or by Open, so that a late
// push can't count as newer than it is.
type writer struct {
	session    *Session
	agentID    string
	generation int64 // immutable
	// said is what the store has of what the agent says about itself; guarded by session.turn.
	said store.AgentDescription

	// run is the id of the run that the agent has sent; empty for one that can't be
	// notified.
	run string
	// heard says that its push was accepted, and none of a newer writer since.
	heard bool
	// superseded says that its pushes don't count, told that the agent knows that.
	superseded, told bool
	// pushing says that the store has a push of it and hasn't answered.
	pushing bool
	ended   bool
}

func (w *writers) init(log *slog.Logger) {
	w.log, w.here, w.elsewhere = log, make(map[string][]*writer), make(map[string]elsewhere)
}

// add adds the session to the agent's.
func (w *writers) add(s *Session, agentID string, generation int64, found store.Begun) *writer {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun++
	if found.Elsewhere.Generation > 0 {
		w.elsewhere[agentID] = elsewhere{found.Elsewhere, w.begun}
	}
	wr := &writer{session: s, agentID: agentID, generation: generation, said: found.Said}
	w.here[agentID] = append(w.here[agentID], wr)
	s.writers++
	return wr
}

// remove removes a session whose connection is gone.
func (w *writers) remove(s *Session) {
	var gone []*writer
	for _, wr := range s.writes { // there are no more calls on it
		gone = append(gone, wr)
	}
	w.mu.Lock()
	var ends []ending
	for _, wr := range gone {
		if wr.told {
			w.changed.Notify()
		}
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

// open records which run of the agent is on the connection. It returns whether the run must
// yield, if it does.
func (w *writers) open(wr *writer, run string, yields bool) (superseded bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wr.run = run
	holder := w.holder(wr.agentID)
	superseded = yields && holder.Generation != 0 && holder.Generation != wr.generation && holder.Run != run
	if superseded != wr.told {
		w.changed.Notify()
	}
	wr.superseded, wr.told = superseded, superseded
	return superseded
}

// pushing records that the store gets a push of wr, and returns its run; accepted, refused or
// failed follows.
func (w *writers) pushing(wr *writer) (run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wr.pushing = true
	return wr.run
}

// accepted records that a push of wr was accepted.
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
		if other.generation > wr.generation { // accepted later, but recorded earlier
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

// refused records that the store has refused a push of wr because of a newer writer.
func (w *writers) refused(wr *writer) {
	w.mu.Lock()
	wr.pushing = false
	wr.heard, wr.superseded, wr.told = false, true, true
	w.changed.Notify()
	ends := w.settle(wr.agentID)
	w.mu.Unlock()
	w.end(ends)
}

// failed records that a push of wr wasn't decided.
func (w *writers) failed(wr *writer) {
	w.mu.Lock()
	wr.pushing = false
	ends := w.settle(wr.agentID)
	w.mu.Unlock()
	w.end(ends)
}

// sessions returns a number that rises with each session, for setElsewhere.
func (w *writers) sessions() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.begun
}

// setElsewhere takes over what the store has said of the agents that are contested. What
// sessions that began since have found is newer.
func (w *writers) setElsewhere(list []store.Contested, since int) {
	w.mu.Lock()
	maps.DeleteFunc(w.elsewhere, func(_ string, e elsewhere) bool { return e.known <= since })
	for _, c := range list {
		if _, newer := w.elsewhere[c.AgentID]; !newer && c.Elsewhere.Generation > 0 {
			w.elsewhere[c.AgentID] = elsewhere{c.Elsewhere, 0}
		}
	}
	var ends []ending
	for agentID := range w.here {
		ends = append(ends, w.settle(agentID)...)
	}
	w.mu.Unlock()
	w.end(ends)
}

// holder returns the agent's writer that counts; without a generation if there is none. The
// caller holds w.mu.
func (w *writers) holder(agentID string) store.Writer {
	holder := w.elsewhere[agentID].Writer
	for _, wr := range w.here[agentID] {
		if wr.heard && wr.generation > holder.Generation {
			holder.Generation, holder.Run = wr.generation, wr.run
		}
	}
	return holder
}

// ending is a connection to be ended, and why.
type ending struct {
	*writer
	why error
	// news says that another agent is the reason.
	news bool
}

// settle returns the agent's connections to be ended. The caller holds w.mu.
func (w *writers) settle(agentID string) (ends []ending) {
	holder := w.holder(agentID)
	for _, wr := range w.here[agentID] {
		var why error
		switch {
		case wr.ended, wr.session.writers > 1: // it has several agents, and the others need it
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

// mayHold reports whether a newer writer than wr may be the one that counts: the store has
// its push, and may refuse others for it before this hub knows. The caller holds w.mu.
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

// notHeard returns the number of the agent's connections here that know that another agent
// has superseded them. The caller holds w.mu.
func (w *writers) notHeard(agentID string) (n int) {
	for _, wr := range w.here[agentID] {
		if wr.told && !wr.ended {
			n++
		}
	}
	return n
}

// unheard returns notHeard of the agents for which it isn't 0.
func (w *writers) unheard() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make(map[string]int)
	for id := range w.here {
		if n := w.notHeard(id); n > 0 {
			list[id] = n
		}
	}
	return list
}

// errNotHeard refuses the channel of an agent that is superseded by another one.
var errNotHeard = drpcerr.WithCode(errors.New("another agent with the same token has taken over"), wire.CodeSuperseded)

// Admits returns errNotHeard if another run of the agent has taken over.
func (f *Fleet) Admits(agentID, run string) error {
	w := &f.writers
	w.mu.Lock()
	defer w.mu.Unlock()
	if holder := w.holder(agentID); holder.Generation != 0 && holder.Run != run {
		return errNotHeard
	}
	return nil
}
