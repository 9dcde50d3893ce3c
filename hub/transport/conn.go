package transport

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// conn is a connection of a peer: a WebSocket, or plain DRPC. The calls of the latter
// usually come from one agent, but there may be several.
type conn struct {
	t       *Transport
	session Session
	// drop ends the connection.
	drop context.CancelCauseFunc
	// place is what the connection has until its agent is current; immutable.
	place *place

	mu      sync.Mutex // guards the fields below
	clients map[*client]struct{}
	ended   bool
	calls   int         // number of calls in progress
	leaving error       // why the connection ends after the last call; nil if it doesn't
	ending  *time.Timer // ends the connection; nil if nothing does
}

// client is a token in use. It outlives the token's connections for a while, so that
// reconnecting doesn't reset the rate.
type client struct {
	agentID string
	rate    *rate.Limiter
	large   chan struct{} // has an element for each large message; see intake
	// conns are the connections except those that must end, oldest first.
	conns    []*conn
	idleFrom time.Time // end of the last connection; zero while there are some
}

// connections are all connections, with the tokens and agents that use them.
type connections struct {
	limits *Limits

	mu      sync.Mutex // guards the fields below and client.conns
	conns   map[*conn]struct{}
	empty   chan struct{}      // closed when conns is empty; nil if nobody waits
	agents  map[string]int     // number of connections by agent
	clients map[string]*client // by id of the token
}

// forgetAfter is long enough for any limiter to be refilled.
const forgetAfter = time.Minute

func (l *connections) init(limits *Limits) {
	l.limits = limits
	l.conns, l.agents, l.clients = make(map[*conn]struct{}), make(map[string]int), make(map[string]*client)
}

func (t *Transport) newConn(drop context.CancelCauseFunc) *conn {
	c := &conn{t: t, drop: drop, clients: make(map[*client]struct{})}
	c.session = t.services.NewSession(c.goAway)
	t.conns.add(c)
	if t.Draining() { // Drain may have missed it
		c.goAway(errStopping)
	}
	return c
}

func (l *connections) add(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = struct{}{}
}

// attach assigns the connection to the client whose token was shown on it.
func (c *conn) attach(owner *client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.clients[owner]; known || c.ended {
		return
	}
	c.clients[owner] = struct{}{}
	oldest, first := c.t.conns.join(owner, c)
	if oldest != nil {
		oldest.drop(errTooManySessions)
	}
	if first {
		c.t.log.Info("agent connected", slog.String("agent", owner.agentID))
	}
}

// enter and leave are called at the beginning and end of a call, or of its stream. A
// connection that must end does so grace after the last of them.
func (c *conn) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
}

func (c *conn) leave(grace time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls--
	switch {
	case c.leaving == nil || c.calls > 0 || c.ended:
	case grace == 0:
		c.drop(c.leaving)
	case c.ending == nil:
		why := c.leaving
		c.ending = time.AfterFunc(grace, func() { c.drop(why) })
	}
}

// goAway ends the connection as soon as it has no calls in progress. The first reason
// counts.
func (c *conn) goAway(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaving = cmp.Or(c.leaving, why)
	if c.calls == 0 {
		c.drop(c.leaving)
	}
}

// end is called when the connection is gone. The session ends last, so that nobody who is told
// of that still finds the agent connected by it.
func (c *conn) end() {
	defer c.t.conns.remove(c)
	defer c.session.End()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.ending != nil {
		c.ending.Stop()
	}
	for owner := range c.clients {
		if c.t.conns.leave(owner, c) {
			c.t.log.Info("agent disconnected", slog.String("agent", owner.agentID))
		}
	}
	clear(c.clients)
}

func (l *connections) remove(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	if l.empty != nil && len(l.conns) == 0 {
		close(l.empty)
		l.empty = nil
	}
}

// all returns the connections, and a channel that is closed when the last of them is gone;
// nil if there are none.
func (l *connections) all() (list []*conn, empty <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list = slices.Collect(maps.Keys(l.conns))
	if len(list) > 0 && l.empty == nil {
		l.empty = make(chan struct{})
	}
	return list, l.empty
}

func (l *connections) newClient(agentID string) *client {
	return &client{
		agentID: agentID, large: make(chan struct{}, largePerToken),
		rate: rate.NewLimiter(rate.Limit(l.limits.Rate), l.limits.Burst),
	}
}

// client returns the client of the peer's token, whether it has connections or not.
func (l *connections) client(peer Peer) *client {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.clients[peer.TokenID]
	if c == nil {
		c = l.newClient(peer.AgentID)
		c.idleFrom = time.Now()
		l.clients[peer.TokenID] = c
	}
	return c
}

// join adds a connection to its client. It returns the connection that must end for it, if
// any, and whether the agent had none before.
func (l *connections) join(owner *client, c *conn) (oldest *conn, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	owner.conns, owner.idleFrom = append(owner.conns, c), time.Time{}
	l.agents[owner.agentID]++
	if len(owner.conns) > l.limits.SessionsPerToken {
		// It leaves when it has ended. Until then it must not count as the oldest again.
		oldest, owner.conns = owner.conns[0], owner.conns[1:]
	}
	return oldest, l.agents[owner.agentID] == 1
}

// leave removes a connection from its client, and reports whether it was the agent's last.
func (l *connections) leave(owner *client, c *conn) (last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(owner.conns, c); i >= 0 {
		owner.conns = slices.Delete(owner.conns, i, i+1)
	}
	if len(owner.conns) == 0 {
		owner.idleFrom = time.Now()
	}
	l.agents[owner.agentID]--
	if l.agents[owner.agentID] > 0 {
		return false
	}
	delete(l.agents, owner.agentID)
	return true
}

func (l *connections) agentIDs() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.agents))
}

func (l *connections) connected(agentID string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.agents[agentID] > 0
}

// tokens returns the ids of tokens with connections, and forgets those that had none for a
// while.
func (l *connections) tokens() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []string
	for id, c := range l.clients {
		switch {
		case len(c.conns) > 0:
			ids = append(ids, id)
		case time.Since(c.idleFrom) > forgetAfter:
			delete(l.clients, id)
		}
	}
	return ids
}

// tokenConns returns the token's connections.
func (l *connections) tokenConns(tokenID string) []*conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.clients[tokenID]; c != nil {
		return slices.Clone(c.conns)
	}
	return nil
}

// recheckTokens ends the connections of tokens that have become invalid, even by another
// process, until the transport is closed. It is for silent peers, because calls
// authenticate themselves.
func (t *Transport) recheckTokens() {
	ticker := time.NewTicker(t.limits.Recheck)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			t.recheckOnce()
		case <-t.ctx.Done():
			return
		}
	}
}

func (t *Transport) recheckOnce() {
	ids := t.conns.tokens()
	if len(ids) == 0 {
		return
	}
	valid, err := t.services.ValidTokens(t.ctx, ids)
	if err != nil { // keep them until it is known
		if t.ctx.Err() == nil {
			t.log.Error("tokens not looked up", slog.Any("error", err))
		}
		return
	}
	slices.Sort(valid)
	for _, id := range ids {
		if _, ok := slices.BinarySearch(valid, id); ok {
			continue
		}
		for _, c := range t.conns.tokenConns(id) {
			t.log.Info("connection ended", slog.String("token", id), slog.Any("error", errRevoked))
			c.drop(errRevoked)
		}
	}
}
