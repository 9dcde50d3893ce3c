// Package client drives a workspace through its agent: context, processes, files, git and
// the tools of MCP servers.
//
// Programs should accept the interface [Client]. [New] makes the real one, which reaches
// the agent over its Unix socket or over TCP. Package fake has one in memory, so that a
// program's tests need no agent. The suite in package clienttest holds both to the same
// contract.
//
// # Access
//
// Everyone who can open the socket may read: snapshots, files, lists of processes. Calls
// that act need Options.Token as well: the token in control.token of the workspace's state
// directory, or one minted with it that grants less. [Client.For] sets the chat that calls
// are made for. The chat determines which processes a call sees and which repositories it
// watches; it grants nothing.
//
// # Guarantees
//
//   - Every call ends: with its context or, if that has no deadline, after Options.Timeout plus
//     the time that the call is meant to wait. A file transfer may take longer as long as it
//     makes progress.
//   - At most 64 MiB of an answer are read, except for the content of a file, which is streamed.
//   - The token is sent only to the agent: redirects aren't followed, and proxies from the
//     environment aren't used.
//   - [Client.Watch], [Client.WatchGit] and [Follow] survive a restart of the agent.
//   - Importing the package adds no server, sandbox or database to a program.
//
// # Errors
//
// [ErrNotRunning] if no agent answers; *[Error], with the HTTP status in Code, if the agent
// refuses a call; the context's error if it ended first.
//
// # Concurrency
//
// A Client may be used by any number of goroutines. It keeps no connections and needs no
// Close.
//
// # Limits
//
// Text travels as JSON: the input and output of a process are UTF-8, and invalid bytes in
// its output are replaced. Files are transferred unchanged.
package client

import (
	"context"
	"iter"
	"net"
	"time"

	"waymark/agentapi"
	"waymark/agentapi/status"
	"waymark/host/applicability"
	"waymark/host/codingagents"
	"waymark/host/plugin/approvals"
	"waymark/host/sources"
	"waymark/host/why"
	"waymark/internal/httpapi/problem"
	"waymark/snapshot"
)

// Error is a refusal of the agent, with the HTTP status in Code.
type Error = problem.Error

// CodeOf returns the status of the Error in err, or 0 if there is none.
func CodeOf(err error) int { return problem.CodeOf(err) }

// Client is a running agent.
//
// A code in the documentation of a method means an *Error with that code. All paths are
// absolute. Every method may also return 401 if a token is missing, 403 if the token
// doesn't allow the call, 400 for invalid arguments, and 503 while the agent is stopping.
type Client interface {
	// For returns a Client whose calls are made for a chat, or for none if caller is zero.
	For(caller agentapi.Caller) Client

	Processes
	Files
	Access
	MCP
	Desktop

	// WatchGit yields the uncommitted changes in the workspace's repository or, for a chat,
	// in the repositories that it and its descendants have touched: first everything, then
	// what has changed. Messages of type agentapi.GitError are yielded, too. After a
	// restart of the agent it yields everything again. Errors are as in Watch.
	WatchGit(ctx context.Context, opts GitOptions) iter.Seq2[*agentapi.GitMessage, error]
	// GitDiff lists the files with uncommitted changes, in the repositories of WatchGit or
	// at the given paths, with as many of the diffs as fit. 404 says that there is no
	// repository, or that a path doesn't exist.
	GitDiff(ctx context.Context, asked agentapi.GitQuestion) (*agentapi.GitDiffs, error)
	// ContextConfig returns where the agent looks for context.
	ContextConfig(ctx context.Context) (*agentapi.ContextConfig, error)
	// Stop ends everything that the agent holds, then the agent, which may still run for a
	// moment. It needs a token with the scope "stop".
	Stop(ctx context.Context) error

	// Status returns the agent's status.
	Status(ctx context.Context) (*status.Status, error)
	// Health reports whether the agent serves. It needs no token.
	Health(ctx context.Context) error
	// Metrics returns all metrics in the text format of Prometheus.
	Metrics(ctx context.Context) ([]byte, error)

	// Snapshot returns the newest snapshot, without payloads. Version 0 means that there is
	// none yet.
	Snapshot(ctx context.Context, opts SnapshotOptions) (*snapshot.Snapshot, error)
	// Watch yields snapshots newer than after; it skips those that are superseded
	// meanwhile. After a restart of the agent it continues with the new agent's first
	// snapshot, whatever its version.
	//
	// If the connection to the agent is lost, it yields one error and, if the loop
	// continues, waits for the agent's return. If waiting is useless (no agent was there in
	// the first place, or the agent refuses the request), the error is the last value. It
	// ends without an error when ctx ends.
	Watch(ctx context.Context, after uint64) iter.Seq2[*snapshot.Snapshot, error]
	// Resync returns a snapshot that contains every change made before the call.
	Resync(ctx context.Context) (*snapshot.Snapshot, error)
	// Resource returns the payload of the resource with this id. 404 says that there is
	// none.
	Resource(ctx context.Context, id string) ([]byte, error)
	// Why explains how files were treated, in the order of the paths.
	Why(ctx context.Context, paths ...string) ([]why.Answer, error)
	// Applies returns what applies to a file, nearest first, and what doesn't. 404 says
	// that the file is in no directory that the agent scans, or that the agent is too old
	// for this call; 403 that the file is on the secret list.
	Applies(ctx context.Context, path string) (*applicability.Answer, error)
	// ClientContext returns what a coding agent sees when it is started in dir, a directory
	// of the workspace; "" means the working directory. client is one of codingagents.IDs.
	// ClientApplies returns what it reads for a file, ClientWhy explains how it treats
	// files.
	ClientContext(ctx context.Context, client, dir string) (*codingagents.View, error)
	ClientApplies(ctx context.Context, client, path string) (*applicability.Answer, error)
	ClientWhy(ctx context.Context, client string, paths ...string) ([]why.Answer, error)
	// SkillFiles lists the current files in the directory of the skill with this resource
	// id. 404 says that there is no such skill, or that the agent is too old for this call.
	SkillFiles(ctx context.Context, id string) (*status.SkillFiles, error)
	// SkillFile reads a file of a skill. 404 says that it doesn't exist, or isn't shown.
	SkillFile(ctx context.Context, id, file string) ([]byte, error)
	// Coverage returns the files in places that agents read which aren't used. 404 says
	// that the agent is too old for this call.
	Coverage(ctx context.Context) (*why.Coverage, error)

	// Sources lists the user's sources in order of precedence.
	Sources(ctx context.Context) ([]sources.Source, error)
	// Source returns a source. 404 says that it isn't on the list.
	Source(ctx context.Context, path string) (sources.Source, error)
	// AddSource adds a source, which needn't exist yet, and reports whether it is new. With
	// persist it survives a restart of the agent.
	AddSource(ctx context.Context, path string, persist bool) (s sources.Source, added bool, err error)
	// RemoveSource removes a source permanently.
	RemoveSource(ctx context.Context, path string) error

	// SetRoot sets the agent's working directory if it was unknown at the start.
	SetRoot(ctx context.Context, path string) error
	// Ready lets the agent publish its first snapshot if that is held back.
	Ready(ctx context.Context) error

	// Plugins lists the resolver modules and their states.
	Plugins(ctx context.Context) ([]snapshot.Plugin, error)
	// RetryPlugins ends the quarantine of failing resolvers.
	RetryPlugins(ctx context.Context) error
	// WaitingPlugins lists the modules that wait for approval.
	WaitingPlugins(ctx context.Context) ([]approvals.Pending, error)
	// ApprovePlugin approves a waiting module by the digest of its file. 404 says that it
	// isn't waiting.
	ApprovePlugin(ctx context.Context, name, digest string) (*approvals.Pending, error)
}

// SnapshotOptions select a snapshot. The zero value selects the newest.
type SnapshotOptions struct {
	// Wait is how long to wait for a version above After; 0 doesn't wait. When the time is
	// up, the current snapshot is returned, newer or not. The agent waits some minutes at
	// most.
	Wait time.Duration
	// After is the version that the caller has. If it is above the newest, it belongs to an
	// earlier life of the agent, and any snapshot is newer.
	After uint64
	// Complete keeps waiting while discovery is pending.
	Complete bool
}

// Options configure a Client. The zero value works over a Unix socket.
type Options struct {
	// Token determines what the client may do; see the package comment. Over TCP every call
	// needs one.
	Token string
	// Caller is the chat that calls are made for; see [Client.For].
	Caller agentapi.Caller
	// Dial, if not nil, makes connections instead of connecting to the address, for example
	// to an agent in the same process.
	Dial func(ctx context.Context) (net.Conn, error)
	// Timeout limits calls whose context has no deadline, in addition to the time that they
	// are meant to wait. Default 30 s.
	Timeout time.Duration
	// Retry is the longest pause between attempts to reconnect; the first pause is a
	// sixteenth of it. Default 2 s.
	Retry time.Duration
}
