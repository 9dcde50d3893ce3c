package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"storj.io/drpc"

	"waymark/cmd/internal/term"
	"waymark/host/config"
	"waymark/host/push"
	"waymark/hub"
	"waymark/hub/store"
)

// embeddedHub is the hub that an agent starts when it isn't given another,
// so that the whole path works on a machine where nothing is set up. The
// agent reaches it within the process.
type embeddedHub struct {
	server     *hub.Server
	agentID    string
	agentToken string
	readerFile string

	conns sync.WaitGroup // the served ends of the agent's connections
}

// embeddedDrain is less than a hub's own: the agent ends after it.
const embeddedDrain = 2 * time.Second

func startHub(ctx context.Context, paths *config.Paths, log *slog.Logger) (*embeddedHub, error) {
	if err := config.MakePrivate(paths.State); err != nil {
		return nil, err
	}
	server, err := hub.Listen(ctx, hub.ListenOptions{
		DB: "sqlite:" + filepath.Join(paths.State, "hub.db"), FreePort: true, Logger: log, DrainTimeout: embeddedDrain,
	})
	if err != nil {
		return nil, err
	}
	h := &embeddedHub{server: server, readerFile: filepath.Join(paths.State, "reader.token")}
	if err := h.makeTokens(ctx, paths.State); err != nil {
		_ = server.Close()
		return nil, err
	}
	return h, nil
}

// makeTokens makes one token for the agent itself and one for whoever reads,
// and keeps them over restarts.
func (h *embeddedHub) makeTokens(ctx context.Context, state string) error {
	name, err := os.Hostname()
	if err != nil || name == "" {
		name = "local"
	}
	agent := store.NewToken{Role: store.RoleAgent, Name: name}
	text, token, err := hub.EnsureToken(ctx, h.server.Store(), agent, filepath.Join(state, "agent.token"))
	if err != nil {
		return err
	}
	h.agentID, h.agentToken = token.AgentID, text
	_, _, err = hub.EnsureToken(ctx, h.server.Store(), store.NewToken{Role: store.RoleReader, Name: "local"}, h.readerFile)
	return err
}

// peer is how the agent pushes here.
func (h *embeddedHub) peer(log *slog.Logger) *push.Options {
	dial := func(context.Context) (drpc.Conn, error) {
		ours, theirs := net.Pipe()
		h.conns.Go(func() {
			if err := h.server.Hub().ServeConn(context.Background(), theirs); err != nil {
				log.Debug("embedded hub connection ended", slog.Any("error", err))
			}
		})
		return push.NewConn(ours), nil
	}
	return &push.Options{Dialer: push.DialFunc(dial), Peer: "embedded", Token: h.agentToken, Logger: log}
}

func (h *embeddedHub) run(ctx context.Context) error { return h.server.Run(ctx) }

func (h *embeddedHub) url() string { return h.server.HTTPURL() }

func (h *embeddedHub) close() error {
	err := h.server.Close()
	h.conns.Wait()
	return err
}

// printStored says where to look at what was stored. It names the file that holds
// the token, not the token; the link works once, and not for long.
func (h *embeddedHub) printStored(w io.Writer, version uint64) error {
	login := "hub login"
	if h.url() != "http://"+hub.DefaultHTTP { // another hub had the port
		login += " --url " + h.url()
	}
	_, err := fmt.Fprintf(w, `stored: the hub at %s has version %d
look at it with
  curl -H "Authorization: Bearer $(cat %s)" %s/api/v0/agents/%s/context
`, h.url(), version, h.readerFile, h.url(), h.agentID)
	switch {
	case err != nil:
	case term.IsTerminal(w):
		_, err = fmt.Fprintf(w, "or in a browser, with a link that works once, within ten minutes ('%s' prints another)\n  %s\n", login, h.server.LoginURL())
	default: // it may be kept, as a journal is, and the link is a secret
		_, err = fmt.Fprintf(w, "or in a browser: '%s' prints a link to its page\n", login)
	}
	return err
}
