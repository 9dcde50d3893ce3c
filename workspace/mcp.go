package workspace

import (
	"encoding/json"
	"time"

	"waymark/snapshot"
)

// Routes of the MCP servers. Those of Coder are PathMCPTools and PathMCPCallTool;
// below PathMCPServers there are {name} and {name}/approve, /deny, /restart, /login
// and /logs.
const (
	PathMCPTools    = "/api/v0/mcp/tools"
	PathMCPCallTool = "/api/v0/mcp/call-tool"
	PathMCPServers  = "/api/v0/mcp/servers"
	PathMCPSearch   = "/api/v0/mcp/search"
	PathMCPResults  = "/api/v0/mcp/results"
)

// MCPTools answers GET /api/v0/mcp/tools.
type MCPTools struct {
	Tools []MCPTool `json:"tools"` // never null

	// Phase and Servers, Waymark's, say what may still come.
	Phase   snapshot.Phase     `json:"phase"`
	Servers []MCPServerOutcome `json:"servers"`
}

// MCPTool is a tool of a server.
type MCPTool struct {
	ServerName string `json:"server_name"`
	// Name is server__tool.
	Name        string `json:"name"`
	Description string `json:"description"`
	// Schema are the properties of the input schema, {} when there are none, and
	// Required its required ones.
	Schema   json.RawMessage `json:"schema"`
	Required []string        `json:"required"`

	// InputSchema, Waymark's, is the whole of it; Title and Annotations are the
	// server's.
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
	Title       string          `json:"title,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

// MCPServerOutcome is how a server is doing, in short.
type MCPServerOutcome struct {
	Name    string           `json:"name"`
	Outcome snapshot.Outcome `json:"outcome"`
	Error   string           `json:"error,omitempty"`
}

// CallMCPTool is the body of POST /api/v0/mcp/call-tool. Where the request accepts
// text/event-stream, which is Waymark's, the answer is events: any number of
// "progress", and then one "result" or one "error".
type CallMCPTool struct {
	ToolName string `json:"tool_name"`
	// Arguments is a JSON object; nil is none. What is something else is sent as it is,
	// an empty array too, and refused.
	Arguments json.RawMessage `json:"arguments,omitzero"`
}

// The events of a call.
const (
	MCPEventProgress = "progress" // an MCPProgress
	MCPEventResult   = "result"   // an MCPToolResult
	MCPEventError    = "error"    // an MCPCallError
)

// MCPProgress is how far a call is, as the server says.
type MCPProgress struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitempty"`
	Message  string  `json:"message,omitempty"`
}

// MCPCallError is an error that comes when the status has been sent: what it would
// have been is Code.
type MCPCallError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Detail  string `json:"detail"`
}

// MCPToolResult answers it.
type MCPToolResult struct {
	Content []MCPContent `json:"content"` // never null
	IsError bool         `json:"is_error"`

	// Structured, Waymark's, is the result as the tool's output schema has it.
	Structured json.RawMessage `json:"structured_content,omitempty"`
	// Truncated, Waymark's, says that the content was too long, and where the whole
	// is.
	Truncated *MCPTruncated `json:"truncated,omitempty"`
}

// MCPContent is a piece of a result.
type MCPContent struct {
	Type      string `json:"type"`
	Text      string `json:"text,omitempty"`
	Data      string `json:"data,omitempty"` // base64
	MediaType string `json:"media_type,omitempty"`
	// URI and Name, Waymark's, are of a resource or a link to one.
	URI  string `json:"uri,omitempty"`
	Name string `json:"name,omitempty"`
}

// MCPTruncated says what of a result was left out.
type MCPTruncated struct {
	// ResultID is where the whole is kept for a while, as JSON, at
	// /api/v0/mcp/results/{id}?offset=&limit=; empty where that isn't kept.
	ResultID      string `json:"result_id,omitempty"`
	OriginalBytes int64  `json:"original_bytes"`
	RetainedBytes int64  `json:"retained_bytes"`
}

// MCPResultPage answers GET /api/v0/mcp/results/{id}: a piece of the result's text,
// which ends on a rune.
type MCPResultPage struct {
	Text       string `json:"text"`
	NextOffset int64  `json:"next_offset"`
	Length     int64  `json:"length"`
}

// MCPServers answers GET /api/v0/mcp/servers[?wait=], Waymark's.
type MCPServers struct {
	Phase   snapshot.Phase `json:"phase"`
	Servers []MCPServer    `json:"servers"` // in order of names; never null
	// Invalid is what of the files can't be used, each with the reason; never null.
	Invalid []MCPInvalid `json:"invalid"`
}

// MCPInvalid is an entry that can't be used, or, without a name, a file.
type MCPInvalid struct {
	Source string `json:"source"`
	Name   string `json:"name,omitempty"`
	// Error holds no value of the file.
	Error string `json:"error"`
}

// MCPServerState is how far a server is in its life.
type MCPServerState string

// The states of a server.
const (
	MCPConfigured MCPServerState = "configured"
	MCPKnown      MCPServerState = "known" // its catalogue is, from before
	MCPStarting   MCPServerState = "starting"
	MCPRunning    MCPServerState = "running"
)

// MCPServer is a server that a file configures.
type MCPServer struct {
	Name string `json:"name"`
	// ID is that of its resource.
	ID string `json:"id"`
	// Source is the file, Origin what that is to the workspace.
	Source    string `json:"source"`
	Origin    string `json:"origin"`
	Transport string `json:"transport"`
	Title     string `json:"title,omitempty"`

	State   MCPServerState   `json:"state"`
	Outcome snapshot.Outcome `json:"outcome"`
	Error   string           `json:"error,omitempty"`
	// Tools and Held count those that can be called, and those that wait for an
	// approval.
	Tools int `json:"tools"`
	Held  int `json:"held"`
	// CatalogueAt is when the catalogue was taken; nil while there is none.
	CatalogueAt *time.Time `json:"catalogue_at,omitempty"`
	// Findings counts what somebody should look at.
	Findings int `json:"findings"`
	// Confined says what holds it: "server", "none", or "" for one that isn't
	// started here.
	Confined string `json:"confined,omitempty"`
	// StartedAt and Calls are of the running one.
	StartedAt *time.Time `json:"started_at,omitempty"`
	Calls     int        `json:"calls"`
	// Restarts counts those since the agent's start, and RetryAt is when a failed one
	// is tried again.
	Restarts int        `json:"restarts"`
	RetryAt  *time.Time `json:"retry_at,omitempty"`
	// DevelopedUntil is how long its files of the workspace may change without a question,
	// since somebody works on it; nil where they may not.
	DevelopedUntil *time.Time `json:"developed_until,omitempty"`
}

// MCPServerDetail answers GET /api/v0/mcp/servers/{name}, Waymark's: everything that
// an approval is decided by. It has no value of variables or headers.
type MCPServerDetail struct {
	MCPServer
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	Cwd     string   `json:"cwd,omitempty"`
	// EnvNames and HeaderNames are the names alone; URLHost is the host of its URL.
	EnvNames    []string `json:"env_names,omitempty"`
	HeaderNames []string `json:"header_names,omitempty"`
	URLHost     string   `json:"url_host,omitempty"`
	// Redacted is of what secrets are: names of variables and headers, "command",
	// "arguments", "directory", "url". Where the server says one, it is masked.
	Redacted []string `json:"redacted,omitempty"`
	// Shadows are the files whose entry of the same name doesn't count.
	Shadows []string `json:"shadows,omitempty"`

	// Definition and Local are the digests, Pinned is what they cover, and Files
	// which files those are.
	Definition string       `json:"definition"`
	Local      string       `json:"local"`
	Pinned     string       `json:"pinned"`
	Files      []MCPFile    `json:"files,omitempty"`
	Approval   *MCPApproval `json:"approval,omitempty"`
	// Changes say what differs from what was approved last.
	Changes []MCPChange `json:"changes,omitempty"`
	// May says in sentences what the server may do once it runs.
	May []string `json:"may"`

	Instructions string        `json:"instructions,omitempty"`
	Tools        []MCPTool     `json:"tool_list"`
	Held         []MCPHeldTool `json:"held_tools,omitempty"`
	// HeldDigest is of what Held shows, and of the tools themselves, whose diffs may
	// be cut: "tools:" and 64 hexadecimal digits; empty where nothing is held back.
	HeldDigest string           `json:"held_digest,omitempty"`
	Findings   []MCPFinding     `json:"finding_list,omitempty"`
	Versions   MCPServerVersion `json:"versions"`
}

// MCPServerVersion is what a server says of itself.
type MCPServerVersion struct {
	Name     string `json:"name,omitempty"`
	Version  string `json:"version,omitempty"`
	Protocol string `json:"protocol,omitempty"`
}

// MCPFile is a file that a digest covers.
type MCPFile struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// MCPApproval is who has said yes, or no.
type MCPApproval struct {
	By string `json:"by"` // user, operator, hub or workspace
	// Denied makes it a no.
	Denied bool       `json:"denied,omitempty"`
	ID     string     `json:"id,omitempty"`
	Until  *time.Time `json:"until,omitempty"`
	// Widening is what it gives beyond the profile; nil for nothing.
	Widening *MCPWidening `json:"widening,omitempty"`
}

// MCPWidening is what a server may do beyond its profile; see launch.Widening.
type MCPWidening struct {
	Read       []string `json:"read,omitempty"`
	Write      []string `json:"write,omitempty"`
	Ports      []uint16 `json:"ports,omitzero"`
	Unix       bool     `json:"unix,omitempty"`
	Env        []string `json:"env,omitempty"`
	Unconfined bool     `json:"unconfined,omitempty"`
}

// Widens reports whether it is more than nothing.
func (w *MCPWidening) Widens() bool {
	return w != nil && (len(w.Read)+len(w.Write)+len(w.Env) > 0 || w.Ports != nil || w.Unix || w.Unconfined)
}

// MCPChange is how a part of a definition differs from what was approved.
type MCPChange struct {
	Part   string `json:"part"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// MCPHeldTool is a tool that waits for an approval; the name "" stands for the
// server's instructions.
type MCPHeldTool struct {
	Name string `json:"name"`
	New  bool   `json:"new,omitempty"`
	Diff string `json:"diff,omitempty"`
}

// MCPFinding is something that a person should know of a server.
type MCPFinding struct {
	Code string `json:"code"`
	Tool string `json:"tool,omitempty"`
	Text string `json:"text"`
}

// ApproveMCPServer is the body of POST /api/v0/mcp/servers/{name}/approve, Waymark's.
// The digests are those that the caller has seen: others are 409.
type ApproveMCPServer struct {
	Definition string `json:"definition"`
	Local      string `json:"local"`
	// Held approves what is held back, too, where it is still what has this digest:
	// MCPServerDetail.HeldDigest. Empty leaves it held back.
	Held string `json:"held,omitempty"`
	// Develop lets the files of the workspace that it covers change for eight hours.
	Develop bool `json:"develop,omitempty"`
	// What it may do beyond its profile from now on, in place of what an earlier
	// approval has given.
	MCPWidening
}

// LoginMCPServer is the body of POST /api/v0/mcp/servers/{name}/login, Waymark's. An
// empty one begins; one with Redirect ends what was begun with the address to which
// the browser was sent back, for machines whose loopback it can't reach.
type LoginMCPServer struct {
	Redirect string `json:"redirect,omitempty"`
	// Forget throws the tokens away.
	Forget bool `json:"forget,omitempty"`
	// ClientID and ClientSecret are of a client that somebody has registered at the
	// server's authorization server, for those with which none can register itself. They
	// begin; the secret is kept with the tokens, sealed.
	ClientID     string `json:"client_id,omitempty"`
	ClientSecret string `json:"client_secret,omitempty"`
}

// MCPLogin answers it.
type MCPLogin struct {
	// URL is where somebody signs in; empty when that is done.
	URL  string `json:"url,omitempty"`
	Done bool   `json:"done"`
}

// MCPLog answers GET /api/v0/mcp/servers/{name}/logs?offset=&limit=&wait_ms=: what
// the server wrote to its standard error, and what happened to it. Offsets count
// bytes since the agent's start; for one beyond the end, which is that of an earlier
// agent, NextOffset is the end, below what was asked for.
type MCPLog struct {
	Text       string `json:"text"`
	Offset     int64  `json:"offset"` // above what was asked for where that is gone
	NextOffset int64  `json:"next_offset"`
}

// MCPSearch answers GET /api/v0/mcp/search?q=&tokens=&limit=: the tools that match,
// the best first, as many as fit the budget.
type MCPSearch struct {
	Phase snapshot.Phase `json:"phase"`
	Tools []MCPTool      `json:"tools"`
	// Tokens is about how many tokens the tools take, Omitted how many matched and
	// didn't fit.
	Tokens  int `json:"tokens"`
	Omitted int `json:"omitted"`
}
