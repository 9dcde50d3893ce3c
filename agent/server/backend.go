package server

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"waymark/agentapi/status"
	"waymark/host/applicability"
	"waymark/host/codingagents"
	"waymark/host/plugin/approvals"
	"waymark/host/sources"
	"waymark/host/why"
	"waymark/internal/httpapi"
	"waymark/snapshot"
)

// Backend is the agent behind the API. Its methods are called from many goroutines, and
// return when their context ends.
//
// # Errors
//
// The handler knows the errors of host/sources and host/applicability, those of contexts,
// ErrStopping and ErrHeld. An *Error with a Code is sent as it is. Any other error is an
// internal one; its text is shown, because the client is the agent's own user.
type Backend interface {
	Status() status.Status
	// Current returns the newest snapshot, never nil. Version 0 means that there is none
	// yet.
	Current() *snapshot.Snapshot
	// Wait returns the first snapshot with a version above after.
	Wait(ctx context.Context, after uint64) (*snapshot.Snapshot, error)
	// Resync returns a snapshot that contains every change made before the call.
	Resync(ctx context.Context) (*snapshot.Snapshot, error)
	// Body reads the text of a resource that the newest snapshot lists without one. It
	// returns nil if the resource has no text that may be shown.
	Body(ctx context.Context, id string) ([]byte, error)
	// Why explains how the file with the absolute path was treated.
	Why(ctx context.Context, path string) (why.Answer, error)
	// For returns what applies to the file with the absolute path. The errors of package
	// applicability are known here, too.
	For(ctx context.Context, path string) (*applicability.Answer, error)
	// ClientContext returns what a client sees when it is started in dir, an absolute path
	// in the workspace; "" means the working directory. ForClient returns what the client
	// reads for a file. WhyClient explains how it treats each of the paths, in their order.
	// The errors are those of For.
	ClientContext(ctx context.Context, client *codingagents.Client, dir string) (*codingagents.View, error)
	ForClient(ctx context.Context, client *codingagents.Client, path string) (*applicability.Answer, error)
	WhyClient(ctx context.Context, client *codingagents.Client, paths ...string) ([]codingagents.Verdict, error)
	// SkillFiles lists the files of the skill with this resource id. SkillFile reads one of
	// them. If there is no such skill or file, the error is an *Error with code 404.
	SkillFiles(ctx context.Context, id string) (*status.SkillFiles, error)
	SkillFile(ctx context.Context, id, file string) ([]byte, error)
	// Coverage returns the files in places that agents read which aren't used.
	Coverage(ctx context.Context) (*why.Coverage, error)

	// Sources lists the user's sources, in order of precedence.
	Sources() []sources.Source
	// AddSource adds an untrusted source, and reports whether it is new.
	AddSource(ctx context.Context, path string, persist bool) (sources.Source, bool, error)
	RemoveSource(ctx context.Context, path string) error

	// SetRoot sets the working directory to an absolute path.
	SetRoot(ctx context.Context, path string) error
	// Ready releases the first snapshot. Further calls do nothing.
	Ready(ctx context.Context) error
	// RetryPlugins ends the quarantine of failing resolvers.
	RetryPlugins(ctx context.Context) error
	// WaitingPlugins lists the modules that wait for ApprovePlugin.
	WaitingPlugins() []approvals.Pending
	// ApprovePlugin lets the module with this name and digest run, and returns what waited
	// for approval. If none did, the error is an *Error with code 404.
	ApprovePlugin(ctx context.Context, name, digest string) (*approvals.Pending, error)
}

// Options configure an [API]. Only Backend is required.
type Options struct {
	Backend Backend
	// Services are served in addition to the API's own routes, behind the same guard.
	Services []httpapi.Service
	// Document is the OpenAPI 3.1 description of the API including Services.
	Document []byte
	// Authenticate checks the token of a request. It returns the context for Services, and
	// whether the token is valid. Nil means that Token is the only valid one. It is called
	// for Token as well, but then only the context counts. A request over a Unix socket
	// needs no token, but an invalid one is refused there, too: the caller meant to do more
	// than read.
	Authenticate func(r *http.Request, token string) (context.Context, bool)
	// Guard decides whether a call is allowed, given its route; see httpapi.Options. If it
	// is nil, every client may use all of the API's own routes, and routes of Services that
	// have scopes are refused.
	Guard func(c *httpapi.Call, route *httpapi.Route) error
	// Metrics serves GET /metrics; nil means there are none.
	Metrics http.Handler
	// Logger receives a debug line for each request, and errors. Nil means no log.
	Logger *slog.Logger
	// Token admits requests that don't come over a Unix socket. If it is empty, only tokens
	// that Authenticate accepts admit them.
	Token string
	// AllowHosts lists additional host names of this agent on TCP, for example that of a
	// TLS proxy in front of it.
	AllowHosts []string
	// Timeout limits how long the Backend may take for one request. Default 30 s.
	Timeout time.Duration
	// MaxWait limits ?wait= and ?timeout=; longer values are cut. Default 5 min.
	MaxWait time.Duration
	// WriteTimeout limits how long a client may take to read an answer. Default 30 s.
	WriteTimeout time.Duration
	// MaxWaits limits the requests that wait for a snapshot or a resync at the same time.
	// Default 64.
	MaxWaits int
}

// setDefaults replaces zero values.
func (o *Options) setDefaults() {
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.MaxWait = cmp.Or(o.MaxWait, 5*time.Minute)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 30*time.Second)
	o.MaxWaits = cmp.Or(o.MaxWaits, 64)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Authenticate == nil {
		o.Authenticate = func(r *http.Request, _ string) (context.Context, bool) { return r.Context(), false }
	}
}
