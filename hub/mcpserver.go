package hub

import (
	"context"
	"log/slog"

	"waymark/hub/calls"
	"waymark/hub/mcpserver"
	"waymark/hub/server"
	"waymark/hub/store"
	"waymark/internal/text"
)

// newChat makes the MCP server for pins.
func (h *Hub) newChat() *mcpserver.Service {
	return mcpserver.New(mcpserver.Options{
		Pins:   func(ctx context.Context) server.Pins { return server.PinsOf(ctx, h.store) },
		Agents: h.calls, Logger: h.log,
		Follow: func(ctx context.Context, pinID string, begin func() error, changed func(*store.Pin) error) error {
			return h.consumer.FollowPin(ctx, pinID, begin, changed)
		},
		Observe: func(c mcpserver.Called) {
			h.log.Info("tool called for a chat", slog.String("token", c.Token), slog.String("agent", c.AgentID), slog.String("pin", c.Pin),
				slog.String("tool", c.Tool), slog.Int("arguments", c.Arguments), slog.Int("result", c.Result),
				slog.Duration("took", c.Duration), slog.String("error", text.Line(c.Error, calls.MaxErrorLogged)))
		},
	})
}
