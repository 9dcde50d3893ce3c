package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/protobuf/proto"

	"waymark/hub/chat"
	"waymark/hub/consumer"
	"waymark/internal/text"
	"waymark/wire"
	"waymark/wire/reverse"
	"waymark/wire/waymark"
)

const (
	// maxChatCalls bounds the calls for chats that are under way at one agent: half of
	// what its channel takes, and what an agent takes.
	maxChatCalls = 8
	// chatAwait is how long a call waits for an agent that isn't connected: as long as it
	// takes to come back after a restart, of itself or of the hub.
	chatAwait = 5 * time.Second
	// maxChatAnswer bounds an agent's answer, in bytes: what it says itself that it is.
	maxChatAnswer = 1 << 20
	// listTimeout is for the list of tools, for which servers may have to start.
	listTimeout = 30 * time.Second
)

// Why there is no answer.
var (
	errElsewhere = errors.New("the agent is connected to another hub of this database, and calls aren't forwarded: have the balancer send all requests for one pin and the connections of its agent to one hub, or ask the others")
	errAway      = errors.New("the agent is not connected: nothing can be called in its workspace until it is back")
	errLost      = errors.New("the connection to the agent ended in the middle of the call: whether it was done is not known")
	errTooOld    = errors.New("the agent takes no calls from a hub: its version is older than that")
	errChatBusy  = &reverse.Error{Code: wire.CodeBusy, Text: fmt.Sprintf("%d calls are under way at this agent: wait for one of them", maxChatCalls)}
	errAnswer    = errors.New("the agent's answer is not what it should be")
)

// newChat makes the MCP server for pins.
func (h *Hub) newChat() *chat.Service {
	return chat.New(chat.Options{
		Pins:   func(ctx context.Context) consumer.Pins { return consumer.PinsOf(ctx, h.store) },
		Agents: chatAgents{h}, Logger: h.log,
		Observe: func(c chat.Called) {
			h.log.Info("tool called for a chat", slog.String("token", c.Token), slog.String("agent", c.AgentID), slog.String("pin", c.Pin),
				slog.String("tool", c.Tool), slog.Int("arguments", c.Arguments), slog.Int("result", c.Result),
				slog.Duration("took", c.Duration), slog.String("error", text.Line(c.Error, maxErrorLogged)))
		},
	})
}

// maxErrorLogged bounds what is logged of an error, in bytes.
const maxErrorLogged = 200

// chatAgents implements chat.Agents over reverse channels.
type chatAgents struct{ hub *Hub }

// ListTools implements chat.Agents.
func (a chatAgents) ListTools(ctx context.Context, agentID, capability string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	return a.ask(ctx, agentID, capability, reverse.KindToolsList, &waymark.ToolsList{Capability: capability})
}

// CallTool implements chat.Agents.
func (a chatAgents) CallTool(ctx context.Context, agentID, capability, name string, arguments []byte) ([]byte, error) {
	return a.ask(ctx, agentID, capability, reverse.KindToolsCall, &waymark.ToolsCall{Capability: capability, Name: name, Arguments: arguments})
}

// ask makes a request of an agent and fetches all of the answer.
func (a chatAgents) ask(ctx context.Context, agentID, capability, kind string, request proto.Message) ([]byte, error) {
	one, err := a.hub.awaitChannel(ctx, agentID)
	if err != nil {
		return nil, err
	}
	if !one.Peer().Knows(kind) {
		return nil, errTooOld
	}
	select {
	case one.calls <- struct{}{}:
		defer func() { <-one.calls }()
	default:
		return nil, errChatBusy
	}
	part, err := one.askPart(ctx, kind, request)
	if err != nil {
		return nil, err
	}
	answer := part.GetJson()
	size := int(part.GetSize())
	if size > maxChatAnswer || len(answer) > size {
		return nil, errAnswer
	}
	for rest := part.GetRest(); len(answer) < size; {
		part, err = one.askPart(ctx, reverse.KindToolsMore, &waymark.ToolsMore{
			Capability: capability, Rest: rest, Offset: uint32(len(answer)), //nolint:gosec // at most maxChatAnswer
		})
		if err != nil {
			return nil, err
		}
		if len(part.GetJson()) == 0 || len(answer)+len(part.GetJson()) > size {
			return nil, errAnswer
		}
		answer = append(answer, part.GetJson()...)
	}
	return answer, nil
}

// askPart makes one request.
func (c *agentChannel) askPart(ctx context.Context, kind string, request proto.Message) (*waymark.ToolsAnswer, error) {
	body, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	body, err = c.Call(ctx, kind, body)
	var no *reverse.Error
	switch {
	case errors.As(err, &no), err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, errLost
	}
	answer := new(waymark.ToolsAnswer)
	if proto.Unmarshal(body, answer) != nil {
		return nil, errAnswer
	}
	return answer, nil
}

// awaitChannel returns the reverse channel of an agent, and waits a moment for one that is
// not connected. Of one that is connected to another hub it says so.
func (h *Hub) awaitChannel(ctx context.Context, agentID string) (*agentChannel, error) {
	over := time.NewTimer(chatAwait)
	defer over.Stop()
	for {
		changed := h.channels.changed.Changed()
		if one := h.channels.of(agentID); one != nil && !one.Ended() {
			return one, nil
		}
		select {
		case <-changed:
		case <-over.C:
			if _, elsewhere := h.writers.others()[agentID]; elsewhere && !h.Connected(agentID) {
				return nil, errElsewhere
			}
			return nil, errAway
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
