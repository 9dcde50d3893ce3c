package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/internal/errtext"
	"waymark/internal/mcpserving"
	"waymark/workspace/mcpserver/tools"
)

// addTools adds tools of package tools.
func (s *Server) addTools(list []tools.Tool) {
	for i := range list {
		t := list[i]
		s.mcp.AddTool(&mcp.Tool{
			Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema,
			Annotations: &mcp.ToolAnnotations{
				ReadOnlyHint: t.Annotations.ReadOnly, DestructiveHint: &t.Annotations.Destructive,
				IdempotentHint: t.Annotations.Idempotent, OpenWorldHint: &t.Annotations.OpenWorld,
			},
		}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return s.call(ctx, r, func(ctx context.Context, c client.Client) (*agentapi.MCPToolResult, error) {
				return s.offer().Call(ctx, c, t.Name, r.Params.Arguments)
			})
		})
	}
}

// serverTool adds a tool of one of the workspace's MCP servers by its own name, or one that
// clients accept (mcpserving.Name). A tool that the SDK rejects is available through
// find_tools.
func (s *Server) serverTool(t *agentapi.MCPTool) (added bool) {
	defer func() {
		if r := recover(); r != nil { // the server's schema may be invalid
			s.log.Debug("a tool isn't listed", slog.String("tool", t.Name), slog.Any("why", r))
			added = false
		}
	}()
	tool := &mcp.Tool{Name: mcpserving.Name(t.Name), Title: line(t.Title, maxTitle), Description: printableText(t.Description), InputSchema: t.InputSchema}
	if len(t.Annotations) > 0 {
		var a mcp.ToolAnnotations
		if json.Unmarshal(t.Annotations, &a) == nil {
			a.Title = line(a.Title, maxTitle)
			tool.Annotations = &a
		}
	}
	name := t.Name
	s.mcp.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return s.call(ctx, r, func(ctx context.Context, c client.Client) (*agentapi.MCPToolResult, error) {
			return s.offer().CallServer(ctx, c, name, r.Params.Arguments)
		})
	})
	return true
}

// offer returns what is offered now.
func (s *Server) offer() *tools.Offer {
	offer := s.opts.Offer
	v, _ := s.look()
	offer.Without = v.without
	return &offer
}

// call calls a tool, and converts its result for the protocol.
func (s *Server) call(ctx context.Context, r *mcp.CallToolRequest, do func(context.Context, client.Client) (*agentapi.MCPToolResult, error)) (*mcp.CallToolResult, error) {
	caller := callerOf(ctx, r)
	ctx = tools.WithCaller(ctx, caller)
	if chat := s.chat(r); chat != nil {
		ctx = tools.WithGiven(ctx, chat)
	}
	var result *agentapi.MCPToolResult
	var err error
	for asked := true; asked; {
		err = s.do(ctx, func(c client.Client) (err error) {
			result, err = do(ctx, c)
			return err
		})
		// Later versions take what is asked in place of the result, and call again.
		if asked = err == nil && result.Asked != nil && versionOf(r.Session) < stateless; asked {
			caller.State, caller.Answers = result.Asked.State, answersOf(ctx, r.Session, result.Asked)
		}
	}
	switch {
	case errors.Is(err, tools.ErrNotOffered):
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil: // the model, or somebody who reads the chat, can act on it
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: s.unavailable(err)}}}, nil
	}
	return ToProtocol(result), nil
}

// chat returns what the chat of a call has been given; nil if a call is all that is known of it.
func (s *Server) chat(r *mcp.CallToolRequest) *tools.Given {
	if r.Extra != nil && r.Extra.Header.Get("Mcp-Protocol-Version") >= stateless {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chats[r.Session] == nil {
		open := map[*mcp.ServerSession]*tools.Given{r.Session: {}}
		for session := range s.mcp.Sessions() {
			open[session] = cmp.Or(s.chats[session], &tools.Given{})
		}
		s.chats = open
	}
	return s.chats[r.Session]
}

// unavailable says why the agent can't be reached, and what to do.
func (s *Server) unavailable(err error) string {
	text := errtext.Of(err)
	if errors.Is(err, client.ErrNotRunning) {
		return fmt.Sprintf("The workspace's agent doesn't answer: %s. Somebody has to start it; then call again.", text)
	}
	return text
}
