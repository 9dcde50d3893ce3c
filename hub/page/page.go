package page

import (
	"cmp"
	"context"
	"errors"
	"html"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// ErrUnauthorized is returned by Options.Authenticate for a request that isn't a reader's.
var ErrUnauthorized = errors.New("unauthorized")

// Options configure a Page. All fields but Codes, Rights and Logger are required.
type Options struct {
	// Authenticate returns nil for a reader's request, otherwise ErrUnauthorized or an
	// internal error.
	Authenticate func(r *http.Request) error
	// Rights returns the hub's database, quoted for a shell, if the reader may know it,
	// otherwise "", and whether the reader is an operator; nil means neither.
	Rights func(r *http.Request) (database string, operator bool)
	// NewSession starts a session with the rights of a token, and returns its text and
	// expiry. owner is the owner of the link. The error is ErrUnauthorized if the token
	// isn't valid any more.
	NewSession func(ctx context.Context, owner string) (text string, expires time.Time, err error)
	// EndSession ends the session with this text, if there is one.
	EndSession func(ctx context.Context, text string) error
	// Codes are the sign-in codes; nil means new ones.
	Codes *Codes
	// Logger receives errors and sign-ins; nil means no log.
	Logger *slog.Logger
}

// Page serves the page. Make one with New.
type Page struct {
	opts  Options
	log   *slog.Logger
	codes *Codes
	guard *http.CrossOriginProtection
	mux   *http.ServeMux

	files   map[string]*file
	version string // version of the files
}

// New makes a Page.
func New(opts Options) *Page {
	if opts.Codes == nil {
		opts.Codes = NewCodes(CodesOptions{})
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	p := &Page{
		opts: opts, log: opts.Logger, codes: opts.Codes,
		guard: http.NewCrossOriginProtection(), mux: http.NewServeMux(),
	}
	p.files, p.version = readFiles()
	p.mux.HandleFunc("GET /{$}", p.index)
	p.mux.HandleFunc("GET /login", p.login)
	p.mux.HandleFunc("POST /logout", p.logout)
	p.mux.HandleFunc("GET /assets/{version}/{name}", p.asset)
	return p
}

// Paths returns the page's paths, as patterns of an http.ServeMux.
func Paths() []string { return []string{"/{$}", "/login", "/logout", "/assets/"} }

// ServeHTTP implements http.Handler, for the Paths.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	p.mux.ServeHTTP(w, r)
}

// policy lets the page load only embedded files and connect only to its own hub. Scripts
// can't turn text into HTML or code.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"

func protect(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	header.Set("Cache-Control", "no-store")
}

// index serves the page to readers, and instructions for signing in to others.
func (p *Page) index(w http.ResponseWriter, r *http.Request) {
	err := p.opts.Authenticate(r)
	switch {
	case err == nil:
		p.show(w, r)
	case errors.Is(err, ErrUnauthorized):
		p.instruct(w, http.StatusUnauthorized, notice{"Sign in", "This page shows what the workspaces of this hub hold, so it asks who is there."})
	default:
		p.failed(r, "page not shown", err)
		p.say(w, http.StatusServiceUnavailable, notice{"The hub’s database does not answer", "The hub can’t look up who you are. Its log says why. Your session is as it was. This page comes by itself when the database does."},
			`<script src="/assets/`+p.version+`/again.js"></script>`)
	}
}

// failed logs an error, unless it failed because the browser has gone.
func (p *Page) failed(r *http.Request, what string, err error) {
	level := slog.LevelError
	if r.Context().Err() != nil {
		level = slog.LevelDebug
	}
	p.log.Log(context.WithoutCancel(r.Context()), level, what, slog.Any("error", err))
}

// preloaded are the page's first requests for an address without a query, so that the
// answers arrive together with the scripts.
const preloaded = `<link rel="preload" as="fetch" crossorigin="anonymous" href="/api/v0/agents?sort=name&amp;limit=100">
<link rel="preload" as="fetch" crossorigin="anonymous" href="/api/v0/agents?sort=last_push_at&amp;order=desc&amp;limit=30">
`

func (p *Page) show(w http.ResponseWriter, r *http.Request) {
	preload := ""
	if r.URL.RawQuery == "" {
		preload = preloaded
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	database, operator := "", ""
	if p.opts.Rights != nil {
		var is bool
		if database, is = p.opts.Rights(r); is {
			operator = "yes"
		}
	}
	_, err := strings.NewReplacer("{{.Preload}}", preload, "{{.Database}}", html.EscapeString(database), "{{.Operator}}", operator).WriteString(w, string(p.files["index.html"].data))
	if err != nil {
		p.log.Debug("page not written", slog.Any("error", err))
	}
}
