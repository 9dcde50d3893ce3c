// Package client reads what a hub stores, through the hub's API for consumers: agents and
// their snapshots, pins, differences, and events as they happen.
//
// Consumers (a chat, a dashboard, a command) should accept the interface [Client] and fake
// it in their tests; New makes the real one.
//
// # Guarantees
//
//   - Every call but Events ends: with its context or, if that has no deadline, after
//     Options.Timeout.
//   - Events resumes by itself after lost connections, restarts of the hub and a switch to
//     another replica. It yields rising revisions of each agent, none twice. A skipped event is
//     covered by a newer revision of the same agent. A Reset announces that events are lost.
//   - At most 64 MiB of an answer and 4 MiB of an event are read.
//   - The token is sent only to the hub: redirects aren't followed.
//
// # Errors
//
// ErrUnreachable if no hub answers; *Error, with the HTTP status in Code, if the hub
// refuses a call (it matches ErrNotFound for a 404); the context's error if it ended first.
//
// # Concurrency
//
// A Client may be used by any number of goroutines. It needs no Close: idle connections are
// closed after some seconds.
package client

import (
	"context"
	"io"
	"iter"
	"net/http"
	"time"

	"waymark/hub/api"
)

// Client is a hub as seen by a reader or an operator.
type Client interface {
	// Agents lists all agents, ordered by id.
	Agents(ctx context.Context) ([]api.Agent, error)
	// Enroll makes an agent whose token has this hash. The client's token is an enrollment
	// code or key. Repeating a call with the same hash is safe.
	Enroll(ctx context.Context, tokenSHA256, name string) (*api.Enrolled, error)
	// Search returns at most limit things that agents have and that match; 0 means 100.
	Search(ctx context.Context, text string, limit int) (*api.SearchResult, error)
	// FindAgents returns a page of the agents that match a query.
	FindAgents(ctx context.Context, q AgentQuery) (*AgentPage, error)
	// Agent returns an agent.
	Agent(ctx context.Context, agentID string) (*api.Agent, error)
	// Context returns an agent's snapshot, without payloads. If the agent has not pushed
	// yet, the error is ErrNotFound.
	Context(ctx context.Context, agentID string, opts ContextOptions) (*api.Snapshot, error)
	// Markdown returns a snapshot as text for a prompt. Revision 0 means the newest.
	Markdown(ctx context.Context, agentID string, revision int64) (string, error)
	// Resource returns the payload of a resource. Revision 0 means the newest.
	Resource(ctx context.Context, agentID, resourceID string, revision int64) ([]byte, error)
	// History lists at most limit stored revisions of an agent, newest first; 0 means all.
	History(ctx context.Context, agentID string, limit int) ([]api.Change, error)
	// Diff returns the difference between two revisions of an agent. To 0 means the newest.
	Diff(ctx context.Context, agentID string, from, to int64) (*api.Diff, error)

	// ClientContext asks a connected agent what a coding agent would see if it were started
	// in the working directory. client is "codex" or another one in ClientContext.Known.
	ClientContext(ctx context.Context, agentID, client string) (*api.ClientContext, error)

	// CreatePin pins an agent's current snapshot. If the agent has not pushed yet, the pin
	// is empty, and takes over the first snapshot.
	CreatePin(ctx context.Context, agentID, name string) (*api.Pin, error)
	// Pins lists the pins of an agent, or of all agents if agentID is empty.
	Pins(ctx context.Context, agentID string) ([]api.Pin, error)
	// Pin returns a pin.
	Pin(ctx context.Context, pinID string) (*api.Pin, error)
	// DeletePin deletes a pin.
	DeletePin(ctx context.Context, pinID string) error
	// RefreshPin pins the agent's current snapshot, and clears the drift.
	RefreshPin(ctx context.Context, pinID string) (*api.Pin, error)
	// PinContext returns the pinned snapshot. Its MCP rows are live.
	PinContext(ctx context.Context, pinID string) (*api.Snapshot, error)
	// PinMarkdown returns the pinned snapshot as text for a prompt.
	PinMarkdown(ctx context.Context, pinID string) (string, error)
	// PinPieces returns the parts of that text, as many as fit.
	PinPieces(ctx context.Context, pinID string, opts PromptOptions) (*api.Pieces, error)
	// PinResource returns a pinned payload.
	PinResource(ctx context.Context, pinID, resourceID string) ([]byte, error)
	// PinDiff returns what has changed since the pin.
	PinDiff(ctx context.Context, pinID string) (*api.Diff, error)

	// Events yields events after EventOptions.After, and then new ones as they happen.
	//
	// If the connection to the hub is lost, it yields one error and, if the loop continues,
	// waits for the hub's return and resumes. If waiting is useless (no hub was there in
	// the first place, or the hub refuses the request), the error is the last value. It
	// ends without an error when ctx ends.
	//
	// After each connection the hub sends the state of its agents (Agent events), because
	// changes may have been missed.
	Events(ctx context.Context, opts EventOptions) iter.Seq2[Event, error]

	// AddApproval sends a signed approval to the agents that it is for. This and the next
	// two calls need an operator's token.
	AddApproval(ctx context.Context, signed []byte) (*api.Approval, error)
	// Approvals lists all approvals by id, including revoked and expired ones.
	Approvals(ctx context.Context) ([]api.Approval, error)
	// RevokeApproval revokes an approval permanently.
	RevokeApproval(ctx context.Context, id string) (*api.Approval, error)

	// Tokens lists all tokens, oldest first, also revoked and expired ones. This and what
	// follows to Backup need an operator's token.
	Tokens(ctx context.Context) ([]api.Token, error)
	// CreateToken adds a token, whose text only the caller knows.
	CreateToken(ctx context.Context, token api.NewToken) (*api.Token, error)
	// RevokeToken revokes the token with an id permanently.
	RevokeToken(ctx context.Context, id string) error
	// Enrollments lists codes and keys, oldest first, also those that are no longer valid.
	Enrollments(ctx context.Context) ([]api.EnrollmentKey, error)
	// CreateEnrollment adds a code or key, whose text only the caller knows.
	CreateEnrollment(ctx context.Context, key api.NewEnrollmentKey) (*api.EnrollmentKey, error)
	// RevokeEnrollment revokes a code or key and, if tokens is true, the tokens of the
	// agents that enrolled with it, whose number it returns.
	RevokeEnrollment(ctx context.Context, id string, tokens bool) (int, error)
	// RenameAgent gives an agent another name, for people.
	RenameAgent(ctx context.Context, agentID, name string) (*api.Agent, error)
	// LabelAgent sets and removes labels of an agent, and returns those that it has then.
	LabelAgent(ctx context.Context, agentID string, change api.LabelChange) (map[string]string, error)
	// RemoveAgent removes an agent, its tokens and its history.
	RemoveAgent(ctx context.Context, agentID string) error
	// Webhooks lists all webhooks, oldest first.
	Webhooks(ctx context.Context) ([]api.Webhook, error)
	// CreateWebhook adds a webhook.
	CreateWebhook(ctx context.Context, webhook api.NewWebhook) (*api.Webhook, error)
	// DeleteWebhook removes a webhook and its waiting messages.
	DeleteWebhook(ctx context.Context, id string) error
	// TestWebhook has the hub send a message at once.
	TestWebhook(ctx context.Context, id string) error
	// Audit returns a page of what operators did, and the AuditQuery.After of the next one;
	// "" says that this is the last.
	Audit(ctx context.Context, q AuditQuery) (acts []api.Act, next string, err error)
	// Backup writes a copy of the hub's database to w, and returns its length. Only ctx
	// limits its time. After an error what was written is no backup.
	Backup(ctx context.Context, w io.Writer) (int64, error)

	// Login makes a one-time URL that opens the hub's page in a browser.
	Login(ctx context.Context) (*api.Login, error)
}

// ContextOptions select a snapshot. The zero value selects the newest.
type ContextOptions struct {
	// Revision selects the agent's snapshot at this revision.
	Revision int64
	// Wait is how long to wait for a revision above After; 0 doesn't wait. If there is none
	// in that time, the answer is nil. The hub waits a minute at most.
	Wait  time.Duration
	After int64
	// Complete keeps waiting while discovery is pending. When the time is up, the current
	// snapshot is returned if its revision is above After. If the agent has been away for
	// some seconds, the snapshot is returned in any case, with Away set.
	Complete bool
}

// EventOptions select events. The zero value selects all: the newest of each existing agent
// and pin, and then new ones.
type EventOptions struct {
	// After is the Event.Cursor that the caller has; empty means the beginning of what the
	// hub keeps, Now the newest.
	After string
	// Once ends the events when there is no more.
	Once bool
	// AgentID and PinID, if set, select only events about them.
	AgentID, PinID string
}

// Now is an EventOptions.After for new events only.
const Now = "now"

// Options configure a Client. Usually only Token is set.
type Options struct {
	// Token is the token of a reader or operator. Every call needs one.
	Token string
	// Timeout limits calls whose context has no deadline, in addition to the time that they
	// are meant to wait. Default 30 s.
	Timeout time.Duration
	// Retry is the longest pause between Events' attempts to reconnect; the first pause is
	// a sixteenth of it. Default 4 s.
	Retry time.Duration
	// Silence is how long a stream of events may be silent before it counts as dead. Hubs
	// send something every 15 s. Default 45 s.
	Silence time.Duration
	// Transport makes the connections; nil means the client's own transport, which uses
	// proxies of the environment.
	Transport http.RoundTripper
}

// Event is an event. Type says which of the pointers is set.
type Event struct {
	Type string
	// Cursor is the position up to which the stream is complete: with it as
	// EventOptions.After, a stream continues after this event without gaps. For an Agent
	// event, and for one before which others may still come, it is an earlier position, so
	// that such an event may be repeated.
	Cursor string

	Context *api.ContextEvent
	Pin     *api.Pin
	Agent   *api.Agent
	Reset   *api.ResetEvent
}
