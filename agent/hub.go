package agent

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"storj.io/drpc"

	"waymark/host/config"
	"waymark/host/places"
	"waymark/host/push"
	"waymark/hub/shared"
	"waymark/hub/store"
	"waymark/internal/text"
)

// Hub is the hub that a user's agents share unless they are given another one, so that
// everything works on a machine without any setup. One of the agents holds it. That one
// pushes to it like the others do.
type Hub struct {
	*shared.Hub
	state   places.Place
	AgentID string
	token   string
}

const (
	// embeddedDrain is shorter than a standalone hub's, because the agent ends after it.
	embeddedDrain = 2 * time.Second
	// When the agent that holds the hub ends, another takes over within half a second. An
	// attempt to connect costs one system call.
	embeddedBackoff, embeddedBackoffLongest = 100 * time.Millisecond, time.Second
)

// openHub opens the hub, or joins it if another agent holds it.
func openHub(ctx context.Context, paths *config.Paths, w *config.Workspace, log *slog.Logger) (*Hub, error) {
	if err := config.MakePrivate(paths.State.Path()); err != nil {
		return nil, err
	}
	socket, err := paths.HubSocket()
	if err != nil {
		return nil, err
	}
	h := &Hub{state: paths.State, Hub: shared.New(shared.Options{
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
	h.token, h.AgentID = made, stored.AgentID
	return h, nil
}

// MaxAgentName is the longest name that a hub accepts, in bytes.
const MaxAgentName = 128

// agentName returns the name that people see: the machine and the directory.
func agentName(w *config.Workspace) string {
	host, _ := os.Hostname()
	name := cmp.Or(host, "local")
	if w.Root != "" {
		name += ": " + filepath.Base(w.Root)
	}
	return text.Line(name, MaxAgentName)
}

// peer returns the options for pushing to this hub.
func (h *Hub) peer(log *slog.Logger) *push.Options {
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

// ReaderFile returns the file with the token that lets the user read from the hub.
func (h *Hub) ReaderFile() string { return shared.ReaderFile(h.state.Path()) }
