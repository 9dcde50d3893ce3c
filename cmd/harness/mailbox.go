package main

import (
	"sync"

	"waymark/host"
)

// mailbox takes reports without blocking who has them, and keeps their order.
type mailbox struct {
	more chan struct{} // holds a token while there are reports

	mu   sync.Mutex // guards list
	list []*host.Report
}

func newMailbox() *mailbox { return &mailbox{more: make(chan struct{}, 1)} }

func (m *mailbox) put(r *host.Report) {
	m.mu.Lock()
	m.list = append(m.list, r)
	m.mu.Unlock()
	select {
	case m.more <- struct{}{}:
	default: // it is known already
	}
}

func (m *mailbox) take() []*host.Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.list
	m.list = nil
	return list
}
