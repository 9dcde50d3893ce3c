// Package fleet knows the agents of a hub: which connection writes for each of them, here and at
// other hubs with the same store, who is superseded, and when each was last connected. The
// store decides which push counts; Fleet tells agents so, and tells the store who is here.
//
// A Fleet is safe for concurrent use. The calls of a Session wait for each other.
package fleet

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"waymark/hub/store"
	"waymark/hub/transport"
)

// Options configure a Fleet.
type Options struct {
	Store store.Store
	Log   *slog.Logger
	// Self is this hub, as other hubs with the same store see it.
	Self store.PresentHub
	// Transport has the connections.
	Transport *transport.Transport
	// Presence is how often the fleet looks after agents that may be connected to several hubs
	// with the same store; 0 means every 2 seconds.
	Presence time.Duration
}

// Fleet is the agents of a hub.
type Fleet struct {
	opts     Options
	uses     uses
	presence presence
	seen     lastSeen
	writers  writers
}

// New makes a Fleet.
func New(opts Options) *Fleet {
	f := &Fleet{opts: opts}
	f.presence.init(f)
	f.seen.init(f)
	f.writers.init(opts.Log)
	return f
}

// NewSession returns the state of a new connection, which end ends.
func (f *Fleet) NewSession(end func(why error)) *Session {
	return &Session{fleet: f, end: end, turn: semaphore.NewWeighted(1), writes: make(map[string]*writer)}
}

// Run does the background work, without which no session begins, until ctx ends. Let it end when no
// connection is left: the last thing that it does is to store what is left to be stored.
func (f *Fleet) Run(ctx context.Context) {
	var seen sync.WaitGroup
	defer seen.Wait()
	seen.Go(func() { f.seen.run(ctx) })
	f.presence.run(ctx)
}

// Unheard returns how many connections of each agent know that another agent has superseded
// them, of those that have any.
func (f *Fleet) Unheard() map[string]int { return f.writers.unheard() }

// Condition returns the condition of the store some seconds ago; zero at first.
func (f *Fleet) Condition() (c store.Condition) {
	if found := f.presence.condition.Load(); found != nil {
		c = *found
	}
	return c
}
