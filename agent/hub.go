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

// Hub is the hub that the agents of a user share when they aren't given
// another, so that the whole path works on a machine where nothing is set up.
// This agent may be the one that holds it; it pushes in the same way either way.
type Hub struct {
	*shared.Hub
	state   places.Place
	AgentID string
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

// MaxAgentName is what a hub takes, in bytes.
const MaxAgentName = 128

// agentName is how people know an agent: by its machine, and its directory.
func agentName(w *config.Workspace) string {
	host, _ := os.Hostname()
	name := cmp.Or(host, "local")
	if w.Root != "" {
		name += ": " + filepath.Base(w.Root)
	}
	return text.Line(name, MaxAgentName)
}

// peer is how the agent pushes there.
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

// ReaderFile holds the token with which the user reads there.
func (h *Hub) ReaderFile() string { return shared.ReaderFile(h.state.Path()) }
