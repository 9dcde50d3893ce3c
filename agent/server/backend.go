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
	"waymark/host/coverage"
	"waymark/host/plugin/approvals"
	"waymark/host/sources"
	"waymark/host/why"
	"waymark/internal/httpapi"
	"waymark/snapshot"
)

// Backend is the agent behind the API. Its methods are called from many
// goroutines, and end when their context does.
//
// # Errors
//
// Those of host/sources and host/applicability, contexts', ErrStopping and ErrHeld are known here. An *Error
// with a Code is answered as it is. Anything else is an internal error, whose
// text is shown to the user whose agent it is.
type Backend interface {
	Status() status.Status
	// Current returns the newest snapshot, never nil; version 0 is none yet.
	Current() *snapshot.Snapshot
	// Wait returns a snapshot of a version above after, as soon as there is
	// one.
	Wait(ctx context.Context, after uint64) (*snapshot.Snapshot, error)
	// Resync returns a snapshot that contains every change made before the
	// call.
	Resync(ctx context.Context) (*snapshot.Snapshot, error)
	// Body returns the text of a resource of the newest snapshot that is listed
	// without: read anew, or nil where it has none to show.
	Body(ctx context.Context, id string) ([]byte, error)
	// Why returns what became of the file with the absolute path.
	Why(ctx context.Context, path string) (why.Answer, error)
	// For returns what applies to the file with the absolute path. The errors of package
	// applies are known here, too.
	For(ctx context.Context, path string) (*applicability.Answer, error)
	// ClientContext returns what a client sees when it is started in a directory of the
	// workspace, an absolute path; in the working directory where that is empty. ForClient
	// returns what it has for a file, WhyClient what it makes of files, in their order. The
	// errors are those of For.
	ClientContext(ctx context.Context, client *codingagents.Client, dir string) (*codingagents.View, error)
	ForClient(ctx context.Context, client *codingagents.Client, path string) (*applicability.Answer, error)
	WhyClient(ctx context.Context, client *codingagents.Client, paths ...string) ([]codingagents.Verdict, error)
	// SkillFiles lists the files of a skill, by the id of its resource; SkillFile reads
	// one of them. The error of what isn't there is an *Error of code 404.
	SkillFiles(ctx context.Context, id string) (*status.SkillFiles, error)
	SkillFile(ctx context.Context, id, file string) ([]byte, error)
	// Coverage returns the files that lie where agents look and aren't used.
	Coverage(ctx context.Context) (*coverage.Report, error)

	// Sources lists the user's sources, in order of precedence.
	Sources() []sources.Source
	// AddSource adds one that isn't trusted, and reports whether it is new.
	AddSource(ctx context.Context, path string, persist bool) (sources.Source, bool, error)
	RemoveSource(ctx context.Context, path string) error

	// SetRoot sets the working directory, an absolute path.
	SetRoot(ctx context.Context, path string) error
	// Ready releases the first snapshot. Later calls do nothing.
	Ready(ctx context.Context) error
	// RetryPlugins ends the quarantine of failing resolvers.
	RetryPlugins(ctx context.Context) error
	// WaitingPlugins lists the modules that wait for ApprovePlugin.
	WaitingPlugins() []approvals.Pending
	// ApprovePlugin lets a module of that name and digest run, and returns
	// what waited. An *Error of code 404 says that none does.
	ApprovePlugin(ctx context.Context, name, digest string) (*approvals.Pending, error)
}

// Options configures a handler. Only Backend must be there.
type Options struct {
	Backend Backend
	// Services are served in addition to the API's own routes, under the same
	// guard.
	Services []httpapi.Service
	// Document describes the API with Services, in OpenAPI 3.1.
	Document []byte
	// Authenticate returns the context of a request that shows a token, for
	// Services, and whether the token is valid; nil means that Token is the only
	// one. It is asked for Token too, and what it says of that is only its context.
	// Over a Unix socket, where none is needed, a token that isn't valid is refused
	// as well: somebody means to be more than a reader.
	Authenticate func(r *http.Request, token string) (context.Context, bool)
	// Guard decides who may make a call, by what its route says; see httpapi.Options.
	// Nil means that whoever is served may make all of the API's own; Services whose
	// routes have scopes can't be had without one.
	Guard func(c *httpapi.Call, route *httpapi.Route) error
	// Metrics serves GET /metrics; nil means that there are none.
	Metrics http.Handler
	// Logger gets a debug line for each request, and errors. Nil means none.
	Logger *slog.Logger
	// Token is what lets those in who don't come over a Unix socket. While it is
	// empty, only what Authenticate accepts gets in.
	Token string
	// AllowHosts lists more names that this agent has on a TCP listener, for
	// example that of a TLS proxy before it.
	AllowHosts []string
	// Timeout bounds what the Backend may take for one request. Default 30 s.
	Timeout time.Duration
	// MaxWait bounds ?wait= and ?timeout=; longer ones are cut. Default 5 min.
	MaxWait time.Duration
	// WriteTimeout is how long a client may take to read an answer. Default
	// 30 s.
	WriteTimeout time.Duration
	// MaxWaits bounds the requests that wait for the next snapshot, or for a
	// resync, at the same time. Default 64.
	MaxWaits int
}

// setDefaults fills in what is zero.
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
