// Package calls sends requests to agents over their reverse channels: questions of readers, tool
// calls of chats, and approvals whenever they have changed. An agent that is connected to
// another hub with the same store is asked through that hub.
//
// Calls decides nothing: the agent checks the capability of a chat's call. What it may be asked,
// and for how long, is the list asked; other hubs can ask nothing else.
//
// A Calls is safe for concurrent use. An agent has at most maxAsks and maxChatCalls requests in
// progress, and an answer has at most maxAnswer bytes.
package calls

import (
	"log/slog"
	"net/http"
	"time"

	"waymark/hub/fleet"
	"waymark/hub/store"
	"waymark/hub/transport"
)

// Options configure a Calls. All fields are required.
type Options struct {
	Store store.Store
	Log   *slog.Logger
	Now   func() time.Time
	// Self is this hub, as other hubs with the same store see it.
	Self      store.PresentHub
	Transport *transport.Transport
	Fleet     *fleet.Fleet
}

// Calls sends requests to agents. Make one with New.
type Calls struct {
	opts      Options
	client    *http.Client // for other hubs
	approvals approvals
	channels  channels
}

// New makes a Calls.
func New(opts Options) *Calls {
	c := &Calls{opts: opts, client: newReplicaClient()}
	c.approvals.init(c)
	return c
}

// Channels returns the number of open reverse channels.
func (c *Calls) Channels() int { return c.channels.count() }

// Close ends the background work and waits for that. Call it when no connection is left.
func (c *Calls) Close() {
	c.approvals.close()
	c.client.CloseIdleConnections()
}
