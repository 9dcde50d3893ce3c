package hub

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"storj.io/drpc/drpcerr"
	"storj.io/drpc/drpcmetadata"

	"waymark/hub/consumer"
	"waymark/hub/store"
	"waymark/wire"
)

// touchEvery bounds how often the use of a token is written down, so that a
// read doesn't become a write each time.
const touchEvery = time.Minute

// errUnauthorized says that a token is missing, unknown or revoked; which of
// them is nobody's business.
var errUnauthorized = consumer.ErrUnauthorized

// lookup finds the token with the text, whatever its role.
func (h *Hub) lookup(ctx context.Context, text string) (store.Token, error) {
	if store.CheckTokenText(store.RoleAgent, text) != nil && store.CheckTokenText(store.RoleReader, text) != nil {
		return store.Token{}, errUnauthorized
	}
	token, err := h.store.TokenByHash(ctx, store.HashToken(text))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return store.Token{}, errUnauthorized
	case err != nil:
		h.log.Error("token not looked up", slog.Any("error", err))
		return store.Token{}, errInternal
	case token.Revoked():
		return store.Token{}, errUnauthorized
	}
	if h.now().Sub(token.LastUsedAt) > touchEvery {
		if err := h.store.TouchToken(ctx, token.ID); err != nil && ctx.Err() == nil {
			h.log.Warn("use of token not noted", slog.String("token", token.ID), slog.Any("error", err))
		}
	}
	return token, nil
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
