package access

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/internal/credential"
)

// Capability is what a chat may do through a hub. It is immutable.
type Capability struct {
	Grant
	// Caller is the chat that calls are made for.
	Caller agentapi.Caller
}

// Capability returns what a capability allows. It returns nil if the capability is unknown,
// expired or revoked, and for any other token. Check it with each call.
func (t *Tokens) Capability(secret string) *Capability {
	found := t.find(credential.HashOf(secret))
	if found == nil || found.Hub == nil {
		return nil
	}
	c := &Capability{Grant: *found.grant()}
	c.Tools = slices.Clone(found.Hub.Tools)
	var err error
	if c.Caller.Chat, err = uuid.Parse(found.Hub.Chat); err != nil {
		return nil // the file was modified
	}
	return c
}

// lent are the tokens with which this process calls its own API, each for one call.
type lent struct {
	mu    sync.Mutex // guards grants
	byKey map[credential.Hash]*Grant
}

// Lend returns a token for a grant, valid until end is called. One part of the agent uses
// it to call another with no more than what a capability allows. The token is only in
// memory.
func (t *Tokens) Lend(g *Grant) (token string, end func()) {
	token = credential.LentToken.New()
	hash := credential.HashOf(token)
	t.lent.mu.Lock()
	defer t.lent.mu.Unlock()
	if t.lent.byKey == nil {
		t.lent.byKey = make(map[credential.Hash]*Grant)
	}
	t.lent.byKey[hash] = g
	return token, func() {
		t.lent.mu.Lock()
		defer t.lent.mu.Unlock()
		delete(t.lent.byKey, hash)
	}
}

func (l *lent) find(hash credential.Hash) *Grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byKey[hash]
}

// kindOf returns the kind of credential to mint.
func kindOf(hub *agentapi.Capability) credential.Kind {
	if hub != nil {
		return credential.Capability
	}
	return credential.MintedToken
}

// capabilityOf checks the requested capability; nil if none is requested.
func capabilityOf(want *agentapi.NewToken) (*agentapi.Capability, error) {
	if want.Hub == nil {
		return nil, nil
	}
	refused := func(format string, args ...any) (*agentapi.Capability, error) {
		return nil, fmt.Errorf("%w: "+format, append([]any{ErrRequest}, args...)...)
	}
	through := []string{string(ScopeProcesses), string(ScopeFiles), string(ScopeMCP), string(ScopeDesktop)}
	for _, scope := range want.Scopes {
		if !slices.Contains(through, scope) {
			return refused("through a hub there are the scopes %s, and no %.40q", strings.Join(through, ", "), scope)
		}
	}
	switch {
	case len(want.Secrets) > 0:
		return refused("through a hub no secrets are granted")
	case len(want.Hub.Tools) > maxTools:
		return refused("it names more than %d tools", maxTools)
	}
	for _, tool := range want.Hub.Tools {
		if _, err := path.Match(tool, ""); err != nil || tool == "" || len(tool) > maxTool {
			return refused("%.80q is no tool, and no pattern of tools such as tracker__*", tool)
		}
	}
	made := &agentapi.Capability{Tools: slices.Clone(want.Hub.Tools), Chat: uuid.NewString()}
	if want.Hub.Chat != "" {
		chat, err := uuid.Parse(want.Hub.Chat)
		if err != nil || chat == uuid.Nil {
			return refused("chat is not a UUID")
		}
		made.Chat = chat.String()
	}
	return made, nil
}
