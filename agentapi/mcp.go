package agentapi

import (
	"encoding/json"
	"time"

	"waymark/snapshot"
)

// Routes of the MCP servers. PathMCPTools and PathMCPCallTool are Coder's. Below
// PathMCPServers there are {name} and {name}/approve, /deny, /restart, /login and /logs.
const (
	PathMCPTools    = "/api/v0/mcp/tools"
	PathMCPCallTool = "/api/v0/mcp/call-tool"
	PathMCPRequest  = "/api/v0/mcp/request"
	PathMCPServers  = "/api/v0/mcp/servers"
	PathMCPSearch   = "/api/v0/mcp/search"
	PathMCPResults  = "/api/v0/mcp/results"
)

// MCPTools answers GET /api/v0/mcp/tools.
type MCPTools struct {
	// Tools are the tools of all servers.
	Tools []MCPTool `json:"tools"`

	// Phase is only in Waymark. While it is pending, more tools may appear, so that the
	// absence of one means nothing.
	Phase snapshot.Phase `json:"phase"`
	// Servers, only in Waymark, are the outcomes of the servers.
	Servers []MCPServerOutcome `json:"servers"`
}

// MCPTool is a tool of a server.
type MCPTool struct {
	// ServerName is the name of the server.
	ServerName string `json:"server_name"`
	// Name is `server__tool`.
	Name string `json:"name"`
	// Description is the server's description of the tool.
	Description string `json:"description"`
	// Schema has the properties of the input schema; {} if there are none.
	Schema json.RawMessage `json:"schema"`
	// Required are the names of the required properties.
	Required []string `json:"required"`

	// InputSchema, only in Waymark, is the complete input schema.
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
	// Title, only in Waymark, is a name for people.
	Title string `json:"title,omitempty"`
	// Annotations, only in Waymark, are the server's annotations of the tool.
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

// MCPServerOutcome is the outcome of a server.
type MCPServerOutcome struct {
	// Name is the server's name.
	Name string `json:"name"`
	// Outcome is the server's outcome. Only "pending" keeps the phase from being complete.
	Outcome snapshot.Outcome `json:"outcome"`
	// Error says why, and what to do about it.
	Error string `json:"error,omitempty"`
}

// CallMCPTool is the body of POST /api/v0/mcp/call-tool. If the request accepts
// text/event-stream, which only Waymark supports, the answer is a stream of events: any
// number of "progress", then one "result" or one "error".
type CallMCPTool struct {
	// ToolName is `server__tool`, split at the first two underscores.
	ToolName string `json:"tool_name"`
	// Arguments is a JSON object; nil means none. Any other value, even an empty array, is
	// sent unchanged and refused.
	Arguments json.RawMessage `json:"arguments,omitzero"`

	// Logs, only in Waymark, asks for events "log".
	Logs bool `json:"logs,omitzero"`
	// Asks, only in Waymark, are what the server may ask the caller, as far as its approval
	// names it, too: a result with asked then comes before the tool's. Everything else that it
	// asks is refused.
	Asks []string `json:"asks,omitempty" enum:"elicitation,elicitation-url,sampling,roots"`
	// State, only in Waymark, continues the call of a result with asked.
	State string `json:"state,omitempty"`
	// Answers, with State, are results of MCP, by the ids of what was asked. What isn't
	// answered is refused.
	Answers map[string]json.RawMessage `json:"answers,omitempty"`
}

// MCPRequest is the body of POST /api/v0/mcp/request, which only Waymark has.
type MCPRequest struct {
	// Server is the server's name.
	Server string `json:"server" minLength:"1"`
	// Method is the request's.
	Method string `json:"method" enum:"resources/list,resources/templates/list,resources/read,prompts/list,prompts/get,completion/complete"`
	// Params are its parameters, a JSON object.
	Params json.RawMessage `json:"params,omitzero"`
}

// MCPAnswer answers POST /api/v0/mcp/request.
type MCPAnswer struct {
	// Result is the server's result.
	Result json.RawMessage `json:"result"`
}

// The events of a call, and their types.
const (
	MCPEventProgress = "progress" // an MCPProgress
	MCPEventLog      = "log"      // an MCPLogMessage
	MCPEventResult   = "result"   // an MCPToolResult
	MCPEventError    = "error"    // an MCPCallError
)

// MCPProgress is the server's report of a call's progress.
type MCPProgress struct {
	// Progress is how much is done, in units that the server chooses.
	Progress float64 `json:"progress"`
	// Total is how much there is to do, if the server knows.
	Total float64 `json:"total,omitempty"`
	// Message describes the progress.
	Message string `json:"message,omitempty"`
	// Log is a log message in place of progress, where the caller has asked for these.
	Log *MCPLogMessage `json:"-"`
}

// MCPLogMessage is what a server logs during a call that is its only one.
type MCPLogMessage struct {
	// Level is a level of MCP.
	Level string `json:"level"`
	// Logger names what has logged it.
	Logger string `json:"logger,omitempty"`
	// Data is the message, a string or any other JSON.
	Data json.RawMessage `json:"data"`
}

// What a server may ask the caller of a tool, if its approval names it: for what a form takes,
// to open an address, for the text of a model, and for the caller's directories.
const (
	MCPAskForm     = "elicitation"
	MCPAskURL      = "elicitation-url"
	MCPAskSampling = "sampling"
	MCPAskRoots    = "roots"
)

// MCPAsks are all of them.
var MCPAsks = []string{MCPAskForm, MCPAskURL, MCPAskSampling, MCPAskRoots}

// The requests of servers.
const (
	MCPElicit    = "elicitation/create"
	MCPSample    = "sampling/createMessage"
	MCPListRoots = "roots/list"
)

// MCPAsked is what a server asks the caller of its tool.
type MCPAsked struct {
	// State continues the call, for five minutes.
	State string `json:"state"`
	// Requests are what it asks, by ids. Their texts are the server's.
	Requests map[string]MCPAsk `json:"requests"`
}

// MCPAsk is a request of a server.
type MCPAsk struct {
	// Method is elicitation/create, sampling/createMessage or roots/list.
	Method string `json:"method"`
	// Params are its parameters.
	Params json.RawMessage `json:"params"`
}

// MCPCallError is an error that occurs after the HTTP status has been sent.
type MCPCallError struct {
	// Code is the HTTP status that the error would have had.
	Code int `json:"code"`
	// Message says what failed.
	Message string `json:"message"`
	// Detail says why, and what to do about it.
	Detail string `json:"detail"`
	// Cause is the server's error of JSON-RPC, if it has answered with one: code, message and
	// data.
	Cause json.RawMessage `json:"cause,omitempty"`
}

// MCPToolResult answers POST /api/v0/mcp/call-tool.
type MCPToolResult struct {
	// Content has the pieces of the tool's result.
	Content []MCPContent `json:"content"`
	// IsError says that the tool has failed. A failure of the call is an error instead.
	IsError bool `json:"is_error"`

	// Structured, only in Waymark, is the result according to the tool's output schema.
	Structured json.RawMessage `json:"structured_content,omitempty"`
	// Asked, only in Waymark, is what the server asks before it answers, in place of content.
	Asked *MCPAsked `json:"asked,omitempty"`
	// Truncated, only in Waymark, says that the content was too long, and where the whole
	// result is.
	Truncated *MCPTruncated `json:"truncated,omitempty"`
}

// MCPContent is a piece of a result.
type MCPContent struct {
	// Type is text, image, audio, resource or resource_link. Later protocol versions may
	// add more.
	Type string `json:"type"`
	// Text is a text, or the text of a resource.
	Text string `json:"text,omitempty"`
	// Data is any other content, in base64.
	Data string `json:"data,omitempty"`
	// MediaType is the media type according to the server.
	MediaType string `json:"media_type,omitempty"`
	// URI, only in Waymark, is the URI of a resource, or of a linked one.
	URI string `json:"uri,omitempty"`
	// Name, only in Waymark, is the name of a linked resource.
	Name string `json:"name,omitempty"`
}

// MCPTruncated says how much of a result was left out.
type MCPTruncated struct {
	// ResultID identifies the whole result, which is kept as JSON for a while: GET
	// /api/v0/mcp/results/{id}. It is absent if the result is too long to be kept.
	ResultID string `json:"result_id,omitempty"`
	// OriginalBytes is the length of the result, in bytes.
	OriginalBytes int64 `json:"original_bytes" minimum:"0"`
	// RetainedBytes is the length of what the answer has, in bytes.
	RetainedBytes int64 `json:"retained_bytes" minimum:"0"`
}

// MCPResultPage answers GET /api/v0/mcp/results/{id} with a piece of the result's text.
type MCPResultPage struct {
	// Text is the piece. It never begins or ends within a character.
	Text string `json:"text"`
	// NextOffset is where the next piece begins, in bytes.
	NextOffset int64 `json:"next_offset" minimum:"0"`
	// Length is the length of the whole text, in bytes.
	Length int64 `json:"length" minimum:"0"`
}

// MCPServers answers GET /api/v0/mcp/servers[?wait=], which only Waymark has.
type MCPServers struct {
	// Phase says whether more may follow.
	Phase snapshot.Phase `json:"phase"`
	// Servers are ordered by name.
	Servers []MCPServer `json:"servers"`
	// Invalid lists what can't be used in the files, with reasons.
	Invalid []MCPInvalid `json:"invalid"`
}

// MCPInvalid is an entry that can't be used, or, without a name, a file that can't.
type MCPInvalid struct {
	// Source is the path of the file.
	Source string `json:"source"`
	// Name is the entry's name; absent for a whole file.
	Name string `json:"name,omitempty"`
	// Error says why. It contains no value from the file.
	Error string `json:"error"`
}

// MCPServerState is a server's state.
type MCPServerState string

// The states of a server.
const (
	MCPConfigured MCPServerState = "configured"
	MCPKnown      MCPServerState = "known" // its catalogue is known from an earlier connection
	MCPStarting   MCPServerState = "starting"
	MCPRunning    MCPServerState = "running"
)

// MCPServer is a server that a file configures.
type MCPServer struct {
	// Name is the server's name in its file.
	Name string `json:"name"`
	// ID is the id of its resource.
	ID string `json:"id"`
	// Source is the file that configures it.
	Source string `json:"source"`
	// Origin says what that file is to the workspace.
	Origin string `json:"origin" enum:"workspace,environment,plugin,client,source,user"`
	// Transport is stdio, http or sse; empty for an entry that can't be used.
	Transport string `json:"transport"`
	// Title is the server's own title, or the first sentence of its instructions.
	Title string `json:"title,omitempty"`

	// State is the server's state.
	State MCPServerState `json:"state"`
	// Outcome is the server's outcome.
	Outcome snapshot.Outcome `json:"outcome"`
	// Error says why, and what to do about it.
	Error string `json:"error,omitempty"`
	// Tools is the number of tools that can be called.
	Tools int `json:"tools" minimum:"0"`
	// Held is the number of tools that wait for approval.
	Held int `json:"held" minimum:"0"`
	// Offers lists what it offers besides tools: resources, prompts, completions.
	Offers []string `json:"offers,omitempty"`
	// CatalogueAt is when its tools were listed.
	CatalogueAt *time.Time `json:"catalogue_at,omitempty"`
	// Findings is the number of findings, which a person should look at.
	Findings int `json:"findings" minimum:"0"`
	// Confined says what confines the server; absent for one that isn't started here.
	Confined string `json:"confined,omitempty" enum:"server,none"`
	// StartedAt is when the running server was started.
	StartedAt *time.Time `json:"started_at,omitempty"`
	// Calls is the number of calls since it was started.
	Calls int `json:"calls" minimum:"0"`
	// Restarts is the number of restarts since the agent's start.
	Restarts int `json:"restarts" minimum:"0"`
	// RetryAt is when a failed server is tried again.
	RetryAt *time.Time `json:"retry_at,omitempty"`
	// DevelopedUntil is until when its files in the workspace may change without another
	// approval, because a user develops it; absent if they may not.
	DevelopedUntil *time.Time `json:"developed_until,omitempty"`
}

// MCPServerDetail answers GET /api/v0/mcp/servers/{name}, which only Waymark has:
// everything that an approval depends on. It contains no values of variables or headers.
type MCPServerDetail struct {
	MCPServer
	// Command is the program.
	Command string `json:"command,omitempty"`
	// Args are the arguments as written in the file: references aren't expanded.
	Args []string `json:"args,omitempty"`
	// Cwd is its working directory.
	Cwd string `json:"cwd,omitempty"`
	// EnvNames are the names of its environment variables.
	EnvNames []string `json:"env_names,omitempty"`
	// HeaderNames are the names of its HTTP headers.
	HeaderNames []string `json:"header_names,omitempty"`
	// URLHost is the host of its URL.
	URLHost string `json:"url_host,omitempty"`
	// Redacted says where the entry has secrets, which are masked when the server repeats
	// them: names of variables and headers, "command", "arguments", "directory", "url".
	Redacted []string `json:"redacted,omitempty"`
	// Shadows are files with an entry of the same name that is ignored.
	Shadows []string `json:"shadows,omitempty"`

	// Definition is a digest of the entry that is the same on every machine; empty if there
	// is none.
	Definition string `json:"definition"`
	// Local is a digest of the server as it is on this machine.
	Local string `json:"local"`
	// Pinned says what the digests cover: only the entry (`entry`), also the files that it
	// names but not what those load (`partial`), or everything (`full`).
	Pinned string `json:"pinned" enum:",entry,partial,full"`
	// Files are the files that the digests cover.
	Files []MCPFile `json:"files,omitempty"`
	// Approval is the decision about the server.
	Approval *MCPApproval `json:"approval,omitempty"`
	// Changes are the differences from what was approved last.
	Changes []MCPChange `json:"changes,omitempty"`
	// May says, in sentences, what the running server may do.
	May []string `json:"may"`

	// Instructions are the server's instructions for models.
	Instructions string `json:"instructions,omitempty"`
	// Tools are the tools that it lists.
	Tools []MCPTool `json:"tool_list"`
	// Held are the tools that wait for approval.
	Held []MCPHeldTool `json:"held_tools,omitempty"`
	// HeldDigest is a digest of Held and of the complete tools, because diffs may be cut:
	// "tools:" and 64 hexadecimal digits. It is empty if nothing is held back.
	HeldDigest string `json:"held_digest,omitempty"`
	// Findings are what a person should look at.
	Findings []MCPFinding `json:"finding_list,omitempty"`
	// Versions are the server's name and versions, according to itself.
	Versions MCPServerVersion `json:"versions"`
}

// MCPServerVersion is what a server says about itself.
type MCPServerVersion struct {
	// Name is the server's own name.
	Name string `json:"name,omitempty"`
	// Version is the server's own version.
	Version string `json:"version,omitempty"`
	// Protocol is the MCP revision of the connection.
	Protocol string `json:"protocol,omitempty"`
}

// MCPFile is a file that a digest covers.
type MCPFile struct {
	// Path is the absolute path.
	Path string `json:"path"`
	// SHA256 is the digest of its content, in hexadecimal.
	SHA256 string `json:"sha256"`
}

// MCPApproval is a decision about a server.
type MCPApproval struct {
	// By is who decided.
	By string `json:"by" enum:"user,operator,hub,workspace"`
	// Denied says that the server was denied.
	Denied bool `json:"denied,omitempty"`
	// ID is the id of a signed approval.
	ID string `json:"id,omitempty"`
	// Until is when the approval expires.
	Until *time.Time `json:"until,omitempty"`
	// Widening is what the approval allows beyond the profile; absent for nothing.
	Widening *MCPWidening `json:"widening,omitempty"`
}

// MCPWidening is what a server may do beyond its profile; see launch.Widening.
type MCPWidening struct {
	// Read are additional readable paths, absolute or relative to the workspace.
	Read []string `json:"read,omitempty"`
	// Write are additional writable paths.
	Write []string `json:"write,omitempty"`
	// Ports restricts TCP to these ports; an empty list forbids TCP.
	Ports []uint16 `json:"ports,omitzero"`
	// Unix allows it to connect to Unix sockets by path.
	Unix bool `json:"unix,omitempty"`
	// Env are the names of variables that it gets from the agent's environment.
	Env []string `json:"env,omitempty"`
	// Unconfined runs it without a profile.
	Unconfined bool `json:"unconfined,omitempty"`
	// Asks are what it may ask the callers of its tools.
	Asks []string `json:"asks,omitempty" enum:"elicitation,elicitation-url,sampling,roots"`
}

// Widens reports whether w allows anything.
func (w *MCPWidening) Widens() bool {
	return w != nil && (len(w.Read)+len(w.Write)+len(w.Env)+len(w.Asks) > 0 || w.Ports != nil || w.Unix || w.Unconfined)
}

// MCPChange is a difference between a definition and what was approved.
type MCPChange struct {
	// Part is the part of the definition.
	Part string `json:"part"`
	// Before is the approved value.
	Before string `json:"before,omitempty"`
	// After is the current value.
	After string `json:"after,omitempty"`
}

// MCPHeldTool is a tool that waits for approval. The name "" stands for the server's
// instructions.
type MCPHeldTool struct {
	// Name is the tool's name; empty for the server's instructions.
	Name string `json:"name"`
	// New says that the tool didn't exist when the server was approved.
	New bool `json:"new,omitempty"`
	// Diff is the difference from what was approved.
	Diff string `json:"diff,omitempty"`
}

// MCPFinding is something that a person should know about a server.
type MCPFinding struct {
	// Code identifies the kind of finding.
	Code string `json:"code"`
	// Tool is the tool that the finding is about, if any.
	Tool string `json:"tool,omitempty"`
	// Text is the finding in a sentence.
	Text string `json:"text"`
}

// ApproveMCPServer is the body of POST /api/v0/mcp/servers/{name}/approve, which only
// Waymark has. The digests must be those that the caller has seen; otherwise the answer is
// 409.
type ApproveMCPServer struct {
	// Definition is the digest that the caller has seen; any other is 409.
	Definition string `json:"definition"`
	// Local is the digest that the caller has seen; any other is 409.
	Local string `json:"local"`
	// Held is the held_digest that the caller has seen, to approve the held tools, too; any
	// other is 409. Without it, they stay held back.
	Held string `json:"held,omitempty"`
	// Develop lets the files in the workspace that the digests cover change for eight hours
	// without another approval. The answer is 409 if the server isn't confined, gets
	// secrets, or a process of a chat is running.
	Develop bool `json:"develop,omitempty"`
	// The permissions beyond its profile from now on. They replace those of an earlier
	// approval.
	MCPWidening
}

// LoginMCPServer is the body of POST /api/v0/mcp/servers/{name}/login, which only Waymark
// has. An empty one starts a sign-in. Redirect completes it with the address to which the
// browser was redirected, on machines whose loopback the browser can't reach.
type LoginMCPServer struct {
	// Redirect is the address to which the browser was redirected.
	Redirect string `json:"redirect,omitempty"`
	// Forget deletes the tokens.
	Forget bool `json:"forget,omitempty"`
	// ClientID is a client that was registered at the authorization server beforehand, for
	// servers without dynamic registration. It starts a sign-in.
	ClientID string `json:"client_id,omitempty"`
	// ClientSecret is that client's secret, if it has one. It is stored encrypted, with the
	// tokens.
	ClientSecret string `json:"client_secret,omitempty"`
}

// MCPLogin answers POST /api/v0/mcp/servers/{name}/login.
type MCPLogin struct {
	// URL is where the user signs in; empty when that is done.
	URL string `json:"url,omitempty"`
	// Done says that the sign-in is complete.
	Done bool `json:"done"`
}

// MCPLog answers GET /api/v0/mcp/servers/{name}/logs?offset=&limit=&wait_ms= with a
// server's standard error and its events. Offsets count bytes since the agent's start. If
// the requested offset is beyond the end, it belongs to an earlier agent, and NextOffset is
// the end.
type MCPLog struct {
	// Text is a piece of the log.
	Text string `json:"text"`
	// Offset is where the piece begins, in bytes. It is above the requested offset if older
	// text is lost.
	Offset int64 `json:"offset" minimum:"0"`
	// NextOffset is where the next piece begins.
	NextOffset int64 `json:"next_offset" minimum:"0"`
}

// MCPSearch answers GET /api/v0/mcp/search?q=&tokens=&limit= with the tools that match,
// best first, as many as fit.
type MCPSearch struct {
	// Phase says whether more may follow.
	Phase snapshot.Phase `json:"phase"`
	// Tools are the matching tools, best first.
	Tools []MCPTool `json:"tools"`
	// Tokens is the approximate number of tokens that they take.
	Tokens int `json:"tokens" minimum:"0"`
	// Omitted is the number of matching tools that didn't fit.
	Omitted int `json:"omitted" minimum:"0"`
}
