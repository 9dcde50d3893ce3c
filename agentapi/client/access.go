package client

import (
	"context"
	"net/http"
	"net/url"

	"waymark/agentapi"
	"waymark/internal/httpapi/apiclient"
)

// Access are the calls about who may do what. They need a token that has the scope
// "tokens", as the control token does.
type Access interface {
	// CreateToken mints a token, which isn't wider than the one it is asked with. 403
	// says that it would be, 409 that there are too many.
	CreateToken(ctx context.Context, t agentapi.NewToken) (*agentapi.MintedToken, error)
	// Tokens lists the tokens that are valid, as far as they were minted with this
	// one, or with those.
	Tokens(ctx context.Context) ([]agentapi.Token, error)
	// RevokeToken ends a token, and those that were minted with it, by its id. 404
	// says that there is none, or that it isn't this one's.
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
