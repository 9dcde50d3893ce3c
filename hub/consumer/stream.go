package consumer

import (
	"net/http"

	"waymark/hub/store"
)

// reset says that the reader has to begin anew, and goes on from newest.
func (s *stream) reset(newest int64, reason string) error {
	s.cursor = newest
	s.out.event("reset", newest, resetEvent{reason})
	return s.flush()
}

// sendAgent tells of an agent that has connected or disconnected.
func (s *stream) sendAgent(row agentJSON) {
	if s.filter.pinID == "" && s.filter.wantsAgent(row.ID) {
		s.out.event("agent", none, row)
	}
}

// send tells of what happened, of each agent and pin the newest only if it is
// too much.
func (s *stream) send(groups []group, tooMuch bool) {
	var list []store.Event
	for _, g := range groups {
		for i := range g.events {
			if s.filter.wants(&g.events[i]) {
				list = append(list, g.events[i])
			}
		}
	}
	if tooMuch {
		list = coalesce(list)
	}
	for i := range list {
		// The stream is complete up to a revision with the last event of it,
		// and where events stand for older ones with the last of all.
		id := list[i].Revision
		if i < len(list)-1 && (tooMuch || list[i+1].Revision == id) {
			id = none
		}
		s.sendEvent(&list[i], id)
	}
}

func (s *stream) sendEvent(e *store.Event, id int64) {
	switch {
	case e.Change != nil:
		s.out.event("context", id, toContextEvent(e.Change))
	case e.Pin != nil:
		s.out.event("pin", id, toPin(e.Pin))
	case e.Deleted != nil:
		pin := toPin(e.Deleted)
		pin.Deleted = true
		s.out.event("pin", id, pin)
	default:
		s.out.event("agent", id, agentJSON{ID: e.RemovedAgent, Removed: true})
	}
}

func toContextEvent(ch *store.Change) contextEvent {
	e := contextEvent{AgentID: ch.AgentID, Revision: ch.Revision, Version: ch.Version, AggregateHash: ch.AggregateHash, Changed: ch.Touched}
	if e.Changed == nil {
		e.Changed = []string{}
	}
	e.More = ch.Added + ch.Changed + ch.Removed - len(ch.Touched)
	return e
}

// flush sends what has been gathered to the reader, who has some time to take
// it.
func (s *stream) flush() error {
	if s.out.buf.Len() == 0 {
		return nil
	}
	s.api.hurry(s.w)
	defer patient(s.w)
	_, err := s.w.Write(s.out.buf.Bytes())
	s.out.buf.Reset()
	if err == nil {
		err = http.NewResponseController(s.w).Flush()
	}
	return err
}
