package access

import (
	"errors"
	"net"
	"net/http"

	"waymark/agentapi"
	"waymark/internal/errtext"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
)

// tokenParams are the parameters of a path with a token's id.
type tokenParams struct {
	// The id of the token, not its secret.
	ID string `path:"id" minLength:"1"`
}

// Service returns the routes for minting, listing and revoking tokens.
func (t *Tokens) Service() httpapi.Service {
	one := agentapi.PathMintedTokens + "/{id}"
	return httpapi.Service{
		About: httpapi.AgentAbout("access", "Tokens for what acts in the workspace."),
		Routes: []httpapi.Route{
			{Method: http.MethodPost, Pattern: agentapi.PathMintedTokens, Scope: string(ScopeTokens), Effect: httpapi.Fenced, Handle: t.create, Failed: "the token was not made",
				Operation: &httpapi.Operation{
					ID: "createToken", Summary: "Mint a token",
					Text:    "It is never wider than the token that asks for it: scopes, fence, secrets and time. The control token has no grant for secrets itself, and may grant them over the socket only. Needs the scope `tokens`.",
					Body:    agentapi.NewToken{},
					Example: agentapi.NewToken{Scopes: []string{"processes", "files"}, Plan: "/home/me/project/PLAN.md"},
					Answers: []httpapi.Answer{{Code: http.StatusCreated, Text: "The token, which is shown this once.", Body: agentapi.MintedToken{}}},
					Errors:  []int{http.StatusConflict},
				}},
			{Method: http.MethodGet, Pattern: agentapi.PathMintedTokens, Scope: string(ScopeTokens), Handle: t.list, Failed: "the tokens are not known",
				Operation: &httpapi.Operation{
					ID: "listTokens", Summary: "List the tokens that were minted",
					Text:    "Those that are valid, without the tokens themselves. To another token than the control token, only its own and those that were made with it are shown. Needs the scope `tokens`.",
					Answers: []httpapi.Answer{httpapi.OK("In the order in which they were made.", []agentapi.Token{})},
				}},
			{Method: http.MethodDelete, Pattern: one, Scope: string(ScopeTokens), Effect: httpapi.Fenced, Handle: t.revoke, Failed: "the token was not revoked",
				Operation: &httpapi.Operation{
					ID: "revokeToken", Summary: "Revoke a token", Text: "All that were made with it end, too. Needs the scope `tokens`.",
					Params:  tokenParams{},
					Answers: []httpapi.Answer{{Code: http.StatusNoContent, Text: "It isn't valid any more."}},
					Errors:  []int{http.StatusBadRequest, http.StatusNotFound, http.StatusUnsupportedMediaType},
				}},
		},
	}
}

// create answers POST /api/v0/tokens.
func (t *Tokens) create(c *httpapi.Call) error {
	var want agentapi.NewToken
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

// refusal converts errors of this package into answers. It returns other errors unchanged.
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

// OverSocket reports whether a request came over the agent's Unix socket.
func OverSocket(r *http.Request) bool {
	_, ok := r.Context().Value(http.LocalAddrContextKey).(*net.UnixAddr)
	return ok
}
