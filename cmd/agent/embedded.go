package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"storj.io/drpc"

	"waymark/cmd/internal/term"
	"waymark/host/config"
	"waymark/host/places"
	"waymark/host/push"
	"waymark/hub/client"
	"waymark/hub/shared"
	"waymark/hub/store"
	"waymark/internal/text"
)

// embeddedHub is the hub that the agents of a user share when they aren't given
// another, so that the whole path works on a machine where nothing is set up.
// This agent may be the one that holds it; it pushes in the same way either way.
type embeddedHub struct {
	*shared.Hub
	state   places.Place
	agentID string
	token   string
}

const (
	// embeddedDrain is less than a hub's own: the agent ends after it.
	embeddedDrain = 2 * time.Second
	// When the hub's holder has gone, another agent is the hub within half a
	// second, and trying to reach it costs a system call.
	embeddedBackoff, embeddedBackoffLongest = 100 * time.Millisecond, time.Second
)

// openHub takes the hub, or joins it where another agent holds it.
func openHub(ctx context.Context, paths *config.Paths, w *config.Workspace, log *slog.Logger) (*embeddedHub, error) {
	if err := config.MakePrivate(paths.State.Path()); err != nil {
		return nil, err
	}
	socket, err := paths.HubSocket()
	if err != nil {
		return nil, err
	}
	h := &embeddedHub{state: paths.State, Hub: shared.New(shared.Options{
		State: paths.State.Path(), Socket: socket, DrainTimeout: embeddedDrain, Logger: log,
	})}
	if err := h.Open(ctx); err != nil {
		return nil, err
	}
	token := store.NewToken{Role: store.RoleAgent, Name: agentName(w)}
	made, stored, err := h.Token(ctx, token, w.State.In("agent.token").Path())
	if err != nil {
		_ = h.Close()
		return nil, err
	}
	h.token, h.agentID = made, stored.AgentID
	return h, nil
}

// maxAgentName is what a hub takes, in bytes.
const maxAgentName = 128

// agentName is how people know an agent: by its machine, and its directory.
func agentName(w *config.Workspace) string {
	host, _ := os.Hostname()
	name := cmp.Or(host, "local")
	if w.Root != "" {
		name += ": " + filepath.Base(w.Root)
	}
	return text.Line(name, maxAgentName)
}

// peer is how the agent pushes there.
func (h *embeddedHub) peer(log *slog.Logger) *push.Options {
	dial := func(ctx context.Context) (drpc.Conn, error) {
		conn, err := h.Dial(ctx)
		if err != nil {
			return nil, err
		}
		return push.NewConn(conn), nil
	}
	return &push.Options{
		Dialer: push.DialFunc(dial), Peer: "embedded", Token: h.token, Logger: log,
		MinBackoff: embeddedBackoff, MaxBackoff: embeddedBackoffLongest,
	}
}

// printStored says where to look at what was stored. It names the file that holds
// the token, not the token; the link works once, and not for long.
func (h *embeddedHub) printStored(ctx context.Context, w io.Writer, version uint64) error {
	url, reader := h.URL(), shared.ReaderFile(h.state.Path())
	_, err := fmt.Fprintf(w, `stored: the hub at %s has version %d
look at it with
  curl -H "Authorization: Bearer $(cat %s)" %s/api/v0/agents/%s/context
`, url, version, reader, url, h.agentID)
	if err != nil {
		return err
	}
	if term.IsTerminal(w) {
		if link, err := loginLink(ctx, url, reader); err == nil {
			_, err = fmt.Fprintf(w, "or in a browser, with a link that works once, within ten minutes ('hub login' prints another)\n  %s\n", term.Visible(link))
			return err
		}
	}
	// It may be kept, as a journal is, and the link is a secret.
	_, err = fmt.Fprintf(w, "or in a browser: 'hub login' prints a link to its page\n")
	return err
}

// loginLink asks the hub for a link to its page.
func loginLink(ctx context.Context, url, reader string) (string, error) {
	token, err := namedToken(reader)
	if err != nil {
		return "", err
	}
	login, err := client.New(url, client.Options{Token: token}).Login(ctx)
	if err != nil {
		return "", err
	}
	return login.URL, nil
}
