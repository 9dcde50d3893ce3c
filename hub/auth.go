package hub

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"waymark/hub/ingest"
	"waymark/hub/server"
	"waymark/hub/store"
	"waymark/hub/transport"
	"waymark/internal/credential"
)

// errUnauthorized says that a token is missing, unknown, revoked or expired, without saying
// which. It is for readers; agents get transport.ErrUnauthorized.
var errUnauthorized = server.ErrUnauthorized

// lookup finds a valid token by its text, whatever its role. All lookups go through here,
// because the transport must learn whether a token was valid.
func (h *Hub) lookup(ctx context.Context, text string) (store.Token, error) {
	if _, known := store.RoleOfToken(text); !known {
		transport.Authenticated(ctx, false)
		return store.Token{}, errUnauthorized
	}
	hash := credential.HashOf(text)
	token, found := h.fresh.get(hash)
	var err error
	if !found {
		asked := time.Now()
		token, err = h.store.TokenByHash(ctx, hash)
		if err == nil && token.Role == store.RoleAgent && token.Valid(h.now()) {
			h.fresh.put(hash, &token, asked)
		}
	}
	if err := h.judge(ctx, err, token.Valid(h.now())); err != nil {
		return store.Token{}, err
	}
	h.fleet.Use(&token, h.now())
	return token, nil
}

// freshFor is how long after the store was asked its answer that an agent's token is valid
// holds: for a revoked one to be refused within two seconds, and longer than from one check of
// the connected agents' tokens to the next.
const freshFor = 1500 * time.Millisecond

// fresh are agents' tokens that the store has called valid a moment ago, so that the calls of a
// connection don't each look its token up.
type fresh struct {
	mu    sync.Mutex // guards known
	known map[credential.Hash]*freshToken
}

type freshToken struct {
	store.Token
	asked time.Time // when the store was asked last
}

func (f *fresh) get(hash credential.Hash) (store.Token, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := f.known[hash]
	if found == nil || time.Since(found.asked) > freshFor {
		return store.Token{}, false
	}
	return found.Token, true
}

func (f *fresh) put(hash credential.Hash, token *store.Token, asked time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.known = make(map[credential.Hash]*freshToken)
	}
	f.known[hash] = &freshToken{*token, asked}
}

// checked records which tokens the store, when it was asked, called valid; the others are
// forgotten unless another answer is still fresh.
func (f *fresh) checked(ids, valid []string, asked time.Time) {
	is := make(map[string]bool, len(ids))
	for _, id := range ids {
		is[id] = false
	}
	for _, id := range valid {
		is[id] = true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for hash, token := range f.known {
		switch valid, among := is[token.ID]; {
		case valid && asked.After(token.asked):
			token.asked = asked
		case among && !valid, !among && time.Since(token.asked) > freshFor:
			delete(f.known, hash)
		}
	}
}

// lookupSession is lookup for a browser's session.
func (h *Hub) lookupSession(ctx context.Context, text string) (store.Session, error) {
	if !credential.Session.Is(text) {
		transport.Authenticated(ctx, false)
		return store.Session{}, errUnauthorized
	}
	session, err := h.store.SessionByHash(ctx, credential.HashOf(text))
	if err := h.judge(ctx, err, session.Valid(h.now())); err != nil {
		return store.Session{}, err
	}
	h.fleet.Use(&session.Token, h.now())
	return session, nil
}

// judge returns the answer for the result of a lookup.
func (h *Hub) judge(ctx context.Context, err error, valid bool) error {
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && !valid:
		transport.Authenticated(ctx, false)
		return errUnauthorized
	case err != nil:
		if ctx.Err() == nil {
			h.log.Error("token not looked up", slog.Any("error", err))
		}
		return lookupError{err}
	}
	transport.Authenticated(ctx, true)
	return nil
}

// lookupError is all that a peer learns of an error of the store, which readers' routes judge.
type lookupError struct{ cause error }

func (lookupError) Error() string     { return transport.ErrInternal.Error() }
func (e lookupError) Unwrap() []error { return []error{transport.ErrInternal, e.cause} }

// services are the services of the hub's transport.
type services struct {
	*ingest.Service
	hub *Hub
}

// Authenticate implements transport.Services.
func (s *services) Authenticate(ctx context.Context, text string) (transport.Peer, error) {
	token, err := s.hub.lookup(ctx, text)
	if errors.Is(err, errUnauthorized) || err == nil && token.Role != store.RoleAgent {
		return transport.Peer{}, transport.ErrUnauthorized
	}
	return transport.Peer{TokenID: token.ID, AgentID: token.AgentID}, err
}

// ValidTokens implements transport.Services.
func (s *services) ValidTokens(ctx context.Context, ids []string) ([]string, error) {
	asked := time.Now()
	valid, err := s.hub.store.ValidTokens(ctx, ids)
	if err == nil {
		s.hub.fresh.checked(ids, valid, asked)
	}
	return valid, err
}
