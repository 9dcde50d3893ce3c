// Package mcp runs the MCP servers that a workspace configures. It fetches their tools,
// lists the servers as resources, and calls their tools for chats.
//
// # Guarantees
//
//   - No server that a file of the workspace names is started or dialed before it has been
//     approved; see package trust.
//   - Each server is one process, however many chats call it, and none outlives the agent.
//   - A server that hangs, crashes, floods or lies affects only itself and delays no other.
//
// # Concurrency
//
// Everything may be used by any number of goroutines.
package mcp

import (
	"crypto/ed25519"
	"time"

	"waymark/internal/defaults"
	"waymark/workspace/launch"
	"waymark/workspace/mcp/entry"
)

// Trust says which servers may start.
type Trust string

// The values of Trust.
const (
	TrustAsk       Trust = "ask"       // only approved servers
	TrustWorkspace Trust = "workspace" // all servers that the workspace configures
)

// Settings are the [mcp] table of the configuration. WithDefaults says what zero means, and
// docs/config.md what the numbers mean.
type Settings struct {
	// Off switches the servers off. They are still listed.
	Off   bool
	Trust Trust
	// From are the origins whose servers are connected, in addition to the workspace's own
	// files, the environment's and those of plugins.
	From []entry.Origin
	// Unconfined starts servers without a profile. RequireConfined refuses to start a
	// server without one, whether the kernel can't enforce it, or Unconfined or an approval
	// removes it.
	Unconfined, RequireConfined bool
	// Allow and Deny are patterns for servers ("github") and tools ("github__*"). Deny
	// takes precedence. An empty Allow allows everything.
	Allow, Deny []string
	// HoldNewTools holds back tools that an approved server adds until they are approved.
	HoldNewTools bool
	// Approved are definition digests that the operator has approved. Keys are the public
	// keys that may sign approvals.
	Approved []string
	Keys     []ed25519.PublicKey
	// Servers are the operator's settings for single servers, by name.
	Servers map[string]ServerSettings

	// ConnectTimeout limits the time from the start of a server until it has listed its
	// tools. CallTimeout limits one call. Idle is how long a server runs without a call.
	ConnectTimeout, CallTimeout, Idle time.Duration
	// ServerTools and Tools limit the number of tools of one server and of all servers,
	// ServerBytes and Bytes the size of their catalogues as JSON.
	ServerTools, Tools int
	ServerBytes, Bytes int64
	// ResultBytes limits how much of a result is answered at once, ResultSpool how much of
	// all results is kept for paging.
	ResultBytes, ResultSpool int64
	// Disk limits the cache and the temporary files of one server, in bytes. A server that
	// exceeds it is ended.
	Disk int64
}

// ServerSettings are the settings for one server.
type ServerSettings struct {
	Off      bool
	Widening launch.Widening
}

// WithDefaults replaces numbers that are zero and an empty Trust by the defaults.
func (s Settings) WithDefaults() Settings {
	return defaults.Or(s, Settings{
		Trust: TrustAsk, ConnectTimeout: defaults.MCPConnectTimeout, CallTimeout: defaults.MCPCallTimeout, Idle: defaults.MCPIdle,
		ServerTools: defaults.MCPServerTools, Tools: defaults.MCPTools, ServerBytes: defaults.MCPServerBytes, Bytes: defaults.MCPBytes,
		ResultBytes: defaults.MCPResultBytes, ResultSpool: defaults.MCPResultSpool, Disk: defaults.MCPDisk,
	})
}

// connectTimeout is how long a server may take to start, callTimeout how long a call may
// take: what its entry says, limited by the operator's settings.
func (s *Settings) connectTimeout(e *entry.Entry) time.Duration {
	return shorter(s.ConnectTimeout, e.ConnectTimeout)
}

// connectKey says where connectTimeout is from.
func (s *Settings) connectKey(e *entry.Entry) string {
	if e.ConnectTimeout > 0 && e.ConnectTimeout < s.ConnectTimeout {
		return "the timeout for starting of its entry"
	}
	return "connect_timeout in [mcp] of the configuration"
}

func (s *Settings) callTimeout(e *entry.Entry) time.Duration {
	if e == nil {
		return s.CallTimeout
	}
	return shorter(s.CallTimeout, e.CallTimeout)
}

// callKey says where callTimeout is from.
func (s *Settings) callKey(e *entry.Entry) string {
	if e != nil && e.CallTimeout > 0 && e.CallTimeout < s.CallTimeout {
		return "the timeout for calls of its entry"
	}
	return "call_timeout in [mcp] of the configuration"
}

// maxProgressing is how often a call's timeout may begin again because of progress, and
// maxCall how long a call may take then: the most that call_timeout can be.
const (
	maxProgressing = 10
	maxCall        = time.Hour
)

// longest is how long a call with progress may take, by its timeout.
func longest(timeout time.Duration) time.Duration {
	return max(timeout, min(maxProgressing*timeout, maxCall))
}

func shorter(most, own time.Duration) time.Duration {
	if own > 0 && own < most {
		return own
	}
	return most
}
