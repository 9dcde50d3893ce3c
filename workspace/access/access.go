// Package access controls who may act in a workspace. It has tokens with grants, the guard
// that enforces them on routes, and the audit log.
//
// Whoever can open the agent's socket may read. Acting also requires a token: the control
// token, which is in a file that no profile of [waymark/workspace/launch] shows to a
// process, or one that was minted with it.
//
// # Guarantees
//
//   - A token grants what was recorded when it was minted, which is never more than its minter's
//     token granted: scopes, fence, secrets, time. It ends with its minter's token.
//   - A token with a fence can change nothing but its plan on any route. A route that isn't a GET
//     can only be mounted if it says whether it acts, and acting is refused unless the handler
//     enforces the fence itself.
//   - A capability, which a chat presents through a hub, isn't valid for any route. It only works
//     with [Tokens.Capability].
//   - Minted tokens are stored as hashes. No file of this package grants access to its reader.
//   - Every acting call that [Guard] admits, and every one that it refuses to a known token, is
//     recorded in the audit log when it is over. The log contains no tokens and no file contents.
//
// # Concurrency
//
// Everything may be used by any number of goroutines.
//
// # Limits
//
// At most 256 minted tokens are valid at a time. A token is checked at the beginning of a
// call and may expire during it. If the agent is killed during a call, the call isn't
// recorded.
package access

import (
	"context"
	"net/http"
	"path"
	"slices"
	"time"

	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
)

// Scope is a kind of action.
type Scope string

// The scopes.
const (
	ScopeProcesses Scope = "processes" // start, signal, stdin, resize
	ScopeFiles     Scope = "files"     // write and edit
	ScopeApprove   Scope = "approve"   // plugins
	ScopeMCP       Scope = "mcp"       // calls of tools
	ScopeTokens    Scope = "tokens"    // mint and revoke tokens, no wider than its own
	ScopeStop      Scope = "stop"      // end the agent and what it holds
	ScopeDesktop   Scope = "desktop"   // the desktop: keys, pointer, pictures
	// ScopeDesktopView allows looking at the desktop, which ScopeDesktop includes.
	ScopeDesktopView Scope = "desktop-view"
)

// Scopes returns all scopes.
func Scopes() []Scope {
	return []Scope{ScopeProcesses, ScopeFiles, ScopeApprove, ScopeMCP, ScopeTokens, ScopeStop, ScopeDesktop, ScopeDesktopView}
}

// ControlID is the id of the control token's grant.
const ControlID = "control"

// Grant is what a token allows. It is immutable.
type Grant struct {
	// ID identifies the token in the audit log. It isn't secret.
	ID string
	// Scopes are the allowed actions.
	Scopes []Scope
	// Plan, if not empty, is a fence: the absolute path, without links, of the only file
	// that may be written. Processes run under a profile that enforces it.
	Plan string
	// Secrets are the visible entries of the secret list, as patterns of
	// vfs.SecretPatterns; "*" means all.
	Secrets []string
	// Expires is when the token expires; zero means never.
	Expires time.Time
	// Tools are names and patterns of allowed tools. None means all that scopes and fence
	// allow.
	Tools []string
	// Within restricts the token to the workspace's files, whatever the configuration says.
	Within bool
}

// Has reports whether the grant has a scope. A nil Grant has none.
func (g *Grant) Has(scope Scope) bool {
	return g != nil && (slices.Contains(g.Scopes, scope) || scope == ScopeDesktopView && slices.Contains(g.Scopes, ScopeDesktop))
}

// Allows reports whether a tool (server__tool for a server's) is among the grant's Tools.
// It doesn't check scopes and fence. A nil Grant has no list and allows all.
func (g *Grant) Allows(tool string) bool {
	return g == nil || len(g.Tools) == 0 || slices.ContainsFunc(g.Tools, func(pattern string) bool {
		ok, err := path.Match(pattern, tool)
		return err == nil && ok
	})
}

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

// Guard implements [httpapi.Options].Guard. It returns 401 without a token if the route has
// a scope, and 403 if the token lacks the scope or the route acts outside the token's
// fence. Acting calls with a scope are recorded in the audit log of the call's context; see
// [Audited] and [Note]. If the log's limit for the token is reached, it returns 429; if the
// log can't be written, 503.
func Guard(c *httpapi.Call, route *httpapi.Route) error {
	g := From(c.Context())
	err := g.mayCall(route)
	acts := route.Effect == httpapi.Acts || route.Effect == httpapi.Fenced
	if acts && route.Scope != "" && g != nil {
		return record(c, g, Scope(route.Scope), err)
	}
	return err
}

// mayCall is Guard without the audit log.
func (g *Grant) mayCall(route *httpapi.Route) error {
	switch {
	case route.Scope != "" && g == nil:
		return &problem.Error{Code: http.StatusUnauthorized, Message: "this needs a token, on the socket too",
			Detail: "send the one in control.token of the workspace's state directory, or one of 'agent token create', as Authorization: Bearer TOKEN"}
	case route.Scope != "" && !g.Has(Scope(route.Scope)):
		return &problem.Error{Code: http.StatusForbidden, Message: "this token doesn't allow it", Detail: "it lacks the scope " + route.Scope}
	case route.Effect == httpapi.Acts && g != nil && g.Plan != "":
		return &problem.Error{Code: http.StatusForbidden, Message: "this token doesn't allow it", Detail: "it is fenced in to a plan: it changes nothing else"}
	}
	return nil
}
