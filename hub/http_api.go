package hub

import (
	"waymark/hub/consumer"
)

// newConsumer makes the API for readers.
func (h *Hub) newConsumer(limits consumer.Limits) *consumer.API {
	return consumer.New(consumer.Options{
		Store: h.store, Lookup: h.lookup, Session: h.lookupSession, Connected: h.connected, Limits: limits, Logger: h.log, Now: h.now,
	})
}

// connected lists the agents that have a live connection.
func (l *live) connected() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := make([]string, 0, len(l.agents))
	for id := range l.agents {
		ids = append(ids, id)
	}
	return ids
}
