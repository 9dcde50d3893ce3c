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
	token, err := h.store.TokenByHash(ctx, credential.HashOf(text))
	if err := h.judge(ctx, err, token.Valid(h.now())); err != nil {
		return store.Token{}, err
	}
	h.uses.add(ctx, h, &token)
	return token, nil
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
	h.uses.add(ctx, h, &session.Token)
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
		return transport.ErrInternal
	}
	transport.Authenticated(ctx, true)
	return nil
}

const (
	// touchEvery limits how often the use of a token is stored, so that not every read
	// causes a write.
	touchEvery = time.Minute
	// touchFarewell is how long a stopping hub tries to store the rest.
	touchFarewell = 2 * time.Second
)

// uses records when tokens were last used, and when that was stored: at once after a pause,
// then once a minute, and at the end.
type uses struct {
	mu   sync.Mutex // guards last
	last map[string]use
}

type use struct{ used, written time.Time }

// add records that a token is used now.
func (u *uses) add(ctx context.Context, h *Hub, token *store.Token) {
	if !u.due(token, h.now()) {
		return
	}
	if err := h.store.TouchToken(ctx, token.ID); err != nil && ctx.Err() == nil {
		h.log.Warn("use of token not stored", slog.String("token", token.ID), slog.Any("error", err))
	}
}

// due reports to one of several concurrent callers that it is time to store the use.
func (u *uses) due(token *store.Token, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == nil {
		u.last = make(map[string]use)
	}
	was := u.last[token.ID]
	if token.LastUsedAt.After(was.written) { // another hub has stored it
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

// flush stores the uses that aren't stored yet.
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
		if err := h.store.TouchToken(ctx, id); err != nil { // the token may be deleted, or the store closed
			h.log.Debug("use of token not stored", slog.String("token", id), slog.Any("error", err))
		}
	}
}
