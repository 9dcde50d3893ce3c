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
