package agentapi

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
	// Tools are those of all servers.
	Tools []MCPTool `json:"tools"`

	// Phase is Waymark's. While it is pending, what isn't there may still come: nobody takes
	// its absence for an answer.
	Phase snapshot.Phase `json:"phase"`
	// Servers, Waymark's, are how the servers are doing.
	Servers []MCPServerOutcome `json:"servers"`
}

// MCPTool is a tool of a server.
type MCPTool struct {
	// ServerName is the server that has it.
	ServerName string `json:"server_name"`
	// Name is `server__tool`.
	Name string `json:"name"`
	// Description is what the server says of it.
	Description string `json:"description"`
	// Schema are the properties of the input schema, {} when there are none.
	Schema json.RawMessage `json:"schema"`
	// Required are the names of those that a call must have.
	Required []string `json:"required"`

	// InputSchema, Waymark's, is the whole of it.
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
	// Title, Waymark's, is a name for people.
	Title string `json:"title,omitempty"`
	// Annotations, Waymark's, are what the server says of the tool.
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

// MCPServerOutcome is how a server is doing, in short.
type MCPServerOutcome struct {
	// Name is the server.
	Name string `json:"name"`
	// Outcome is what became of it. Only "pending" keeps a phase from being complete.
	Outcome snapshot.Outcome `json:"outcome"`
	// Error says why, and what to do.
	Error string `json:"error,omitempty"`
}

// CallMCPTool is the body of POST /api/v0/mcp/call-tool. Where the request accepts
// text/event-stream, which is Waymark's, the answer is events: any number of
// "progress", and then one "result" or one "error".
type CallMCPTool struct {
	// ToolName is `server__tool`, split at the first two underscores.
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
	// Progress is how much is done, in units of the server.
	Progress float64 `json:"progress"`
	// Total is how much there is to do, where the server knows.
	Total float64 `json:"total,omitempty"`
	// Message says it in words.
	Message string `json:"message,omitempty"`
}

// MCPCallError is an error that comes when the status has been sent: what it would
// have been is Code.
type MCPCallError struct {
	// Code is what the status would have been.
	Code int `json:"code"`
	// Message says what didn't work.
	Message string `json:"message"`
	// Detail says why, and what to do.
	Detail string `json:"detail"`
}

// MCPToolResult answers it.
type MCPToolResult struct {
	// Content is what the tool has answered, in pieces.
	Content []MCPContent `json:"content"`
	// IsError says that the tool, not the call, has failed.
	IsError bool `json:"is_error"`

	// Structured, Waymark's, is the result as the tool's output schema has it.
	Structured json.RawMessage `json:"structured_content,omitempty"`
	// Truncated, Waymark's, says that the content was too long, and where the whole
	// is.
	Truncated *MCPTruncated `json:"truncated,omitempty"`
}

// MCPContent is a piece of a result.
type MCPContent struct {
	// Type is one of text, image, audio, resource and resource_link; a later protocol may have
	// more.
	Type string `json:"type"`
	// Text is a text, or a resource that is one.
	Text string `json:"text,omitempty"`
	// Data is all else, in base64.
	Data string `json:"data,omitempty"`
	// MediaType is what the server says that it is.
	MediaType string `json:"media_type,omitempty"`
	// URI, Waymark's, is that of a resource, or of a link to one.
	URI string `json:"uri,omitempty"`
	// Name, Waymark's, is that of a linked resource.
	Name string `json:"name,omitempty"`
}

// MCPTruncated says what of a result was left out.
type MCPTruncated struct {
	// ResultID is under which the whole, as JSON, is kept for a while: GET
	// /api/v0/mcp/results/{id}. It is missing where it is too long for that.
	ResultID string `json:"result_id,omitempty"`
	// OriginalBytes is how long the result was.
	OriginalBytes int64 `json:"original_bytes" minimum:"0"`
	// RetainedBytes is how much of it is there.
	RetainedBytes int64 `json:"retained_bytes" minimum:"0"`
}

// MCPResultPage answers GET /api/v0/mcp/results/{id}: a piece of the result's text,
// which ends on a rune.
type MCPResultPage struct {
	// Text begins and ends with a character.
	Text string `json:"text"`
	// NextOffset is where the next piece begins, in bytes.
	NextOffset int64 `json:"next_offset" minimum:"0"`
	// Length is that of the whole, in bytes.
	Length int64 `json:"length" minimum:"0"`
}

// MCPServers answers GET /api/v0/mcp/servers[?wait=], Waymark's.
type MCPServers struct {
	// Phase says whether more is still to come.
	Phase snapshot.Phase `json:"phase"`
	// Servers are in order of their names.
	Servers []MCPServer `json:"servers"`
	// Invalid is what of the files can't be used, each with the reason.
	Invalid []MCPInvalid `json:"invalid"`
}

// MCPInvalid is an entry that can't be used, or, without a name, a file.
type MCPInvalid struct {
	// Source is the file.
	Source string `json:"source"`
	// Name is that of the entry; absent for a file as a whole.
	Name string `json:"name,omitempty"`
	// Error says why. It holds no value of the file.
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
	// Name is what files call it.
	Name string `json:"name"`
	// ID is that of its resource.
	ID string `json:"id"`
	// Source is the file that configures it.
	Source string `json:"source"`
	// Origin is what that file is to the workspace.
	Origin string `json:"origin" enum:"workspace,environment,plugin,client,source,user"`
	// Transport is stdio, http or sse; empty for an entry that can't be used.
	Transport string `json:"transport"`
	// Title is what it calls itself, or the first sentence of its instructions.
	Title string `json:"title,omitempty"`

	// State is how far it is in its life.
	State MCPServerState `json:"state"`
	// Outcome is what became of it.
	Outcome snapshot.Outcome `json:"outcome"`
	// Error says why, and what to do.
	Error string `json:"error,omitempty"`
	// Tools counts those that can be called.
	Tools int `json:"tools" minimum:"0"`
	// Held counts those that wait for an approval.
	Held int `json:"held" minimum:"0"`
	// CatalogueAt is when its tools were listed.
	CatalogueAt *time.Time `json:"catalogue_at,omitempty"`
	// Findings counts what somebody should look at.
	Findings int `json:"findings" minimum:"0"`
	// Confined says what holds it; absent for one that isn't started here.
	Confined string `json:"confined,omitempty" enum:"server,none"`
	// StartedAt is when the running one was started.
	StartedAt *time.Time `json:"started_at,omitempty"`
	// Calls counts those of the running one.
	Calls int `json:"calls" minimum:"0"`
	// Restarts counts those since the agent's start.
	Restarts int `json:"restarts" minimum:"0"`
	// RetryAt is when one that has failed is tried again.
	RetryAt *time.Time `json:"retry_at,omitempty"`
	// DevelopedUntil is how long its files of the workspace may change without a question,
	// since somebody works on it; absent where they may not.
	DevelopedUntil *time.Time `json:"developed_until,omitempty"`
}

// MCPServerDetail answers GET /api/v0/mcp/servers/{name}, Waymark's: everything that
// an approval is decided by. It has no value of variables or headers.
type MCPServerDetail struct {
	MCPServer
	// Command is the program that is started.
	Command string `json:"command,omitempty"`
	// Args are as they stand in the file: references aren't expanded.
	Args []string `json:"args,omitempty"`
	// Cwd is where it runs.
	Cwd string `json:"cwd,omitempty"`
	// EnvNames are the names of its variables.
	EnvNames []string `json:"env_names,omitempty"`
	// HeaderNames are the names of its headers.
	HeaderNames []string `json:"header_names,omitempty"`
	// URLHost is the host of its URL.
	URLHost string `json:"url_host,omitempty"`
	// Redacted is of what secrets are, which are masked where the server says them: names of
	// variables and headers, "command", "arguments", "directory", "url".
	Redacted []string `json:"redacted,omitempty"`
	// Shadows are the files whose entry of the same name doesn't count.
	Shadows []string `json:"shadows,omitempty"`

	// Definition is a digest that is the same on every machine; empty where there is none.
	Definition string `json:"definition"`
	// Local is a digest of what it is on this one.
	Local string `json:"local"`
	// Pinned is what the digests cover: the entry alone, the files that it names and not what
	// those load, or all.
	Pinned string `json:"pinned" enum:",entry,partial,full"`
	// Files are those that the digests cover.
	Files []MCPFile `json:"files,omitempty"`
	// Approval is who has decided, and what.
	Approval *MCPApproval `json:"approval,omitempty"`
	// Changes say what differs from what was approved last.
	Changes []MCPChange `json:"changes,omitempty"`
	// May says in sentences what the server may do once it runs.
	May []string `json:"may"`

	// Instructions are what the server says to models.
	Instructions string `json:"instructions,omitempty"`
	// Tools are those that it lists.
	Tools []MCPTool `json:"tool_list"`
	// Held are those that wait for an approval.
	Held []MCPHeldTool `json:"held_tools,omitempty"`
	// HeldDigest is of what Held shows, and of the tools themselves, whose diffs may
	// be cut: "tools:" and 64 hexadecimal digits; empty where nothing is held back.
	HeldDigest string `json:"held_digest,omitempty"`
	// Findings are what somebody should look at.
	Findings []MCPFinding `json:"finding_list,omitempty"`
	// Versions are what it says of itself.
	Versions MCPServerVersion `json:"versions"`
}

// MCPServerVersion is what a server says of itself.
type MCPServerVersion struct {
	// Name is what it calls itself.
	Name string `json:"name,omitempty"`
	// Version is its own.
	Version string `json:"version,omitempty"`
	// Protocol is the revision of MCP that is spoken with it.
	Protocol string `json:"protocol,omitempty"`
}

// MCPFile is a file that a digest covers.
type MCPFile struct {
	// Path is absolute.
	Path string `json:"path"`
	// SHA256 is that of its content, in hexadecimal digits.
	SHA256 string `json:"sha256"`
}

// MCPApproval is who has said yes, or no.
type MCPApproval struct {
	// By is who has decided.
	By string `json:"by" enum:"user,operator,hub,workspace"`
	// Denied makes it a no.
	Denied bool `json:"denied,omitempty"`
	// ID is that of a signed approval.
	ID string `json:"id,omitempty"`
	// Until is when it ends.
	Until *time.Time `json:"until,omitempty"`
	// Widening is what it gives beyond the profile; absent for nothing.
	Widening *MCPWidening `json:"widening,omitempty"`
}

// MCPWidening is what a server may do beyond its profile; see launch.Widening.
type MCPWidening struct {
	// Read are paths that it may read in addition, absolute or relative to the workspace.
	Read []string `json:"read,omitempty"`
	// Write are paths that it may write in addition.
	Write []string `json:"write,omitempty"`
	// Ports narrows TCP to these; an empty list closes it.
	Ports []uint16 `json:"ports,omitzero"`
	// Unix says that it may connect to Unix sockets by path.
	Unix bool `json:"unix,omitempty"`
	// Env are names of the agent's variables that it gets.
	Env []string `json:"env,omitempty"`
	// Unconfined says that it runs without a profile.
	Unconfined bool `json:"unconfined,omitempty"`
}

// Widens reports whether it is more than nothing.
func (w *MCPWidening) Widens() bool {
	return w != nil && (len(w.Read)+len(w.Write)+len(w.Env) > 0 || w.Ports != nil || w.Unix || w.Unconfined)
}

// MCPChange is how a part of a definition differs from what was approved.
type MCPChange struct {
	// Part is what of the definition.
	Part string `json:"part"`
	// Before is what was approved.
	Before string `json:"before,omitempty"`
	// After is what there is now.
	After string `json:"after,omitempty"`
}

// MCPHeldTool is a tool that waits for an approval; the name "" stands for the
// server's instructions.
type MCPHeldTool struct {
	// Name is the tool's; empty for the server's instructions.
	Name string `json:"name"`
	// New says that it wasn't there when the server was approved.
	New bool `json:"new,omitempty"`
	// Diff is how it differs from what was approved.
	Diff string `json:"diff,omitempty"`
}

// MCPFinding is something that a person should know of a server.
type MCPFinding struct {
	// Code is a word for what it is.
	Code string `json:"code"`
	// Tool is the one that it is about, if it is about one.
	Tool string `json:"tool,omitempty"`
	// Text says it in a sentence.
	Text string `json:"text"`
}

// ApproveMCPServer is the body of POST /api/v0/mcp/servers/{name}/approve, Waymark's.
// The digests are those that the caller has seen: others are 409.
type ApproveMCPServer struct {
	// Definition is the digest that the caller has seen: another one is 409.
	Definition string `json:"definition"`
	// Local is likewise.
	Local string `json:"local"`
	// Held is the held_digest of what is held back, to take that, too; another one is 409.
	// Without it that stays held back.
	Held string `json:"held,omitempty"`
	// Develop lets the files of the workspace that it covers change for eight hours without
	// another approval; 409 where it isn't confined, is given secrets, or a chat's process
	// runs.
	Develop bool `json:"develop,omitempty"`
	// What it may do beyond its profile from now on, in place of what an earlier
	// approval has given.
	MCPWidening
}

// LoginMCPServer is the body of POST /api/v0/mcp/servers/{name}/login, Waymark's. An
// empty one begins; one with Redirect ends what was begun with the address to which
// the browser was sent back, for machines whose loopback it can't reach.
type LoginMCPServer struct {
	// Redirect is the address to which the browser was sent back.
	Redirect string `json:"redirect,omitempty"`
	// Forget throws the tokens away.
	Forget bool `json:"forget,omitempty"`
	// ClientID is a client that somebody has registered at the authorization server, where
	// none can register itself. It begins.
	ClientID string `json:"client_id,omitempty"`
	// ClientSecret is that client's secret, if it has one. It is kept with the tokens, sealed.
	ClientSecret string `json:"client_secret,omitempty"`
}

// MCPLogin answers it.
type MCPLogin struct {
	// URL is where somebody signs in; empty when that is done.
	URL string `json:"url,omitempty"`
	// Done says that nothing is left to do.
	Done bool `json:"done"`
}

// MCPLog answers GET /api/v0/mcp/servers/{name}/logs?offset=&limit=&wait_ms=: what
// the server wrote to its standard error, and what happened to it. Offsets count
// bytes since the agent's start; for one beyond the end, which is that of an earlier
// agent, NextOffset is the end, below what was asked for.
type MCPLog struct {
	// Text is a piece of the log.
	Text string `json:"text"`
	// Offset is where it begins, in bytes: above what was asked for where that is gone.
	Offset int64 `json:"offset" minimum:"0"`
	// NextOffset is where the next piece begins.
	NextOffset int64 `json:"next_offset" minimum:"0"`
}

// MCPSearch answers GET /api/v0/mcp/search?q=&tokens=&limit=: the tools that match,
// the best first, as many as fit the budget.
type MCPSearch struct {
	// Phase says whether more is still to come.
	Phase snapshot.Phase `json:"phase"`
	// Tools are those that match, the best first.
	Tools []MCPTool `json:"tools"`
	// Tokens is about how many they take.
	Tokens int `json:"tokens" minimum:"0"`
	// Omitted is how many matched and didn't fit.
	Omitted int `json:"omitted" minimum:"0"`
}
