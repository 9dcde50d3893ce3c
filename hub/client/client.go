// Package client reads what a hub keeps, through the hub's API for consumers:
// agents and their snapshots, pins, differences, and events as they happen.
//
// Consumers (a chat, a dashboard, a command) take the interface [Client] and
// fake it in their tests; New makes the real one.
//
// # Guarantees
//
//   - Every call but Events ends: with its context, or after Options.Timeout
//     where the context has no deadline of its own.
//   - Events resumes by itself, over lost connections, restarts of the hub
//     and a switch to another replica. It yields revisions rising, none
//     twice; what was skipped because a newer revision of the same agent has
//     replaced it is covered by that one, and what the hub doesn't keep any
//     more is announced by a Reset.
//   - An answer is never read beyond 64 MiB, an event not beyond 4 MiB.
//   - The token goes to the hub alone: redirects aren't followed.
//
// # Errors
//
// ErrUnreachable where nobody answers; *Error, with the HTTP status in Code,
// where the hub says no, which matches ErrNotFound for a 404; the context's
// error where it ended first.
//
// # Concurrency
//
// A Client may be used by any number of goroutines. It needs no Close: an idle
// connection is given up after some seconds.
package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"waymark/hub/api"
)

// Client is a hub, seen by a reader or an operator.
type Client interface {
	// Agents lists all agents by id.
	Agents(ctx context.Context) ([]api.Agent, error)
	// Enroll makes an agent whose token has that hash, with a code or a key in the
	// place of the client's token. To ask again with the same hash is safe.
	Enroll(ctx context.Context, tokenSHA256, name string) (*api.Enrolled, error)
	// Search tells which agents have something, at most limit of what there is; 0
	// means 100.
	Search(ctx context.Context, text string, limit int) (*api.SearchResult, error)
	// FindAgents returns a page of those that a query is about.
	FindAgents(ctx context.Context, q AgentQuery) (*AgentPage, error)
	// Agent returns one of them.
	Agent(ctx context.Context, agentID string) (*api.Agent, error)
	// Context returns what an agent has, without payloads. An agent that has
	// not pushed yet is ErrNotFound.
	Context(ctx context.Context, agentID string, opts ContextOptions) (*api.Snapshot, error)
	// Markdown returns it as text that is ready for a prompt. Revision 0 is
	// the newest.
	Markdown(ctx context.Context, agentID string, revision int64) (string, error)
	// Resource returns the payload of one resource. Revision 0 is the newest.
	Resource(ctx context.Context, agentID, resourceID string, revision int64) ([]byte, error)
	// History lists the revisions of an agent that are kept, the newest first,
	// at most limit of them; 0 means all.
	History(ctx context.Context, agentID string, limit int) ([]api.Change, error)
	// Diff returns what became different between two revisions of an agent. To
	// 0 means the newest.
	Diff(ctx context.Context, agentID string, from, to int64) (*api.Diff, error)

	// ClientContext asks an agent, which has to be connected to this hub, what a coding
	// agent would see that is started where it works: "codex" or another one that
	// ClientContext.Known names.
	ClientContext(ctx context.Context, agentID, client string) (*api.ClientContext, error)

	// CreatePin pins what an agent has now. The pin of an agent that hasn't
	// pushed yet is empty, and takes the first snapshot that comes.
	CreatePin(ctx context.Context, agentID, name string) (*api.Pin, error)
	// Pins lists the pins of an agent, or all of them when agentID is empty.
	Pins(ctx context.Context, agentID string) ([]api.Pin, error)
	// Pin returns one of them.
	Pin(ctx context.Context, pinID string) (*api.Pin, error)
	// DeletePin ends a pin.
	DeletePin(ctx context.Context, pinID string) error
	// RefreshPin pins anew what the agent has now, and clears the drift.
	RefreshPin(ctx context.Context, pinID string) (*api.Pin, error)
	// PinContext returns the snapshot as it is pinned; rows of MCP are live.
	PinContext(ctx context.Context, pinID string) (*api.Snapshot, error)
	// PinMarkdown returns it as text that is ready for a prompt.
	PinMarkdown(ctx context.Context, pinID string) (string, error)
	// PinPieces returns the parts of that text, as many as there is room for.
	PinPieces(ctx context.Context, pinID string, opts PromptOptions) (*api.Pieces, error)
	// PinResource returns a payload as it is pinned.
	PinResource(ctx context.Context, pinID, resourceID string) ([]byte, error)
	// PinDiff returns what became different since the pin.
	PinDiff(ctx context.Context, pinID string) (*api.Diff, error)

	// Events yields what happened after EventOptions.After, and what happens.
	//
	// When the hub is lost it yields an error, once, and, if the loop goes on,
	// waits for its return and resumes. Where waiting is of no use (no hub
	// has been there at all, or it refuses the request) the error is the last
	// thing it yields. It ends without an error when ctx ends.
	//
	// After each connection the hub sends the state of its agents (Agent
	// events), since nobody knows what was missed meanwhile.
	Events(ctx context.Context, opts EventOptions) iter.Seq2[Event, error]

	// AddApproval brings a signed approval to the agents that it is for. This and the
	// next two need an operator's token.
	AddApproval(ctx context.Context, signed []byte) (*api.Approval, error)
	// Approvals lists all of them by id, revoked and expired ones too.
	Approvals(ctx context.Context) ([]api.Approval, error)
	// RevokeApproval takes one back, for ever.
	RevokeApproval(ctx context.Context, id string) (*api.Approval, error)

	// Login makes a one-time URL that opens the hub's page in a browser.
	Login(ctx context.Context) (*api.Login, error)
}

// ContextOptions say which snapshot is wanted. The zero value wants the newest
// there is.
type ContextOptions struct {
	// Revision asks for what the agent had at this revision.
	Revision int64
	// Wait is how long to wait for a revision above After; 0 doesn't wait.
	// Without one in that time the answer is nil. The hub waits for a minute
	// at the most.
	Wait  time.Duration
	After int64
	// Complete waits on while the discovery of what there is is pending. What there
	// is when the time is up is returned, if it is above After. Where the agent has been
	// away for some seconds that is returned, whatever After is: its Away is set.
	Complete bool
}

// EventOptions say which events are wanted. The zero value wants all: the
// newest of each agent and pin that is there, and then whatever comes.
type EventOptions struct {
	// After is the revision that the caller has; Now is the newest.
	After int64
	// AgentID and PinID, where set, leave only what is about them.
	AgentID, PinID string
}

// Now is an EventOptions.After for what happens from now on.
const Now = -1

// Options configures a Client. Only Token is usually set.
type Options struct {
	// Token is a reader's token, or an operator's. Every call needs one.
	Token string
	// Timeout bounds calls whose context has no deadline, in addition to the time
	// that they mean to wait. Default 30 s.
	Timeout time.Duration
	// Retry is the longest pause between the attempts of Events to find a lost
	// hub again; it begins with a sixteenth of it. Default 4 s.
	Retry time.Duration
	// Silence is how long a stream of events may say nothing before it is
	// taken for dead. Hubs send something every 15 s. Default 45 s.
	Silence time.Duration
	// Transport makes the connections; nil means one of the client's own,
	// which uses the proxies of the environment.
	Transport http.RoundTripper
}

// Event is something that happened. One of the pointers is set, by Type.
type Event struct {
	Type string
	// Revision is the position in the stream, up to which it is complete: the
	// EventOptions.After that goes on behind this event without missing
	// anything. That of an Agent event, and of a Pin event before others of
	// the same revision, is the position before it: after a cut such a pin
	// comes again.
	Revision int64

	Context *api.ContextEvent
	Pin     *api.Pin
	Agent   *api.Agent
	Reset   *api.ResetEvent
}
