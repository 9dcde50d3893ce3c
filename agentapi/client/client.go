// Package client drives a workspace through its agent: what the agent finds
// there, processes, files, git, the tools of MCP servers.
//
// Programs take the interface [Client]. [New] makes the real one, which reaches
// the agent over its Unix socket or over TCP; package fake has one in memory, so
// that the program's tests need no agent. Package clienttest holds both to the
// same contract.
//
// # Who may what
//
// Whoever can open the socket may look: snapshots, files, lists of processes.
// What acts needs Options.Token in addition: the token in control.token of the
// workspace's state directory, or one that was minted with it and grants less.
// For which chat a call is made is said by [Client.For]: that decides which
// processes it sees and which repositories it watches, and gives no rights.
//
// # Guarantees
//
//   - Every call ends: with its context, or after Options.Timeout where the
//     context has no deadline of its own, in addition to the time that it means to
//     wait. A file on its way may take longer, as long as it moves.
//   - An answer is never read beyond 64 MiB, but for the content of a file, which
//     is handed on as it comes.
//   - The token goes to the agent alone: redirects aren't followed, and proxies
//     of the environment aren't used.
//   - [Client.Watch], [Client.WatchGit] and [Follow] go on when the agent is
//     restarted.
//   - The package brings no server, no sandbox and no database along.
//
// # Errors
//
// [ErrNotRunning] where nobody answers; *[Error], with the HTTP status in
// Code, where the agent says no; the context's error where it ended first.
//
// # Concurrency
//
// A Client may be used by any number of goroutines. It keeps no connections
// and needs no Close.
//
// # Limits
//
// Text travels as JSON: what a process writes or is sent is UTF-8, and bytes that
// aren't are replaced in its output. Files are read and written as they are.
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
	"waymark/host/coverage"
	"waymark/host/plugin/approvals"
	"waymark/host/sources"
	"waymark/host/why"
	"waymark/internal/httpapi/problem"
	"waymark/snapshot"
)

// Error is the agent's "no", with the HTTP status in Code.
type Error = problem.Error

// CodeOf returns the status of the Error in err, 0 when there is none.
func CodeOf(err error) int { return problem.CodeOf(err) }

// Client is a running agent.
//
// What a method is documented to answer with a code is an *Error of that code. All
// paths are absolute. In addition to what is said there: 401 where a token is
// missing, 403 where it doesn't allow the call, 400 for what can't be right, 503
// while the agent stops.
type Client interface {
	// For returns a Client whose calls are made for a chat, or, of the zero Caller,
	// for none.
	For(caller agentapi.Caller) Client

	Processes
	Files
	Access
	MCP

	// WatchGit yields what isn't committed in the workspace's repository or, for a
	// chat, in those that it and the chats below it have touched: everything at
	// first, later what has changed. Messages of the type agentapi.GitError are
	// yielded as they come. It goes on when the agent is restarted, which tells
	// everything anew; errors are as those of Watch.
	WatchGit(ctx context.Context, opts GitOptions) iter.Seq2[*agentapi.GitMessage, error]
	// GitDiff names the files that aren't as they were committed, in the repositories of
	// WatchGit or at the paths that are asked for, with as many of the diffs as there is
	// room for. 404 says that there is no repository, or nothing at a path.
	GitDiff(ctx context.Context, asked agentapi.GitQuestion) (*agentapi.GitDiffs, error)
	// ContextConfig says where context is looked for.
	ContextConfig(ctx context.Context) (*agentapi.ContextConfig, error)
	// Stop ends what the agent holds, and then the agent: it may be there still, for
	// a moment. It needs a token with the scope "stop".
	Stop(ctx context.Context) error

	// Status asks how the agent is doing.
	Status(ctx context.Context) (*status.Status, error)
	// Health asks whether the agent serves. It needs no token.
	Health(ctx context.Context) error
	// Metrics returns all metrics in the text format of Prometheus.
	Metrics(ctx context.Context) ([]byte, error)

	// Snapshot returns the newest snapshot, without payloads. Version 0 means
	// that there is none yet.
	Snapshot(ctx context.Context, opts SnapshotOptions) (*snapshot.Snapshot, error)
	// Watch yields every snapshot newer than after, as they come; those that
	// are replaced in the meantime are skipped. It goes on when the agent is
	// restarted, and then begins with the first snapshot of the new one, of
	// whatever version.
	//
	// When the agent is lost it yields an error, once, and, if the loop goes
	// on, waits for its return. Where waiting is of no use (no agent has been
	// there at all, or it refuses the request) the error is the last thing it
	// yields. It ends without an error when ctx ends.
	Watch(ctx context.Context, after uint64) iter.Seq2[*snapshot.Snapshot, error]
	// Resync returns a snapshot that contains every change made before the
	// call.
	Resync(ctx context.Context) (*snapshot.Snapshot, error)
	// Resource returns the payload of the resource with the id. 404
	// says that there is none.
	Resource(ctx context.Context, id string) ([]byte, error)
	// Why returns what became of files, in the order of the paths, which are
	// absolute.
	Why(ctx context.Context, paths ...string) ([]why.Answer, error)
	// Applies returns what applies to the file with the absolute path, nearest first, and what
	// doesn't. 404 says that it lies in no directory that the agent looks at, or that the
	// agent is older than this; 403 that it is on the secret list.
	Applies(ctx context.Context, path string) (*applicability.Answer, error)
	// ClientContext returns what a coding agent, one of codingagents.IDs, sees when it is
	// started in a directory of the workspace, an absolute path; empty means where the
	// agent works. ClientApplies returns what it has for the file with the absolute path,
	// ClientWhy what became of files, with what it makes of them.
	ClientContext(ctx context.Context, client, dir string) (*codingagents.View, error)
	ClientApplies(ctx context.Context, client, path string) (*applicability.Answer, error)
	ClientWhy(ctx context.Context, client string, paths ...string) ([]why.Answer, error)
	// SkillFiles lists the files in the directory of a skill, by the id of its resource,
	// as they are now. 404 says that there is no such skill, or that the agent is older
	// than this.
	SkillFiles(ctx context.Context, id string) (*status.SkillFiles, error)
	// SkillFile reads one of them. 404 says that it isn't there, or isn't shown.
	SkillFile(ctx context.Context, id, file string) ([]byte, error)
	// Coverage returns the files that lie where agents look and aren't used. 404 says
	// that the agent is older than this.
	Coverage(ctx context.Context) (*coverage.Report, error)

	// Sources lists the user's sources in order of precedence.
	Sources(ctx context.Context) ([]sources.Source, error)
	// Source returns one of them. 404 says that it isn't on the list.
	Source(ctx context.Context, path string) (sources.Source, error)
	// AddSource adds a source, which may not exist yet, and reports whether
	// it is new on the list. With persist it is there again after a restart
	// of the agent.
	AddSource(ctx context.Context, path string, persist bool) (s sources.Source, added bool, err error)
	// RemoveSource removes a source for good.
	RemoveSource(ctx context.Context, path string) error

	// SetRoot sets the agent's working directory, when that wasn't known
	// at its start.
	SetRoot(ctx context.Context, path string) error
	// Ready lets the agent publish its first snapshot, if that is held back.
	Ready(ctx context.Context) error

	// Plugins lists the resolver modules and their states.
	Plugins(ctx context.Context) ([]snapshot.Plugin, error)
	// RetryPlugins ends the quarantine of failing resolvers.
	RetryPlugins(ctx context.Context) error
	// WaitingPlugins lists the modules that wait for an approval.
	WaitingPlugins(ctx context.Context) ([]approvals.Pending, error)
	// ApprovePlugin lets a module run that waits, by the digest of its file. 404
	// says that it doesn't wait.
	ApprovePlugin(ctx context.Context, name, digest string) (*approvals.Pending, error)
}

// SnapshotOptions say which snapshot is wanted. The zero value wants the
// newest there is.
type SnapshotOptions struct {
	// Wait is how long to wait for a version above After; 0 doesn't wait. What
	// is there in the end is returned, newer or not. The agent waits for some
	// minutes at the most.
	Wait time.Duration
	// After is the version the caller has. One above the newest is taken for
	// one of an earlier agent: everything is newer.
	After uint64
	// Complete waits on while the discovery of what there is is pending.
	Complete bool
}

// Options configures a Client. The zero value works over a Unix socket.
type Options struct {
	// Token says what the client may do; see the package comment. Over TCP nothing
	// goes without one.
	Token string
	// Caller is the chat for which calls are made; see [Client.For].
	Caller agentapi.Caller
	// Dial, if not nil, makes the connections in the place of what the address says:
	// for who has the agent in its own process.
	Dial func(ctx context.Context) (net.Conn, error)
	// Timeout bounds calls whose context has no deadline, in addition to the
	// time that they mean to wait. Default 30 s.
	Timeout time.Duration
	// Retry is the longest pause between the attempts to find a lost
	// agent again; it begins with a sixteenth of it. Default 2 s.
	Retry time.Duration
}
