// Package entry turns the MCP servers of configuration files into what is to be
// started or dialed: which file wins a name, what references stand for, and whether
// a server is connected or only listed.
//
// # Guarantees
//
// Nothing is started, and nothing but the files that were named is read. Values of
// the environment stay in Expanded; no error holds one.
//
// # Concurrency
//
// Functions may be called from any goroutine; entries aren't changed once they are
// made.
package entry

import "waymark/plugins/mcpconfig/servers"

// File is a configuration file that the agent has found.
type File struct {
	// Path is its absolute path without links.
	Path string
	// Origin says by what it counts: what the workspace's own root holds, what the
	// environment named, and everything else.
	Origin Origin
	// Shape is how its client writes servers down.
	Shape servers.Shape
	// Hash is the SHA-256 of what the host found in it, in hexadecimal; a file whose
	// hash is the same isn't read again. Empty where the host could not read it.
	Hash string
	// Problem says why the host didn't take it; empty when it did.
	Problem string
}

// Origin says where a file's servers come from.
type Origin string

// The origins. The first two, and plugins, are connected; the others are listed
// unless the configuration widens that.
const (
	OriginWorkspace   Origin = "workspace"   // in the workspace's root
	OriginEnvironment Origin = "environment" // CODER_AGENT_EXP_MCP_CONFIG_FILES
	OriginPlugin      Origin = "plugin"      // of an enabled plugin
	OriginClient      Origin = "client"      // another client's file in the workspace's root
	OriginSource      Origin = "source"      // a source or another root
	OriginUser        Origin = "user"        // the user's own configuration of some client
)

// Entry is one server of one file.
type Entry struct {
	servers.Server
	// Source is the Path of its File.
	Source string
	Origin Origin
	// Shadowed is the Source of the entry that has the name instead; empty for the
	// one that counts.
	Shadowed string
	// Listed says why the server isn't connected; empty when it is.
	Listed string
}

// Expanded is an entry with what its references stand for, ready to be started or
// dialed.
type Expanded struct {
	Command string
	Args    []string
	// Env are the entry's own variables; what a server gets beside them is package
	// launch's business.
	Env     map[string]string
	Cwd     string // absolute
	URL     string
	Headers map[string]string
	// Secrets are the values that must not be shown; see [Secrets]. Redacted is what they
	// are of: names of variables and headers, "command", "arguments", "directory", "url".
	Secrets, Redacted []string
	// Unset are the variables that references name, that aren't set and have no
	// default: they are empty. Withheld are the agent's own, which are, too.
	Unset, Withheld []string
}
