// Package clienttest is a test suite for the contract of the agent's API, for
// implementations of client.Client: the agent over its socket, and the fake for tests of
// other programs.
//
// # Guarantees
//
// Implementations that pass return the same codes, in the same order and with the same
// limits, as far as a client can see and they have the [Features]. The suite waits for
// events and compares no times, so that it doesn't fail on a slow machine.
//
// # Concurrency
//
// Parts run sequentially, each with its own agent.
//
// # Limits
//
// The suite uses only the interface: what a client can't send, such as invalid JSON, is
// left to the tests of each service. Permissions aren't compared, because tests may run as
// root.
package clienttest

import (
	"context"
	"testing"
	"time"

	"waymark/agentapi"
	"waymark/agentapi/client"
)

// Env is what the suite does to an agent past its API. Paths are absolute.
type Env interface {
	// Root is the workspace's directory, Home the user's, and Outside one that is in
	// neither. They exist.
	Root() string
	Home() string
	Outside() string

	// Write makes a file, and the directories on the way, Mkdir a directory, Link a
	// symbolic link. Read returns a file's content, "" where there is none.
	Write(t testing.TB, path, content string)
	Mkdir(t testing.TB, path string)
	Link(t testing.TB, target, path string)
	Read(t testing.TB, path string) string

	// Repository makes a directory a git repository on the branch "main", with a
	// remote "origin" and the file "a.txt" of three lines "one", "two" and "three"
	// committed. Change writes a file of it without committing it; Unmake removes
	// the repository.
	Repository(t testing.TB, dir string)
	Change(t testing.TB, dir, name, content string)
	Unmake(t testing.TB, dir string)

	// MCPServer has the workspace configure the MCP server that MCPServerName
	// describes. Nobody has approved it, where that is needed.
	MCPServer(t testing.TB)

	// Restart ends the agent, as a crash does, and starts another one for the same
	// workspace. What it holds lives on.
	Restart(t testing.TB)
	// WithToken is the agent as a client with that token sees it; "" is none.
	WithToken(token string) client.Client
}

// Features are parts of the contract that an implementation for tests may leave out.
type Features struct {
	Links     bool // symbolic links
	Secrets   bool // the secret list
	Minting   bool // tokens with their limits, and those that mint others
	Profiles  bool // of processes
	Terminals bool // that have a size
	Tracked   bool // starts that can be asked after and fenced off
	Context   bool // where context is looked for, sources, clients, plugins
	Git       bool
	Desktop   bool // a screen that pictures show and recordings hold
	Servers   bool // MCP servers that are approved, started and read by hand
}

// All are all features, as the agent has them.
func All() Features {
	return Features{Links: true, Secrets: true, Minting: true, Profiles: true, Terminals: true, Tracked: true, Context: true, Git: true, Desktop: true, Servers: true}
}

// Run runs the suite. start starts an agent that finds nothing but an empty
// workspace and an empty home, and ends it with the test; the client that it
// returns has the control token.
func Run(t *testing.T, has Features, start func(t *testing.T) (client.Client, Env)) {
	for _, part := range []struct {
		name string
		run  func(s *suite)
		has  bool
	}{
		{"start", (*suite).start, true},
		{"output", (*suite).output, true},
		{"view", (*suite).view, true},
		{"pages", (*suite).pages, true},
		{"list", (*suite).list, true},
		{"wait", (*suite).wait, true},
		{"signal", (*suite).signal, true},
		{"stdin", (*suite).stdin, true},
		{"client tokens", (*suite).clientTokens, true},
		{"tracked", (*suite).tracked, has.Tracked},
		{"chats", (*suite).chats, true},
		{"follow", (*suite).follow, true},
		{"read", (*suite).read, true},
		{"lines", (*suite).lines, true},
		{"write", (*suite).write, true},
		{"directories", (*suite).directories, true},
		{"search", (*suite).search, true},
		{"edit", (*suite).edit, true},
		{"secrets", (*suite).secrets, has.Secrets},
		{"plan", (*suite).plan, true},
		{"access", (*suite).access, true},
		{"tokens", (*suite).tokens, has.Minting},
		{"git", (*suite).git, has.Git},
		{"git of chats", (*suite).gitOfChats, has.Git},
		{"git diff", (*suite).gitDiff, has.Git},
		{"desktop", (*suite).desktop, true},
		{"context", (*suite).context, has.Context},
		{"no MCP servers", (*suite).mcpNone, true},
		{"approval of MCP servers", (*suite).mcpApproval, has.Servers},
		{"tools of MCP servers", (*suite).mcpTools, true},
		{"calls of MCP servers", (*suite).mcpCalls, true},
		{"life of MCP servers", (*suite).mcpLife, has.Servers},
	} {
		t.Run(part.name, func(t *testing.T) {
			if !part.has {
				t.Skip("the implementation leaves it out")
			}
			c, env := start(t)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			t.Cleanup(cancel)
			part.run(&suite{T: t, has: has, ctx: ctx, c: c, env: env})
		})
	}
}

// patience bounds a part: some hundred times what it takes.
const patience = 4 * time.Minute

// suite is one part at work.
type suite struct {
	*testing.T
	has Features
	ctx context.Context
	c   client.Client
	env Env
}

// must ends the part with an error.
func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// code compares the code of an error; 0 is no error.
func (s *suite) code(what string, err error, want int) {
	s.Helper()
	if got := client.CodeOf(err); got != want || want == 0 && err != nil {
		s.Errorf("%s: got %v (code %d), want code %d", what, err, got, want)
	}
}

// begin starts a process.
func (s *suite) begin(c client.Client, start agentapi.StartProcess) string {
	s.Helper()
	p, err := c.StartProcess(s.ctx, start)
	s.must(err)
	if p.ID == "" || !p.Started || p.Attached {
		s.Fatalf("%q: a new process is %+v", start.Command, p)
	}
	return p.ID
}

// end waits for the end of a process, and returns its output and exit code.
func (s *suite) end(id string) (string, int) {
	s.Helper()
	for {
		out, err := s.c.ProcessOutput(s.ctx, id, agentapi.OutputOptions{Wait: true})
		s.must(err)
		switch {
		case out.Running: // 5 minutes have passed
		case out.ExitCode == nil:
			s.Fatalf("an ended process has no exit code: %+v", out)
		default:
			return out.Output, *out.ExitCode
		}
	}
}

// run is begin and end.
func (s *suite) run(start agentapi.StartProcess) (string, int) {
	s.Helper()
	return s.end(s.begin(s.c, start))
}
