package client

import (
	"context"
	"net/http"
	"net/url"

	"waymark/internal/httpapi/apiclient"
	"waymark/workspace"
)

// Owner is what the owner of a workspace asks of an agent, beside all that a
// [Client] does: who may act, and its end. It needs the control token, or one with
// the scopes.
type Owner interface {
	Client
	// CreateToken mints a token, which isn't wider than the one it is asked with.
	CreateToken(ctx context.Context, t workspace.NewToken) (*workspace.MintedToken, error)
	// Tokens lists the tokens that are valid.
	Tokens(ctx context.Context) ([]workspace.Token, error)
	// RevokeToken ends a token, by its id. It is an error of code 404 when there is
	// none.
	RevokeToken(ctx context.Context, id string) error
	// Stop ends what the agent holds, and then the agent: it may be there still, for
	// a moment.
	Stop(ctx context.Context) error
}

// NewOwner is New for an owner.
func NewOwner(address string, opts Options) Owner { return newAgent(address, opts) }

func (a *agent) CreateToken(ctx context.Context, t workspace.NewToken) (*workspace.MintedToken, error) {
	return apiclient.Fetch[workspace.MintedToken](ctx, a.api, apiclient.Request{Method: http.MethodPost, Path: workspace.PathMintedTokens, Body: t})
}

func (a *agent) Tokens(ctx context.Context) ([]workspace.Token, error) {
	return apiclient.List[workspace.Token](ctx, a.api, apiclient.Get(workspace.PathMintedTokens))
}

func (a *agent) RevokeToken(ctx context.Context, id string) error {
	return a.api.Send(ctx, apiclient.Request{Method: http.MethodDelete, Path: workspace.PathMintedTokens + "/" + url.PathEscape(id)})
}

func (a *agent) Stop(ctx context.Context) error {
	return a.api.Send(ctx, apiclient.Request{Method: http.MethodPost, Path: workspace.PathStop})
}
