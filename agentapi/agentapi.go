// Package agentapi has the types that both ends of the API of an agent's services share:
// the JSON of requests and answers, and who calls. The services themselves are in the
// packages below workspace; package client calls them. What the agent says of itself is
// in package status.
//
// Paths, fields, codes and limits are those of the HTTP API of Coder's workspace
// agent where it has them; what only Waymark has says so.
//
// # Guarantees
//
// The package does nothing: it brings neither end along.
//
// # Concurrency
//
// Values are plain data. Whoever shares one doesn't change it.
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
	PathGitWatch      = "/api/v0/git/watch"
	PathGitDiff       = "/api/v0/git/diff"
	PathContextConfig = "/api/v0/context-config"
	PathMintedTokens  = "/api/v0/tokens" //nolint:gosec // a route
	PathStop          = "/api/v0/stop"
	PathMCP           = "/api/v0/mcp"
)
