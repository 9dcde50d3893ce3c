package client

import (
	"context"
	"net/http"
	"net/url"

	"waymark/agentapi"
	"waymark/internal/httpapi/apiclient"
)

// Access has the calls that manage tokens. They need a token with the scope "tokens", such
// as the control token.
type Access interface {
	// CreateToken mints a token, which can't grant more than the client's own. 403 says
	// that it would, 409 that there are too many tokens.
	CreateToken(ctx context.Context, t agentapi.NewToken) (*agentapi.MintedToken, error)
	// Tokens lists the valid tokens that were minted with the client's token, directly or
	// indirectly.
	Tokens(ctx context.Context) ([]agentapi.Token, error)
	// RevokeToken revokes the token with this id and all tokens that were minted with it.
	// 404 says that there is no such token, or that it wasn't minted with the client's
	// token.
	RevokeToken(ctx context.Context, id string) error
}

func (a *agent) CreateToken(ctx context.Context, t agentapi.NewToken) (*agentapi.MintedToken, error) {
	return apiclient.Fetch[agentapi.MintedToken](ctx, a.api, apiclient.Request{Method: http.MethodPost, Path: agentapi.PathMintedTokens, Body: t})
}

func (a *agent) Tokens(ctx context.Context) ([]agentapi.Token, error) {
	return apiclient.List[agentapi.Token](ctx, a.api, apiclient.Get(agentapi.PathMintedTokens))
}

func (a *agent) RevokeToken(ctx context.Context, id string) error {
	return a.api.Send(ctx, apiclient.Request{Method: http.MethodDelete, Path: agentapi.PathMintedTokens + "/" + url.PathEscape(id)})
}

func (a *agent) Stop(ctx context.Context) error {
	return a.api.Send(ctx, apiclient.Request{Method: http.MethodPost, Path: agentapi.PathStop})
}
