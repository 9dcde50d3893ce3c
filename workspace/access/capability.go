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

// Capability is what a chat may have done through a hub. It is immutable.
type Capability struct {
	Grant
	// Caller is the chat for which calls are made.
	Caller agentapi.Caller
}

// Capability returns what a capability allows; nil for one that isn't known here, has
// expired or was revoked, and for every other token. It is asked for each call.
func (t *Tokens) Capability(secret string) *Capability {
	found := t.find(credential.HashOf(secret))
	if found == nil || found.Hub == nil {
		return nil
	}
	c := &Capability{Grant: *found.grant()}
	c.Tools = slices.Clone(found.Hub.Tools)
	var err error
	if c.Caller.Chat, err = uuid.Parse(found.Hub.Chat); err != nil {
		return nil // somebody has written to the file
	}
	return c
}

// lent are the tokens by which this process uses its own API, each for the time of one
// call.
type lent struct {
	mu    sync.Mutex // guards grants
	byKey map[credential.Hash]*Grant
}

// Lend returns a token for a grant that was found out otherwise, until end is called:
// so one part of the agent asks another for what a capability allows, and isn't allowed
// more. It is kept nowhere else.
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

// kindOf is what is minted.
func kindOf(hub *agentapi.Capability) credential.Kind {
	if hub != nil {
		return credential.Capability
	}
	return credential.MintedToken
}

// capabilityOf says what a capability is good for; nil where none is wanted.
func capabilityOf(want *agentapi.NewToken) (*agentapi.Capability, error) {
	if want.Hub == nil {
		return nil, nil
	}
	refused := func(format string, args ...any) (*agentapi.Capability, error) {
		return nil, fmt.Errorf("%w: "+format, append([]any{ErrRequest}, args...)...)
	}
	through := []string{string(ScopeProcesses), string(ScopeFiles), string(ScopeMCP)}
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
