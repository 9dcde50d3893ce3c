package hub

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"storj.io/drpc/drpcerr"
	"storj.io/drpc/drpcmetadata"

	"waymark/hub/store"
	"waymark/wire"
)

// touchEvery bounds how often the use of a token is written down, so that a
// read doesn't become a write each time.
const touchEvery = time.Minute

// errUnauthorized says that a token is missing, unknown or revoked; which of
// them is nobody's business.
var errUnauthorized = errors.New("unauthorized")

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

// authenticateAgent returns the agent whose token the call's metadata holds.
func (h *Hub) authenticateAgent(ctx context.Context) (agentID string, err error) {
	metadata, _ := drpcmetadata.Get(ctx)
	token, err := h.lookup(ctx, metadata[wire.TokenMetadata])
	if err == nil && token.Role != store.RoleAgent {
		err = errUnauthorized
	}
	if errors.Is(err, errUnauthorized) {
		return "", drpcerr.WithCode(errUnauthorized, wire.CodeUnauthorized)
	}
	return token.AgentID, err
}
