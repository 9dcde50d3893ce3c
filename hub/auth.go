package hub

import (
	"context"
	"errors"
	"log/slog"

	"storj.io/drpc/drpcerr"
	"storj.io/drpc/drpcmetadata"

	"waymark/hub/consumer"
	"waymark/hub/store"
	"waymark/wire"
)

// errUnauthorized says that a token is missing, unknown, revoked or expired;
// which of them is nobody's business.
var errUnauthorized = consumer.ErrUnauthorized

// lookup finds the valid token with the text, whatever its role. It is the one
// way in for tokens, and tells the door of the connection that one was shown.
func (h *Hub) lookup(ctx context.Context, text string) (store.Token, error) {
	if store.CheckTokenText(store.RoleAgent, text) != nil && store.CheckTokenText(store.RoleReader, text) != nil {
		shown(ctx, false)
		return store.Token{}, errUnauthorized
	}
	token, err := h.store.TokenByHash(ctx, store.HashToken(text))
	if err := h.judge(ctx, err, token.Valid(h.now())); err != nil {
		return store.Token{}, err
	}
	h.uses.note(ctx, h, &token)
	return token, nil
}

// lookupSession is lookup for the session of a browser.
func (h *Hub) lookupSession(ctx context.Context, text string) (store.Session, error) {
	if store.CheckSessionText(text) != nil {
		shown(ctx, false)
		return store.Session{}, errUnauthorized
	}
	session, err := h.store.SessionByHash(ctx, store.HashToken(text))
	if err := h.judge(ctx, err, session.Valid(h.now())); err != nil {
		return store.Session{}, err
	}
	h.uses.note(ctx, h, &session.Token)
	return session, nil
}

// judge says what it means that looking something up ended with err, and that
// what was found is valid.
func (h *Hub) judge(ctx context.Context, err error, valid bool) error {
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && !valid:
		shown(ctx, false)
		return errUnauthorized
	case err != nil:
		if ctx.Err() == nil {
			h.log.Error("token not looked up", slog.Any("error", err))
		}
		return errInternal
	}
	shown(ctx, true)
	return nil
}

// agent says who calls with the text as the token.
func (h *Hub) agent(ctx context.Context, text string) (caller, error) {
	token, err := h.lookup(ctx, text)
	if err == nil && token.Role != store.RoleAgent {
		err = errUnauthorized
	}
	if err != nil {
		return caller{}, err
	}
	return caller{agentID: token.AgentID, holder: h.live.hold(token.ID, token.AgentID)}, nil
}

// loginCall says who makes a call by the token in its metadata.
func (h *Hub) loginCall(ctx context.Context) (caller, error) {
	metadata, _ := drpcmetadata.Get(ctx)
	return h.login(ctx, metadata[wire.TokenMetadata])
}

// login is agent with the code of a call's answer.
func (h *Hub) login(ctx context.Context, text string) (caller, error) {
	who, err := h.agent(ctx, text)
	if errors.Is(err, errUnauthorized) {
		err = drpcerr.WithCode(errUnauthorized, wire.CodeUnauthorized)
	}
	return who, err
}
