// Package agentapi has the types that both ends of the API of an agent's services share:
// the JSON of requests and answers, and the chat that a request is made for. The packages
// below workspace implement the services, and package client calls them. Package status has
// the types for the agent's own status.
//
// Paths, fields, codes and limits are those of the HTTP API of Coder's workspace agent
// where it has an equivalent. Comments mark what only Waymark has.
//
// # Guarantees
//
// The package has no behavior: importing it adds neither a client nor a server to a
// program.
//
// # Concurrency
//
// Values are plain data. Don't modify values that are shared.
package agentapi

// Routes of the services, below the agent's address.
const (
	PathProcesses     = "/api/v0/processes"
	PathStart         = PathProcesses + "/start"
	PathList          = PathProcesses + "/list"
	PathTokens        = PathProcesses + "/tokens"
	PathCancelTracked = PathProcesses + "/cancel-tracked"
	PathReadFile      = "/api/v0/read-file"
	PathReadFileLines = "/api/v0/read-file-lines"
	PathWriteFile     = "/api/v0/write-file"
	PathListDirectory = "/api/v0/list-directory"
	PathEditFiles     = "/api/v0/edit-files"
	PathFindFiles     = "/api/v0/find-files"
	PathSearchFiles   = "/api/v0/search-files"
	PathGitWatch      = "/api/v0/git/watch"
	PathGitDiff       = "/api/v0/git/diff"
	PathContextConfig = "/api/v0/context-config"
	PathMintedTokens  = "/api/v0/tokens" //nolint:gosec // a route
	PathStop          = "/api/v0/stop"
	PathMCP           = "/api/v0/mcp"
	PathDesktop       = "/api/v0/desktop"
)
