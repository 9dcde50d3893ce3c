package access

import (
	_ "embed" // the document
	"errors"
	"net"
	"net/http"

	"waymark/internal/errtext"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/workspace"
)

//go:embed openapi.json
var document []byte

// Service returns the routes by which tokens are minted, listed and revoked.
func (t *Tokens) Service() httpapi.Service {
	one := workspace.PathMintedTokens + "/{id}"
	return httpapi.Service{
		Routes: []httpapi.Route{
			{Method: http.MethodPost, Pattern: workspace.PathMintedTokens, Scope: string(ScopeTokens), Effect: httpapi.Fenced, Handle: t.create, Failed: "the token was not made"},
			{Method: http.MethodGet, Pattern: workspace.PathMintedTokens, Scope: string(ScopeTokens), Handle: t.list, Failed: "the tokens are not known"},
			{Method: http.MethodDelete, Pattern: one, Scope: string(ScopeTokens), Effect: httpapi.Fenced, Handle: t.revoke, Failed: "the token was not revoked"},
		},
		Document: document,
	}
}

// create answers POST /api/v0/tokens.
func (t *Tokens) create(c *httpapi.Call) error {
	var want workspace.NewToken
	if err := c.Decode(&want); err != nil {
		return err
	}
	made, err := t.Mint(c.Context(), From(c.Context()), OverSocket(c.Request), want)
	if err != nil {
		return refusal(c, err)
	}
	Note(c.Context(), made.ID)
	return c.JSON(http.StatusCreated, made)
}

// list answers GET /api/v0/tokens.
func (t *Tokens) list(c *httpapi.Call) error {
	return c.JSON(http.StatusOK, t.List(From(c.Context())))
}

// revoke answers DELETE /api/v0/tokens/{id}.
func (t *Tokens) revoke(c *httpapi.Call) error {
	if err := c.DecodeNothing(); err != nil {
		return err
	}
	if err := t.Revoke(c.Context(), From(c.Context()), c.Arg("id")); err != nil {
		return refusal(c, err)
	}
	return c.NoContent()
}

// refusal is what is answered for an error of this package; another one stays.
func refusal(c *httpapi.Call, err error) error {
	for target, code := range map[error]int{
		ErrRequest: http.StatusBadRequest, ErrWider: http.StatusForbidden,
		ErrTooMany: http.StatusConflict, ErrNoToken: http.StatusNotFound,
	} {
		if errors.Is(err, target) {
			return &problem.Error{Code: code, Message: c.Failed(), Detail: errtext.Of(err)}
		}
	}
	return err
}

// OverSocket reports whether a request came over the agent's own socket.
func OverSocket(r *http.Request) bool {
	_, ok := r.Context().Value(http.LocalAddrContextKey).(*net.UnixAddr)
	return ok
}
