package hub

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// live knows which agents have a connection now, and with which tokens.
type live struct {
	limits *Limits

	mu      sync.Mutex         // guards everything below and holder.sessions
	agents  map[string]int     // connections by agent
	holders map[string]*holder // by id of the token
}

// holder is a token in use. It outlives the token's connections for a while,
// so that coming back doesn't reset the rate.
type holder struct {
	agentID string
	rate    *rate.Limiter
	large   chan struct{} // an element for each large call; see intake
	// sessions lists the connections but those that have to go, the oldest
	// first.
	sessions []*session
	idleFrom time.Time // when the last one ended; zero while there are some
}

// forgetAfter is long enough for any limiter's burst to be full again.
const forgetAfter = time.Minute

func (l *live) init(limits *Limits) {
	l.limits, l.agents, l.holders = limits, make(map[string]int), make(map[string]*holder)
}

func (l *live) newHolder(agentID string) *holder {
	return &holder{
		agentID: agentID, large: make(chan struct{}, largePerToken),
		rate: rate.NewLimiter(rate.Limit(l.limits.Rate), l.limits.Burst),
	}
}

// hold returns the holder of the token, whether or not it has connections.
func (l *live) hold(tokenID, agentID string) *holder {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.holders[tokenID]
	if h == nil {
		h = l.newHolder(agentID)
		h.idleFrom = time.Now()
		l.holders[tokenID] = h
	}
	return h
}

// join adds a connection. It returns the one that has to go for it, if any,
// and whether the agent had none before.
func (l *live) join(h *holder, s *session) (oldest *session, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h.sessions, h.idleFrom = append(h.sessions, s), time.Time{}
	l.agents[h.agentID]++
	if len(h.sessions) > l.limits.SessionsPerToken {
		// It leaves when it has come to its end. Until then it must not be
		// taken for the oldest again.
		oldest, h.sessions = h.sessions[0], h.sessions[1:]
	}
	return oldest, l.agents[h.agentID] == 1
}

// leave removes a connection and reports whether it was the agent's last.
func (l *live) leave(h *holder, s *session) (last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, other := range h.sessions {
		if other == s {
			h.sessions = append(h.sessions[:i:i], h.sessions[i+1:]...)
			break
		}
	}
	if len(h.sessions) == 0 {
		h.idleFrom = time.Now()
	}
	l.agents[h.agentID]--
	if l.agents[h.agentID] > 0 {
		return false
	}
	delete(l.agents, h.agentID)
	return true
}

// tokens returns the ids of the tokens that have connections, and forgets
// those that haven't had any for a while.
func (l *live) tokens() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []string
	for id, h := range l.holders {
		switch {
		case len(h.sessions) > 0:
			ids = append(ids, id)
		case time.Since(h.idleFrom) > forgetAfter:
			delete(l.holders, id)
		}
	}
	return ids
}

// sessions returns the token's connections.
func (l *live) sessions(tokenID string) []*session {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.holders[tokenID]; h != nil {
		return append([]*session{}, h.sessions...)
	}
	return nil
}

// Connected reports whether the agent has a live connection: one on which it
// has shown its token.
func (h *Hub) Connected(agentID string) bool {
	h.live.mu.Lock()
	defer h.live.mu.Unlock()
	return h.live.agents[agentID] > 0
}
