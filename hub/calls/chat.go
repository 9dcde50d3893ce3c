package calls

import (
	"context"
	"encoding/json"
	"time"

	"google.golang.org/protobuf/proto"

	"waymark/wire/reverse"
	"waymark/wire/waymark"
)

// chatAwait is how long a call waits for a disconnected agent, which covers a restart of
// the agent or the hub.
const chatAwait = 5 * time.Second

// MaxErrorLogged limits the logged text of an error, in bytes.
const MaxErrorLogged = 200

// ListTools implements mcpserver.Agents.
func (c *Calls) ListTools(ctx context.Context, agentID, capability string) ([]byte, error) {
	return c.askFor(ctx, agentID, reverse.KindToolsList, &waymark.ToolsList{Capability: capability})
}

// CallTool implements mcpserver.Agents.
func (c *Calls) CallTool(ctx context.Context, agentID, capability, name string, arguments, client []byte) ([]byte, error) {
	return c.askFor(ctx, agentID, reverse.KindToolsCall, &waymark.ToolsCall{Capability: capability, Name: name, Arguments: arguments, Client: client})
}

// Relay implements mcpserver.Agents.
func (c *Calls) Relay(ctx context.Context, agentID, capability, method string, params []byte) ([]byte, error) {
	return c.askFor(ctx, agentID, reverse.KindMCPRequest, &waymark.ToolsCall{Capability: capability, Name: method, Arguments: params})
}

// SkillFile implements mcpserver.Agents.
func (c *Calls) SkillFile(ctx context.Context, agentID, capability, id string, file reverse.SkillFile) ([]byte, error) {
	arguments, err := json.Marshal(file)
	if err != nil {
		return nil, err
	}
	return c.askFor(ctx, agentID, reverse.KindSkillFile, &waymark.ToolsCall{Capability: capability, Name: id, Arguments: arguments})
}

func (c *Calls) askFor(ctx context.Context, agentID, kind string, request proto.Message) ([]byte, error) {
	body, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	return c.ask(ctx, agentID, kind, body, chatAwait)
}
