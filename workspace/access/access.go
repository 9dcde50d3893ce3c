// Package access says who may act in a workspace: tokens with what they grant, and
// the wrapper by which a route asks for it.
package access

import (
	"context"
	"net/http"
	"slices"
	"time"

	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
)

// Scope is a kind of acting.
type Scope string

// The scopes.
const (
	ScopeProcesses Scope = "processes" // start, signal, stdin, resize
	ScopeFiles     Scope = "files"     // write and edit
	ScopeApprove   Scope = "approve"   // plugins
	ScopeMCP       Scope = "mcp"       // calls of tools
	ScopeTokens    Scope = "tokens"    // mint and revoke tokens, no wider than its own
	ScopeStop      Scope = "stop"      // end the agent and what it holds
)

// Grant is what a token allows. It is immutable.
type Grant struct {
	// ID names the token in the audit log; it is no secret.
	ID string
	// Scopes are what it may do.
	Scopes []Scope
	// Plan, if not empty, is a fence: the absolute path, without links, of the one
	// file that may be written. Processes run under a profile that holds them to
	// it.
	Plan string
	// Secrets are the entries of the secret list that it may see, as patterns of
	// vfs.SecretPatterns; "*" is all of them.
	Secrets []string
	// Expires is zero for never.
	Expires time.Time
}

// Has reports whether the grant has a scope. A nil Grant has none.
func (g *Grant) Has(scope Scope) bool { return g != nil && slices.Contains(g.Scopes, scope) }

type grantKey struct{}

// With returns a context whose caller has the grant.
func With(ctx context.Context, g *Grant) context.Context {
	return context.WithValue(ctx, grantKey{}, g)
}

// From returns the caller's grant; nil where there is no token.
func From(ctx context.Context) *Grant {
	g, _ := ctx.Value(grantKey{}).(*Grant)
	return g
}

// Acting wraps a handler that acts: 401 without a token, 403 beyond its scope.
func Acting(scope Scope, next httpapi.Handler) httpapi.Handler {
	return func(c *httpapi.Call) error {
		switch g := From(c.Context()); {
		case g == nil:
			return &problem.Error{Code: http.StatusUnauthorized, Message: "this needs a token, on the socket too",
				Detail: "send the one in control.token of the workspace's state directory, or one of 'agent token create', as Authorization: Bearer TOKEN"}
		case !g.Has(scope):
			return &problem.Error{Code: http.StatusForbidden, Message: "this token doesn't allow it", Detail: "it lacks the scope " + string(scope)}
		}
		return next(c)
	}
}
