// Package workspace is what both ends of the services' API share: the JSON of
// requests and answers, and who calls. What the services do is in the packages
// below it: process, files, git. Package client is the other end.
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
package workspace

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
