package hub

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"google.golang.org/protobuf/proto"

	"waymark/hub/mcpserver"
	"waymark/hub/server"
	"waymark/hub/store"
	"waymark/internal/text"
	"waymark/wire/reverse"
	"waymark/wire/waymark"
)

// chatAwait is how long a call waits for a disconnected agent, which covers a restart of
// the agent or the hub.
const chatAwait = 5 * time.Second

// newChat makes the MCP server for pins.
func (h *Hub) newChat() *mcpserver.Service {
	return mcpserver.New(mcpserver.Options{
		Pins:   func(ctx context.Context) server.Pins { return server.PinsOf(ctx, h.store) },
		Agents: chatAgents{h}, Logger: h.log,
		Follow: func(ctx context.Context, pinID string, begin func() error, changed func(*store.Pin) error) error {
			return h.consumer.FollowPin(ctx, pinID, begin, changed)
		},
		Observe: func(c mcpserver.Called) {
			h.log.Info("tool called for a chat", slog.String("token", c.Token), slog.String("agent", c.AgentID), slog.String("pin", c.Pin),
				slog.String("tool", c.Tool), slog.Int("arguments", c.Arguments), slog.Int("result", c.Result),
				slog.Duration("took", c.Duration), slog.String("error", text.Line(c.Error, maxErrorLogged)))
		},
	})
}

// maxErrorLogged limits the logged text of an error, in bytes.
const maxErrorLogged = 200

// chatAgents implements mcpserver.Agents over reverse channels.
type chatAgents struct{ hub *Hub }

// ListTools implements mcpserver.Agents.
func (a chatAgents) ListTools(ctx context.Context, agentID, capability string) ([]byte, error) {
	return a.ask(ctx, agentID, reverse.KindToolsList, &waymark.ToolsList{Capability: capability})
}

// CallTool implements mcpserver.Agents.
func (a chatAgents) CallTool(ctx context.Context, agentID, capability, name string, arguments, client []byte) ([]byte, error) {
	return a.ask(ctx, agentID, reverse.KindToolsCall, &waymark.ToolsCall{Capability: capability, Name: name, Arguments: arguments, Client: client})
}

// Relay implements mcpserver.Agents.
func (a chatAgents) Relay(ctx context.Context, agentID, capability, method string, params []byte) ([]byte, error) {
	return a.ask(ctx, agentID, reverse.KindMCPRequest, &waymark.ToolsCall{Capability: capability, Name: method, Arguments: params})
}

// SkillFile implements mcpserver.Agents.
func (a chatAgents) SkillFile(ctx context.Context, agentID, capability, id string, file reverse.SkillFile) ([]byte, error) {
	arguments, err := json.Marshal(file)
	if err != nil {
		return nil, err
	}
	return a.ask(ctx, agentID, reverse.KindSkillFile, &waymark.ToolsCall{Capability: capability, Name: id, Arguments: arguments})
}

func (a chatAgents) ask(ctx context.Context, agentID, kind string, request proto.Message) ([]byte, error) {
	body, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	return a.hub.ask(ctx, agentID, kind, body, chatAwait)
}
