package main

import (
	"context"
	_ "embed" // the document
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"

	"waymark/host/api"
	"waymark/host/config"
	"waymark/internal/httpapi"
	ws "waymark/workspace"
	"waymark/workspace/access"
	"waymark/workspace/git"
	"waymark/workspace/launch"
)

// services is what a daemon does for chats, with who may have it done.
type services struct {
	d      *daemon
	tokens *access.Tokens
	audit  *access.Log
	git    *git.Service
	// config is the [services] table in force.
	config atomic.Pointer[config.Services]
}

// newServices makes them, and the control token where there is none yet. Where
// that can't be kept, nobody can act, and the rest goes on.
func newServices(d *daemon, c *config.Services) *services {
	state := d.workspace.places.State
	control, err := ensureControl(state, d.log)
	if err != nil {
		d.log.Warn("nobody can act through this agent", slog.Any("error", err))
	}
	s := &services{
		d: d, audit: access.OpenLog(state, int64(c.Audit), d.log),
		tokens: access.Open(access.Options{Dir: state, Control: control, Root: d.workspace.resolvedRoot, Logger: d.log}),
	}
	s.git = newGit(d, state)
	s.configure(c)
	return s
}

// newGit makes the git watch.
func newGit(d *daemon, state string) *git.Service {
	opts := git.Options{
		Root: d.workspace.resolvedRoot, Home: d.workspace.paths.Home, ConfigHome: os.Getenv("XDG_CONFIG_HOME"), Logger: d.log,
	}
	if info, err := os.Stat(state); err == nil && info.IsDir() { // a home may be read-only
		opts.StateDir = state
	}
	var err error
	if opts.Launcher, err = launch.Find(d.app.compiler); err != nil {
		d.log.Debug("git runs unconfined", slog.Any("error", err))
	}
	return git.New(opts)
}

// configure takes over the [services] table.
func (s *services) configure(c *config.Services) {
	now := *c
	s.config.Store(&now)
	s.audit.Bound(int64(now.Audit))
}

// close lets go of what they hold.
func (s *services) close() error {
	if s == nil {
		return nil
	}
	return errors.Join(s.git.Close(), s.audit.Close())
}

// controlFile is where a workspace's control token is.
func controlFile(state string) string { return filepath.Join(state, "control.token") }

// ensureControl returns the control token of a workspace. One that others could
// have read, or that is no token, is replaced.
func ensureControl(state string, log *slog.Logger) (string, error) {
	path := controlFile(state)
	if err := ensureToken(path); err != nil {
		return "", err
	}
	token, err := readToken(path)
	if err == nil {
		return token, nil
	}
	log.Warn("the control token is replaced", slog.Any("error", err))
	if err := os.Remove(path); err != nil {
		return "", err
	}
	if err := ensureToken(path); err != nil {
		return "", err
	}
	return readToken(path)
}

// authenticate implements api.Options.Authenticate. Who shows the token of
// --listen-token-file, which isn't known here, is let in as a reader.
func (s *services) authenticate(r *http.Request, token string) (context.Context, bool) {
	ctx := access.Audited(r.Context(), s.audit)
	grant := s.tokens.Authenticate(token)
	if grant == nil {
		return access.With(ctx, &access.Grant{ID: "listen"}), false
	}
	return access.With(ctx, grant), true
}

// mount has the local API serve all of them.
func (s *services) mount(opts *api.Options) {
	opts.Authenticate = s.authenticate
	opts.Acting = func(next httpapi.Handler) httpapi.Handler { return access.Acting(access.ScopeApprove, next) }
	opts.Services = append(opts.Services, s.own(), s.tokens.Service(), s.git.Service())
}

//go:embed openapi.json
var ownDocument []byte

// own are the routes of the program itself.
func (s *services) own() httpapi.Service {
	return httpapi.Service{
		Routes: []httpapi.Route{
			{Method: http.MethodGet, Pattern: ws.PathContextConfig, Handle: s.contextConfig, Failed: "the context configuration is not known"},
			{Method: http.MethodPost, Pattern: ws.PathStop, Handle: access.Acting(access.ScopeStop, s.stop), Failed: "the agent was not stopped"},
		},
		Document: ownDocument,
	}
}

// contextConfig answers GET /api/v0/context-config.
func (s *services) contextConfig(c *httpapi.Call) error {
	found, err := s.d.workspace.contextConfig(os.Getenv)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, found)
}

// stop answers POST /api/v0/stop: it ends what the agent holds, and the agent
// when that has been answered. What can't be ended keeps the agent, so that
// somebody can look at it.
func (s *services) stop(c *httpapi.Call) error {
	if err := c.DecodeNothing(); err != nil {
		return err
	}
	c.Done(func(status int) {
		if status == http.StatusNoContent {
			s.d.end()
		}
	})
	return c.NoContent()
}
