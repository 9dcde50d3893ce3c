package files

import (
	_ "embed" // the document
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"waymark/internal/defaults"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/internal/text"
	"waymark/workspace"
	"waymark/workspace/access"
)

const (
	defaultMaxWrite = 1 << 30
	defaultMaxEdit  = 10 << 20
	// maxEditBody bounds the JSON of edit-files. Models write a few KiB.
	maxEditBody = 16 << 20
	// maxFiles and maxEdits bound one call of edit-files: each file takes two
	// descriptors.
	maxFiles = 100
	maxEdits = 1000
	// maxParallel is how many calls of edit-files compute at the same time, each
	// of them with its files in memory.
	maxParallel = 4
	// bodyTimeout is for a large file over a slow line.
	bodyTimeout = 10 * time.Minute
	// callTimeout ends what only looks: a file of many gigabytes is searched for
	// lines, or somebody else has the file.
	callTimeout = time.Minute
)

//go:embed openapi.json
var document []byte

// Options configure a Service. The zero value works.
type Options struct {
	// Root returns the workspace's directory, absolute and without links; "" while
	// it isn't known. Nil means that it never is.
	Root func() string
	// Home is the user's directory, for list-directory.
	Home string
	// Own lists the agent's own places, absolute: they and what is below them are neither
	// read nor written. Nil means that there are none.
	Own func() []string
	// Within narrows every call to the workspace.
	Within bool
	// MaxWrite bounds what write-file takes, in bytes. Default 1 GiB.
	MaxWrite int64
	// MaxEdit bounds the files that are edited, in bytes. Default 10 MiB.
	MaxEdit int64
	// Writing is told which files are about to be replaced, before the first one of a
	// call is, and Touched which have been. Nil means nobody.
	Writing func(paths ...string)
	Touched workspace.Touched
	// Logger gets what goes wrong behind an answer; never contents. Nil means
	// none.
	Logger *slog.Logger
}

// Service serves files.
type Service struct {
	opts     Options
	locks    locks
	parallel chan struct{} // holds a token for each call that edits

	// exchange swaps two names of one directory. Tests have it fail.
	exchange func(dir int, a, b string) error
}

// New returns a Service. It holds nothing open.
func New(opts Options) *Service {
	opts = defaults.Or(opts, Options{
		Root: func() string { return "" }, Writing: func(...string) {}, Touched: func(workspace.Caller, ...string) {},
		Logger: slog.New(slog.DiscardHandler), MaxWrite: defaultMaxWrite, MaxEdit: defaultMaxEdit,
	})
	return &Service{opts: opts, parallel: make(chan struct{}, maxParallel), exchange: exchange}
}

// Document returns the description of the routes, in OpenAPI 3.1.
func Document() []byte { return slices.Clone(document) }

// Service returns the routes. Those that write need a token with
// access.ScopeFiles; what the others show depends on the grant, too.
func (s *Service) Service() httpapi.Service {
	return httpapi.Service{Document: Document(), Routes: []httpapi.Route{
		{Method: http.MethodGet, Pattern: workspace.PathReadFile, Handle: bodiless(s.readFile), Failed: "the file was not read"},
		{Method: http.MethodGet, Pattern: workspace.PathReadFileLines, Handle: bodiless(s.readFileLines), Failed: "the file was not read", Timeout: callTimeout},
		{Method: http.MethodPost, Pattern: workspace.PathListDirectory, Effect: httpapi.Reads, Handle: s.listDirectory, Failed: "the directory was not listed", Timeout: callTimeout,
			Untyped: true},
		{Method: http.MethodPost, Pattern: workspace.PathWriteFile, Scope: string(access.ScopeFiles), Effect: httpapi.Fenced, Handle: s.writeFile, Failed: "the file was not written",
			MaxBody: s.opts.MaxWrite, BodyTimeout: bodyTimeout, Timeout: bodyTimeout + callTimeout},
		{Method: http.MethodPost, Pattern: workspace.PathEditFiles, Scope: string(access.ScopeFiles), Effect: httpapi.Fenced, Handle: s.editFiles, Failed: "nothing was edited",
			MaxBody: maxEditBody, BodyTimeout: callTimeout, Timeout: 2 * callTimeout, Untyped: true},
	}}
}

// bodiless refuses a body: unread it would keep net/http from noticing that the
// client is gone.
func bodiless(next httpapi.Handler) httpapi.Handler {
	return func(c *httpapi.Call) error {
		if c.ContentLength != 0 {
			return &problem.Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: c.Method + " takes no body"}
		}
		return next(c)
	}
}

// onlyParameters refuses parameters that the call doesn't know.
func onlyParameters(c *httpapi.Call, known ...string) error {
	query, err := c.Query()
	if err != nil {
		return err
	}
	for name := range query {
		if !slices.Contains(known, name) {
			return httpapi.BadQuery("unknown parameter " + strconv.Quote(text.Truncate(name, maxShown)))
		}
	}
	return nil
}

// maxShown is how much of a name that means nothing an error shows, in bytes.
const maxShown = 60

// caller is for whom a call acts.
func caller(c *httpapi.Call) (workspace.Caller, error) {
	who, err := workspace.CallerOf(c.Header)
	if err != nil {
		return who, &problem.Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: err.Error()}
	}
	return who, nil
}
