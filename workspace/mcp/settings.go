// Package mcp runs the MCP servers that a workspace configures: it asks for what
// they offer, lists that as resources, and calls their tools for chats.
//
// # Guarantees
//
//   - Nothing that a file of the workspace names starts, and nothing that it names
//     is dialed, before it has been approved; see package trust.
//   - One process for each server, however many chats call it, and none that
//     outlives the agent.
//   - A server that hangs, dies, floods or lies costs itself, and delays no other.
//
// # Concurrency
//
// All may be used by any number of goroutines.
package mcp

import (
	"crypto/ed25519"
	"time"

	"waymark/internal/defaults"
	"waymark/workspace/launch"
	"waymark/workspace/mcp/entry"
)

// Trust says what may start.
type Trust string

// What may start.
const (
	TrustAsk       Trust = "ask"       // what was approved
	TrustWorkspace Trust = "workspace" // whatever the workspace configures
)

// Settings are the [mcp] table of the configuration. See WithDefaults for what is
// zero, and docs/config.md for what the numbers mean.
type Settings struct {
	// Off switches the servers off; they are listed still.
	Off   bool
	Trust Trust
	// From are the origins that are connected in addition to the workspace's own, the
	// environment's and plugins'.
	From []entry.Origin
	// Unconfined starts servers without a profile; RequireConfined starts none without
	// one, neither where the kernel can't hold it to one nor where Unconfined or an approval has
	// it run so.
	Unconfined, RequireConfined bool
	// Allow and Deny are patterns of servers ("github") and tools ("github__*"); Deny
	// wins, and an empty Allow allows all.
	Allow, Deny []string
	// HoldNewTools keeps a tool that an approved server didn't have back until it is
	// approved.
	HoldNewTools bool
	// Approved are definition digests that the operator has approved, Keys the public
	// keys of those who may sign approvals.
	Approved []string
	Keys     []ed25519.PublicKey
	// Servers are the operator's settings for single servers, by name.
	Servers map[string]ServerSettings

	// ConnectTimeout is from the start of a server to its catalogue, CallTimeout for
	// one call, Idle how long a server runs without one.
	ConnectTimeout, CallTimeout, Idle time.Duration
	// ServerTools and Tools bound how many tools one server and all have,
	// ServerBytes and Bytes the length of their catalogues as JSON.
	ServerTools, Tools int
	ServerBytes, Bytes int64
	// ResultBytes is how much of a call's result is answered at once; ResultSpool
	// how much of results is kept for paging, of all together.
	ResultBytes, ResultSpool int64
	// Disk is how much the cache and the temporary files of one server may hold, in
	// bytes. One that holds more is ended.
	Disk int64
}

// ServerSettings are those for one server.
type ServerSettings struct {
	Off      bool
	Widening launch.Widening
}

// WithDefaults returns the settings with the defaults where a number or Trust is zero.
func (s Settings) WithDefaults() Settings {
	return defaults.Or(s, Settings{
		Trust: TrustAsk, ConnectTimeout: defaults.MCPConnectTimeout, CallTimeout: defaults.MCPCallTimeout, Idle: defaults.MCPIdle,
		ServerTools: defaults.MCPServerTools, Tools: defaults.MCPTools, ServerBytes: defaults.MCPServerBytes, Bytes: defaults.MCPBytes,
		ResultBytes: defaults.MCPResultBytes, ResultSpool: defaults.MCPResultSpool, Disk: defaults.MCPDisk,
	})
}

// connectTimeout is how long a server has for its start, and callTimeout for a call: what
// its entry says, where that isn't longer than the operator allows.
func (s *Settings) connectTimeout(e *entry.Entry) time.Duration {
	return shorter(s.ConnectTimeout, e.ConnectTimeout)
}

func (s *Settings) callTimeout(e *entry.Entry) time.Duration {
	if e == nil {
		return s.CallTimeout
	}
	return shorter(s.CallTimeout, e.CallTimeout)
}

func shorter(most, own time.Duration) time.Duration {
	if own > 0 && own < most {
		return own
	}
	return most
}
