// Package entry turns the MCP servers in configuration files into what is started or
// dialed. It decides which file wins a name, expands references, and says whether a server
// is connected or only listed.
//
// # Guarantees
//
// It starts nothing, and reads only the files that it is given. Values from the environment
// appear only in Expanded, never in an error.
//
// # Concurrency
//
// Functions may be called from any goroutine. Entries are immutable once they are made.
package entry

import "waymark/plugins/mcpconfig/servers"

// File is a configuration file that the agent has found.
type File struct {
	// Path is its absolute path without links.
	Path string
	// Origin is the file's origin.
	Origin Origin
	// Shape is the file format of its client.
	Shape servers.Shape
	// Hash is the SHA-256 of the content that the host found, in hexadecimal. An unchanged
	// file isn't read again. It is empty if the host couldn't read the file.
	Hash string
	// Problem says why the host rejected the file; empty if it didn't.
	Problem string
}

// Origin says where a file's servers come from.
type Origin string

// The origins. Servers of the first three are connected. The others are only listed, unless
// the configuration says otherwise.
const (
	OriginWorkspace   Origin = "workspace"   // a file in the workspace's root
	OriginEnvironment Origin = "environment" // CODER_AGENT_EXP_MCP_CONFIG_FILES
	OriginPlugin      Origin = "plugin"      // of an enabled plugin
	OriginClient      Origin = "client"      // another client's file in the workspace's root
	OriginSource      Origin = "source"      // a source or another root
	OriginUser        Origin = "user"        // the user's own configuration of a client
)

// Entry is a server in a file.
type Entry struct {
	servers.Server
	// Source is the Path of its File.
	Source string
	Origin Origin
	// Shape is the Shape of its File.
	Shape servers.Shape
	// Shadowed is the Source of the entry that wins the name; empty for the winner.
	Shadowed string
	// Listed says why the server isn't connected; empty when it is.
	Listed string
}

// Expanded is an entry with its references expanded, ready to be started or dialed.
type Expanded struct {
	Command string
	Args    []string
	// Env are the entry's own variables. Package launch adds the others.
	Env     map[string]string
	Cwd     string // absolute
	URL     string
	Headers map[string]string
	// Secrets are values that must not be shown; see [Secrets]. Redacted says where they
	// are: names of variables and headers, "command", "arguments", "directory", "url".
	Secrets, Redacted []string
	// Unset are variables that are referred to but neither set nor given a default, and
	// Withheld are the agent's own variables, which count as unset.
	Unset, Withheld []string
}
