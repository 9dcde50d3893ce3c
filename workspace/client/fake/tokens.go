package fake

import (
	"context"
	"crypto/rand"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"waymark/host/vfs"
	"waymark/workspace"
)

// grant is what a token allows.
type grant struct {
	id      string
	secret  string // "" is the control token
	scopes  []string
	plan    string
	guard   *vfs.SecretGuard
	list    []string // granted secrets
	expires time.Time
}

// controlID is the control token's.
const controlID = "control"

// The scopes of tokens.
const (
	scopeProcesses = "processes"
	scopeFiles     = "files"
	scopeApprove   = "approve"
	scopeMCP       = "mcp"
	scopeTokens    = "tokens"
	scopeStop      = "stop"
)

func allScopes() []string {
	return []string{scopeProcesses, scopeFiles, scopeApprove, scopeMCP, scopeTokens, scopeStop}
}

func controlGrant() *grant {
	guard, _ := vfs.NewSecretGuard(nil) // an empty list is a good one
	return &grant{id: controlID, scopes: allScopes(), guard: guard}
}

// minted is a token as the agent keeps it.
type minted struct {
	workspace.Token
	grant *grant
}

const (
	defaultLife = 8 * time.Hour
	maxLife     = 366 * 24 * time.Hour
	maxTokens   = 256
)

// WithToken returns a client that has another token: one that CreateToken has made,
// or "" for none.
func (a *Agent) WithToken(secret string) *Agent {
	other := &Agent{state: a.state, caller: a.caller}
	if secret == "" {
		return other
	}
	a.state.mu.Lock()
	defer a.state.mu.Unlock()
	for _, m := range a.state.minted {
		if m.grant.secret == secret {
			other.grant = m.grant
			return other
		}
	}
	other.grant = &grant{id: "unknown", secret: secret, guard: controlGrant().guard}
	return other
}

// known reports whether the client's token is in force.
func (a *Agent) known() bool {
	if a.grant.id == controlID {
		return true
	}
	a.state.mu.Lock()
	defer a.state.mu.Unlock()
	return slices.ContainsFunc(a.state.live(), func(m minted) bool { return m.grant == a.grant })
}

// live returns the tokens that haven't expired. The caller has the lock.
func (s *state) live() []minted {
	s.minted = slices.DeleteFunc(s.minted, func(m minted) bool { return !time.Now().Before(m.ExpiresAt) })
	return s.minted
}

// visible returns the ids of a token and of all that were made with it. The caller
// has the lock.
func (s *state) visible(id string) map[string]bool {
	ids := map[string]bool{id: true}
	for _, m := range s.live() { // those that made others stand before them
		if ids[m.MintedBy] {
			ids[m.ID] = true
		}
	}
	return ids
}

// CreateToken implements client.Client.
func (a *Agent) CreateToken(ctx context.Context, want workspace.NewToken) (*workspace.MintedToken, error) {
	const message = "the token was not made"
	_, leave, err := a.act(ctx, scopeTokens)
	if err != nil {
		return nil, err
	}
	defer leave()
	g, err := a.narrowed(want)
	if err != nil {
		return nil, refused(message, err)
	}
	s := a.state
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.live()) >= maxTokens {
		return nil, refuse(http.StatusConflict, message, "there are too many: revoke some")
	}
	m := minted{grant: g, Token: workspace.Token{
		ID: g.id, Scopes: g.scopes, Plan: g.plan, Secrets: g.list, CreatedAt: time.Now().UTC().Truncate(time.Second), ExpiresAt: g.expires, MintedBy: a.grant.id,
	}}
	s.minted = append(s.minted, m)
	return &workspace.MintedToken{Token: m.Token, Secret: g.secret}, nil
}

// narrowed is what is granted of what is wanted.
func (a *Agent) narrowed(want workspace.NewToken) (*grant, error) {
	by := a.grant
	g := &grant{id: strings.ToLower(rand.Text()[:10]), secret: "wm_" + rand.Text(), scopes: want.Scopes, plan: want.Plan, list: want.Secrets}
	if len(g.scopes) == 0 {
		for _, scope := range []string{scopeProcesses, scopeFiles, scopeMCP} {
			if slices.Contains(by.scopes, scope) {
				g.scopes = append(g.scopes, scope)
			}
		}
	}
	for _, scope := range g.scopes {
		switch {
		case !slices.Contains(allScopes(), scope):
			return nil, noBecause(http.StatusBadRequest, "%q is no scope", scope)
		case !slices.Contains(by.scopes, scope):
			return nil, noBecause(http.StatusForbidden, "it would be wider than the token that asks for it")
		}
	}
	if err := a.narrowPlan(g); err != nil {
		return nil, err
	}
	for _, entry := range g.list {
		if by.id != controlID && !slices.Contains(by.list, entry) && !slices.Contains(by.list, vfs.AllSecrets) {
			return nil, noBecause(http.StatusForbidden, "it would be wider than the token that asks for it")
		}
	}
	var err error
	if g.guard, err = vfs.NewSecretGuard(g.list); err != nil {
		return nil, noBecause(http.StatusBadRequest, "%v", err)
	}
	return g, a.expiry(g, want.ExpiresAt)
}

// narrowPlan checks a fence.
func (a *Agent) narrowPlan(g *grant) error {
	if g.plan == "" {
		g.plan = a.grant.plan
		return nil
	}
	at, err := a.state.files.Resolve(g.plan)
	switch {
	case !path.IsAbs(g.plan):
		return noBecause(http.StatusBadRequest, "the plan's path must be absolute")
	case err != nil:
		return noBecause(http.StatusBadRequest, "%v", err)
	case !below(at, a.state.opts.Root):
		return noBecause(http.StatusBadRequest, "the plan lies outside of the workspace")
	case a.grant.plan != "" && at != a.grant.plan:
		return noBecause(http.StatusForbidden, "it would be wider than the token that asks for it")
	}
	g.plan = at
	return nil
}

// expiry sets when a token ends.
func (a *Agent) expiry(g *grant, want *time.Time) error {
	now := time.Now().UTC()
	g.expires = now.Add(defaultLife)
	if !a.grant.expires.IsZero() && a.grant.expires.Before(g.expires) {
		g.expires = a.grant.expires
	}
	if want == nil {
		return nil
	}
	switch {
	case !want.After(now), want.After(now.Add(maxLife)):
		return noBecause(http.StatusBadRequest, "a token ends in the future, and within a year")
	case !a.grant.expires.IsZero() && want.After(a.grant.expires):
		return noBecause(http.StatusForbidden, "it would be wider than the token that asks for it")
	}
	g.expires = *want
	return nil
}

// Tokens implements client.Client.
func (a *Agent) Tokens(ctx context.Context) ([]workspace.Token, error) {
	_, leave, err := a.act(ctx, scopeTokens)
	if err != nil {
		return nil, err
	}
	defer leave()
	a.state.mu.Lock()
	defer a.state.mu.Unlock()
	ids, list := a.state.visible(a.grant.id), []workspace.Token{}
	for _, m := range a.state.minted {
		if ids[m.ID] {
			list = append(list, m.Token)
		}
	}
	return list, nil
}

// RevokeToken implements client.Client.
func (a *Agent) RevokeToken(ctx context.Context, id string) error {
	_, leave, err := a.act(ctx, scopeTokens)
	if err != nil {
		return err
	}
	defer leave()
	a.state.mu.Lock()
	defer a.state.mu.Unlock()
	known := slices.ContainsFunc(a.state.live(), func(m minted) bool { return m.ID == id })
	if !known || !a.state.visible(a.grant.id)[id] {
		return refuse(http.StatusNotFound, "the token was not revoked", "there is no such token")
	}
	gone := a.state.visible(id)
	a.state.minted = slices.DeleteFunc(a.state.minted, func(m minted) bool { return gone[m.ID] })
	return nil
}
