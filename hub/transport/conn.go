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

// conn is one connection of one peer: a WebSocket, or one of plain DRPC. The
// calls of the latter usually come with one agent's token, but nothing forbids
// several.
type conn struct {
	t       *Transport
	session Session
	// drop ends the connection.
	drop context.CancelCauseFunc

	mu      sync.Mutex // guards the rest
	clients map[*client]struct{}
	ended   bool
	calls   int         // that are under way
	leaving error       // why the connection ends with the last of them; nil: it doesn't
	ending  *time.Timer // ends it; nil while nothing does
}

// client is a token in use. It outlives the token's connections for a while,
// so that coming back doesn't reset the rate.
type client struct {
	agentID string
	rate    *rate.Limiter
	large   chan struct{} // an element for each large message; see intake
	// conns lists the connections but those that have to go, the oldest first.
	conns    []*conn
	idleFrom time.Time // when the last one ended; zero while there are some
}

// connections knows all connections, and with which tokens and by which agents
// they are used.
type connections struct {
	limits *Limits

	mu      sync.Mutex // guards everything below and client.conns
	conns   map[*conn]struct{}
	empty   chan struct{}      // closed when conns has become empty; nil while nobody waits
	agents  map[string]int     // connections by agent
	clients map[string]*client // by id of the token
}

// forgetAfter is long enough for any limiter's burst to be full again.
const forgetAfter = time.Minute

func (l *connections) init(limits *Limits) {
	l.limits = limits
	l.conns, l.agents, l.clients = make(map[*conn]struct{}), make(map[string]int), make(map[string]*client)
}

func (t *Transport) newConn(drop context.CancelCauseFunc) *conn {
	c := &conn{t: t, drop: drop, clients: make(map[*client]struct{})}
	c.session = t.services.NewSession(c.goAway)
	t.conns.add(c)
	if t.Draining() { // too late for Drain to have seen it
		c.goAway(errStopping)
	}
	return c
}

func (l *connections) add(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = struct{}{}
}

// attach makes the connection one of the client's, whose token was shown on it.
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

// enter and leave are the begin and the end of a call, or of the stream that is
// its own. A connection that is to go does so the grace after the last of them.
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

// goAway ends the connection as soon as no call is under way on it. The first
// reason counts.
func (c *conn) goAway(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaving = cmp.Or(c.leaving, why)
	if c.calls == 0 {
		c.drop(c.leaving)
	}
}

// end is called when the connection is gone.
func (c *conn) end() {
	defer c.t.conns.remove(c)
	c.session.End()
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

// all returns the connections that there are, and what is closed when the last
// of them is gone; nil when that is so now.
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

// client returns the client of the peer's token, whether or not it has
// connections.
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

// join adds a connection to its client's. It returns the one that has to go for
// it, if any, and whether the agent had none before.
func (l *connections) join(owner *client, c *conn) (oldest *conn, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	owner.conns, owner.idleFrom = append(owner.conns, c), time.Time{}
	l.agents[owner.agentID]++
	if len(owner.conns) > l.limits.SessionsPerToken {
		// It leaves when it has come to its end. Until then it must not be
		// taken for the oldest again.
		oldest, owner.conns = owner.conns[0], owner.conns[1:]
	}
	return oldest, l.agents[owner.agentID] == 1
}

// leave removes a connection from its client's and reports whether it was the
// agent's last.
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

// tokens returns the ids of the tokens that have connections, and forgets
// those that haven't had any for a while.
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

// recheckTokens ends the connections of tokens that have become invalid, also
// by another process, until the transport is closed. Calls authenticate by
// themselves; this is for peers that are silent.
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
	if err != nil { // then they stay, until it is known
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
