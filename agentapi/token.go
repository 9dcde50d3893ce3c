package agentapi

import "time"

// NewToken is the body of POST /api/v0/tokens. What is left out is as little as is
// useful.
type NewToken struct {
	// Scopes are what it may do; none means processes, files and mcp, as far as the
	// caller's token has them.
	Scopes []string `json:"scopes,omitempty" enum:"processes,files,approve,mcp,tokens,stop"`
	// Plan, if not empty, is a fence: the absolute path of the one file that may be
	// written. It lies in the workspace and needn't exist yet.
	Plan string `json:"plan,omitempty"`
	// Secrets are the entries of the secret list that it may see, as they are
	// spelled there; "*" is all of them.
	Secrets []string `json:"secrets,omitempty"`
	// ExpiresAt is at most a year away; nil means in 8 hours, or when the caller's
	// token does.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	// Hub, if not nil, makes a capability; see there for what is different then.
	Hub *Capability `json:"hub,omitzero"`
}

// Capability is what a chat may have done through a hub: a token that is good for
// calls of tools that come from there, and nowhere else. Without scopes it only reads,
// it has no secrets, its scopes are among processes, files and mcp, it stays in the
// workspace, and it ends within 31 days.
type Capability struct {
	// Tools are the names of the tools that it is good for, or patterns of path.Match
	// such as "tracker__*"; none means all that its scopes and its fence leave.
	Tools []string `json:"tools,omitempty" maxItems:"256"`
	// Chat is the chat that it is for, whose processes it sees; "" makes one of its own.
	Chat string `json:"chat,omitempty" format:"uuid"`
}

// Token is a token that was minted, without the token itself.
type Token struct {
	// ID names it, here and in the audit log.
	ID string `json:"id"`
	// Scopes are what it may do.
	Scopes []string `json:"scopes" enum:"processes,files,approve,mcp,tokens,stop"`
	// Plan is the fence, without links.
	Plan string `json:"plan,omitempty"`
	// Secrets are the entries of the secret list that it may see.
	Secrets []string `json:"secrets,omitempty"`
	// CreatedAt is when it was made, by the agent's clock.
	CreatedAt time.Time `json:"created_at"`
	// ExpiresAt is when it ends, at the latest.
	ExpiresAt time.Time `json:"expires_at"`
	// MintedBy is the id of the token with which it was made. It ends with that.
	MintedBy string `json:"minted_by"`
	// Hub is there for a capability.
	Hub *Capability `json:"hub,omitzero"`
}

// MintedToken answers POST /api/v0/tokens.
type MintedToken struct {
	Token
	// Secret is the token, which is shown this once.
	Secret string `json:"token"`
}
