package store

import (
	"context"
	"time"
)

// Presence tells hubs with the same store which agents are connected to the others. An
// agent's row names its hub from the beginning of a session, and a hub has a lease: the agents
// of one that doesn't renew it are away.
type Presence interface {
	// Lease says that a hub serves for ttl from now, and makes agents away whose hub ended long
	// ago. It reports whether the hub had no lease: then none of its agents is connected.
	Lease(ctx context.Context, hub PresentHub, ttl time.Duration) (begun bool, err error)
	// EndLease says that a hub doesn't serve any more. Its agents are away.
	EndLease(ctx context.Context, hub string) error
	// EndSessions says that sessions at a hub have ended.
	EndSessions(ctx context.Context, hub string, ended []EndedSession) error
	// KeepAgents says that agents are connected to a hub that lost its lease, or whose
	// connections at other hubs have ended.
	KeepAgents(ctx context.Context, hub string, ids []string) error
	// HubOf returns the hub with a lease to which an agent is connected. If there is none, the
	// error is ErrNotFound.
	HubOf(ctx context.Context, agentID string) (PresentHub, error)
	// Contested lists the agents that may have connections at several hubs including this one.
	Contested(ctx context.Context, hub string) ([]Contested, error)
	// SetNotHeard sets the numbers of connections at a hub that aren't heard, by agent. Agents
	// with a negative number aren't contested any more, as far as this hub is concerned.
	SetNotHeard(ctx context.Context, hub string, counts map[string]int) error
}

// PresentHub is one of several hubs with the same store.
type PresentHub struct {
	ID string
	// URL is the hub's address for the others; empty disables access.
	URL string
	// Secret authenticates the others to this hub. It is new with each start. Whoever can
	// read it in the store can read everything else there, too.
	Secret string
}

// Writer is a session whose pushes count, while it lasts.
type Writer struct {
	// Generation is that of the session; 0 says that there is none.
	Generation int64
	// Run is the id of the session's run, in hexadecimal; empty if the agent doesn't report it.
	Run string
}

// EndedSession is the end of a session.
type EndedSession struct {
	AgentID    string `json:"agent_id"`
	Generation int64  `json:"generation"`
	// Last says that the hub has no other connection of the agent.
	Last bool `json:"last"`
}

// Contested is an agent that may have connections at several hubs.
type Contested struct {
	AgentID string
	// Hub is where it is connected according to its row; empty: nowhere.
	Hub string
	// Elsewhere is its writer at another hub with a lease.
	Elsewhere Writer
	// NotHeard is the stored number for the asking hub.
	NotHeard int
}
