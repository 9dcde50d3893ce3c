// Package client talks to a running agent through its local HTTP API.
//
// Consumers take the interface [Client] and fake it in their tests; New makes
// the real one. It reaches the agent over its Unix socket, or over TCP with a
// token.
//
// # Guarantees
//
//   - Every call ends: with its context, or after Options.Timeout where the
//     context has no deadline of its own.
//   - An answer is never read beyond 64 MiB.
//   - The token goes to the agent alone: redirects aren't followed, and proxies
//     of the environment aren't used.
//
// # Errors
//
// ErrNotRunning where nobody answers; *api.Error, with the HTTP status in
// Code, where the agent says no; the context's error where it ended first.
//
// # Concurrency
//
// A Client may be used by any number of goroutines. It keeps no connections
// and needs no Close.
package client

import (
	"context"
	"iter"
	"time"

	"waymark/host/api/types"
	"waymark/host/plugin/approvals"
	"waymark/host/sources"
	"waymark/host/why"
	"waymark/snapshot"
)

// Client is a running agent.
type Client interface {
	// Status asks how the agent is doing.
	Status(ctx context.Context) (*types.Status, error)
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
	// Resource returns the payload of the resource with the id. It is an
	// *api.Error of code 404 when there is none.
	Resource(ctx context.Context, id string) ([]byte, error)
	// Why returns what became of files, in the order of the paths, which are
	// absolute.
	Why(ctx context.Context, paths ...string) ([]why.Answer, error)

	// Sources lists the user's sources in order of precedence.
	Sources(ctx context.Context) ([]sources.Source, error)
	// Source returns one of them. It is an *api.Error of code 404 when there
	// is none.
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
	// ApprovePlugin lets a module run that waits, by the digest of its file. It
	// is an *api.Error of code 404 when that doesn't wait.
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
}

// Options configures a Client. The zero value works over a Unix socket.
type Options struct {
	// Token is what the agent reads from its --listen-token-file, for TCP.
	Token string
	// Timeout bounds calls whose context has no deadline, in addition to the
	// time that they mean to wait. Default 30 s.
	Timeout time.Duration
	// Retry is the longest pause between Watch's attempts to find a lost
	// agent again; it begins with a sixteenth of it. Default 2 s.
	Retry time.Duration
}
