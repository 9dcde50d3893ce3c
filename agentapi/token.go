package agentapi

import "time"

// NewToken is the body of POST /api/v0/tokens. The defaults grant little.
type NewToken struct {
	// Scopes are the scopes to grant. None means processes, files and mcp, as far as the
	// caller's token has them.
	Scopes []string `json:"scopes,omitempty" enum:"processes,files,approve,mcp,tokens,stop"`
	// Plan, if not empty, is a fence: the absolute path of the only file that may be
	// written. It must be in the workspace, and needn't exist yet.
	Plan string `json:"plan,omitempty"`
	// Secrets are the entries of the secret list that the token may see, spelled as there;
	// "*" means all.
	Secrets []string `json:"secrets,omitempty"`
	// ExpiresAt is at most a year away. Nil means in 8 hours, or when the caller's token
	// expires if that is earlier.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	// Hub, if not nil, makes the token a [Capability], which has other rules.
	Hub *Capability `json:"hub,omitzero"`
}

// Capability makes a token good for calls of tools that a chat makes through a hub, and for
// nothing else. Without scopes it only reads. It has no secrets, its scopes are among
// processes, files and mcp, it is restricted to the workspace, and it expires within 31
// days.
type Capability struct {
	// Tools are the names of the allowed tools, or patterns of path.Match such as
	// "tracker__*". None means all that its scopes and its fence allow.
	Tools []string `json:"tools,omitempty" maxItems:"256"`
	// Chat is the chat that it is for, whose processes it sees; "" makes a new one.
	Chat string `json:"chat,omitempty" format:"uuid"`
}

// Token describes a minted token, without its secret.
type Token struct {
	// ID identifies the token, here and in the audit log.
	ID string `json:"id"`
	// Scopes are the scopes that it grants.
	Scopes []string `json:"scopes" enum:"processes,files,approve,mcp,tokens,stop"`
	// Plan is the path of the fence, without links.
	Plan string `json:"plan,omitempty"`
	// Secrets are the entries of the secret list that it may see.
	Secrets []string `json:"secrets,omitempty"`
	// CreatedAt is when it was minted, by the agent's clock.
	CreatedAt time.Time `json:"created_at"`
	// ExpiresAt is when it expires at the latest.
	ExpiresAt time.Time `json:"expires_at"`
	// MintedBy is the id of the token that minted it. It ends together with that token.
	MintedBy string `json:"minted_by"`
	// Hub is set for a capability.
	Hub *Capability `json:"hub,omitzero"`
}

// MintedToken answers POST /api/v0/tokens.
type MintedToken struct {
	Token
	// Secret is the token itself. It is shown only this once.
	Secret string `json:"token"`
}
