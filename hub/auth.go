package hub

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"waymark/hub/server"
	"waymark/hub/store"
	"waymark/hub/transport"
	"waymark/internal/credential"
)

// errUnauthorized says that a token is missing, unknown, revoked or expired;
// which of them is nobody's business. Readers get it; agents get
// transport.ErrUnauthorized.
var errUnauthorized = server.ErrUnauthorized

// lookup finds the valid token with the text, whatever its role. All tokens are
// looked up here, so that the transport learns of each whether it was valid.
func (h *Hub) lookup(ctx context.Context, text string) (store.Token, error) {
	if _, known := store.RoleOfToken(text); !known {
		transport.Authenticated(ctx, false)
		return store.Token{}, errUnauthorized
	}
	token, err := h.store.TokenByHash(ctx, credential.HashOf(text))
	if err := h.judge(ctx, err, token.Valid(h.now())); err != nil {
		return store.Token{}, err
	}
	h.uses.add(ctx, h, &token)
	return token, nil
}

// lookupSession is lookup for the session of a browser.
func (h *Hub) lookupSession(ctx context.Context, text string) (store.Session, error) {
	if !credential.Session.Is(text) {
		transport.Authenticated(ctx, false)
		return store.Session{}, errUnauthorized
	}
	session, err := h.store.SessionByHash(ctx, credential.HashOf(text))
	if err := h.judge(ctx, err, session.Valid(h.now())); err != nil {
		return store.Session{}, err
	}
	h.uses.add(ctx, h, &session.Token)
	return session, nil
}

// judge returns what to answer when looking a token or a session up ended with
// err, and what was found is valid or not.
func (h *Hub) judge(ctx context.Context, err error, valid bool) error {
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && !valid:
		transport.Authenticated(ctx, false)
		return errUnauthorized
	case err != nil:
		if ctx.Err() == nil {
			h.log.Error("token not looked up", slog.Any("error", err))
		}
		return transport.ErrInternal
	}
	transport.Authenticated(ctx, true)
	return nil
}

const (
	// touchEvery bounds how often the use of a token is written down, so that a
	// read doesn't become a write each time.
	touchEvery = time.Minute
	// touchFarewell is how long a hub that ends tries to write down the rest.
	touchFarewell = 2 * time.Second
)

// uses knows when tokens were used last, and when that was written down: at
// once for a token that hasn't been used for a while, then once a minute, and
// in the end.
type uses struct {
	mu   sync.Mutex // guards last
	last map[string]use
}

type use struct{ used, written time.Time }

// add takes down that the token is used now.
func (u *uses) add(ctx context.Context, h *Hub, token *store.Token) {
	if !u.due(token, h.now()) {
		return
	}
	if err := h.store.TouchToken(ctx, token.ID); err != nil && ctx.Err() == nil {
		h.log.Warn("use of token not stored", slog.String("token", token.ID), slog.Any("error", err))
	}
}

// due reports whether it is time to write the use down, for one of those who
// ask at the same time.
func (u *uses) due(token *store.Token, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == nil {
		u.last = make(map[string]use)
	}
	was := u.last[token.ID]
	if token.LastUsedAt.After(was.written) { // by another hub
		was.written = token.LastUsedAt
	}
	was.used = now
	due := now.Sub(was.written) > touchEvery
	if due {
		was.written = now
	}
	u.last[token.ID] = was
	return due
}

// flush writes down what hasn't been.
func (u *uses) flush(h *Hub) {
	u.mu.Lock()
	last := u.last
	u.last = nil
	u.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), touchFarewell)
	defer cancel()
	for id, use := range last {
		if !use.used.After(use.written) || ctx.Err() != nil {
			continue
		}
		if err := h.store.TouchToken(ctx, id); err != nil { // it may be deleted, or the store closed
			h.log.Debug("use of token not stored", slog.String("token", id), slog.Any("error", err))
		}
	}
}
