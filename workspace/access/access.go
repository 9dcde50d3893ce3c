// Package access says who may act in a workspace: tokens with what they grant,
// the guard that holds routes to it, and the log of what was done.
//
// Who can open the agent's socket may read. What acts asks for a token in
// addition: the control token, which lies in a file that no profile of
// [waymark/workspace/launch] shows to a process, or one that was minted with it.
//
// # Guarantees
//
//   - A token grants what was written down when it was minted, which is never more
//     than its minter had: scopes, fence, secrets, time. It ends with its minter.
//   - Who is fenced in to a plan changes nothing else by any route: one that isn't a GET
//     can't be mounted before it says whether it acts, and what acts is refused, unless its
//     handler holds itself to the fence.
//   - A capability, which a chat shows through a hub, is no token elsewhere: it is good
//     for what [Tokens.Capability] is asked for, and for no route.
//   - Minted tokens are kept as hashes; what a file of this package holds lets
//     nobody in.
//   - Every acting call that [Guard] lets through, or refuses to a known token, is a line
//     of the audit log when it is over. No token and no content of a file gets
//     there.
//
// # Concurrency
//
// All may be used by any number of goroutines.
//
// # Limits
//
// At most 256 minted tokens are valid at a time. A token is looked at when a call
// begins: one that ends meanwhile doesn't end the call. The agent that is killed
// in the middle of a call leaves no line of it.
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

// Scopes returns all scopes.
func Scopes() []Scope {
	return []Scope{ScopeProcesses, ScopeFiles, ScopeApprove, ScopeMCP, ScopeTokens, ScopeStop}
}

// ControlID is the id of the control token's grant.
const ControlID = "control"

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
	// Tools are names and patterns of tools; none means all that the rest leaves.
	Tools []string
	// Within says that files outside of the workspace aren't there for it, whatever the
	// configuration says.
	Within bool
}

// Has reports whether the grant has a scope. A nil Grant has none.
func (g *Grant) Has(scope Scope) bool { return g != nil && slices.Contains(g.Scopes, scope) }

// Allows reports whether a tool, server__tool for one of a server, is among those that
// the grant names. Whether its scopes and its fence leave it, others know. Without a
// Grant there is no list.
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

// Guard is [httpapi.Options].Guard of whoever serves these routes: 401 without a token
// where the route has a scope, 403 beyond that, and for a fenced token where the route
// acts and no fence holds that. What acts with a scope goes to the audit log of the
// call's context, see [Audited] and [Note]: what that can't take any more of a token is 429,
// what it can't write 503. A call without a token has no line: it does nothing, but any
// program of the user could make so many that they displace what was done.
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
