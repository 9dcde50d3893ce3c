package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/agentapi/client"
	"waymark/internal/mcpserving"
	"waymark/workspace/mcpserver/tools"
)

// relays reports whether resources and prompts of the workspace's MCP servers are offered.
func (s *Server) relays() bool { return !s.opts.NoServers && s.opts.Offer.Relays() }

// relay adds what MCP servers have to lists of resources, templates and prompts, behind the
// last page of our own, and passes requests about these on.
func (s *Server) relay(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		switch r := r.(type) {
		case *mcp.ReadResourceRequest:
			if _, _, ok := mcpserving.ServerURI(r.Params.URI); ok {
				return answered[mcp.ReadResourceResult](s, ctx, method, r.Params)
			}
		case *mcp.GetPromptRequest:
			if v, _ := s.look(); v.prompts[r.Params.Name] == nil {
				return answered[mcp.GetPromptResult](s, ctx, method, r.Params)
			}
		case *mcp.CompleteRequest:
			return answered[mcp.CompleteResult](s, ctx, method, r.Params)
		}
		result, err := next(ctx, method, r)
		if err != nil {
			return result, err
		}
		switch result := result.(type) {
		case *mcp.ListResourcesResult:
			if more := s.more(ctx, method, result.NextCursor); more != nil {
				result.Resources = append(result.Resources, mcpserving.Items[mcp.Resource](more, "resources")...)
			}
		case *mcp.ListResourceTemplatesResult:
			if more := s.more(ctx, method, result.NextCursor); more != nil {
				result.ResourceTemplates = append(result.ResourceTemplates, mcpserving.Items[mcp.ResourceTemplate](more, "resourceTemplates")...)
			}
		case *mcp.ListPromptsResult:
			if more := s.more(ctx, method, result.NextCursor); more != nil {
				result.Prompts = append(result.Prompts, mcpserving.Items[mcp.Prompt](more, "prompts")...)
			}
		}
		return result, nil
	}
}

// more returns the list of the servers; nil before the last page of our own.
func (s *Server) more(ctx context.Context, method, cursor string) json.RawMessage {
	if cursor != "" || !s.relays() {
		return nil
	}
	raw, err := s.relayed(ctx, method, nil)
	if err != nil && ctx.Err() == nil {
		s.log.Debug("the lists of MCP servers aren't known", slog.Any("error", err))
	}
	return raw
}

// relayed sends a request to the MCP servers.
func (s *Server) relayed(ctx context.Context, method string, params json.RawMessage) (raw json.RawMessage, err error) {
	err = s.do(ctx, func(c client.Client) (err error) {
		raw, err = s.offer().Relay(ctx, c, method, params)
		return err
	})
	return raw, err
}

// answered answers a request with what a server says.
func answered[R any, P interface {
	*R
	mcp.Result
}](s *Server, ctx context.Context, method string, params any) (mcp.Result, error) { //nolint:revive // a method can't have type parameters
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	result := P(new(R))
	_ = json.Unmarshal([]byte(`{"resultType":"complete","contents":[]}`), result) // the SDK has no exported way
	if !s.relays() {
		err = tools.ErrNotOffered
	} else if raw, err = s.relayed(ctx, method, raw); err == nil {
		err = json.Unmarshal(raw, result)
	}
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() != nil:
		return nil, err
	case errors.Is(err, tools.ErrNotOffered) || client.CodeOf(err)/100 == 4:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: s.unavailable(err)}
	}
	if refused := (*client.Error)(nil); errors.As(err, &refused) && refused.Cause != nil {
		said := new(jsonrpc.Error)
		if json.Unmarshal(refused.Cause, said) == nil && said.Code != 0 {
			return nil, said // the server's own
		}
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: s.unavailable(err)}
}
