package mcpserver

import (
	"context"
	"encoding/json"
	"log/slog"

	"waymark/internal/mcpserving"
)

// relayedList returns what the MCP servers of the workspace have; nothing without a
// capability, and if the agent can't be asked now: a chat has the pinned ones then.
func relayedList[T any](ctx context.Context, r *request, method, member string) []*T {
	if r.capability == "" {
		return nil
	}
	data, err := r.opts.Agents.Relay(ctx, r.pin.AgentID, r.capability, method, nil)
	if err != nil {
		r.opts.Logger.Debug("the lists of MCP servers aren't known", slog.String("pin", r.pin.ID), slog.Any("error", err))
		return nil
	}
	return mcpserving.Items[T](data, member)
}

// relayed makes a request about resources and prompts of MCP servers in the workspace.
func relayed[R any](ctx context.Context, r *request, method string, params any) (*R, error) {
	if r.capability == "" {
		return nil, errCapability
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	data, err := r.opts.Agents.Relay(ctx, r.pin.AgentID, r.capability, method, raw)
	if err != nil {
		return nil, refusal(ctx, err)
	}
	result := completed[R]()
	if json.Unmarshal(data, result) != nil {
		return nil, unreadable
	}
	return result, nil
}
