package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/test/contracts/clienttest"
)

// serverArg makes this program the MCP server.
const serverArg = "mcp-server"

// MCPServer writes a configuration with this very program.
func (e *env) MCPServer(t testing.TB) {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	type server struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	config, err := json.Marshal(map[string]map[string]server{"mcpServers": {clienttest.MCPServerName: {program, []string{serverArg}}}})
	must(t, err)
	e.Write(t, filepath.Join(e.Root(), ".mcp.json"), string(config))
}

// serve is the MCP server that clienttest.MCPServerName describes, over the standard
// streams, until its standard input ends.
func serve() error {
	server := mcp.NewServer(&mcp.Implementation{Name: clienttest.MCPServerName, Title: "Demo server", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Title: "Echo", Description: "Gives a text back", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in struct {
			Text string `json:"text"`
		},
		) (*mcp.CallToolResult, any, error) {
			return text(in.Text), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		result := text("it has failed")
		result.IsError = true
		return result, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "steps"}, steps)
	mcp.AddTool(server, &mcp.Tool{Name: "repeat"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Text  string `json:"text"`
		Times int    `json:"times"`
	},
	) (*mcp.CallToolResult, any, error) {
		return text(strings.Repeat(in.Text, in.Times)), nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "structured"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, struct {
		A int `json:"a"`
	}, error,
	) {
		return nil, struct {
			A int `json:"a"`
		}{1}, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "hang"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	if _, err := fmt.Fprintln(os.Stderr, "demo is here"); err != nil {
		return err
	}
	return server.Run(context.Background(), &mcp.StdioTransport{})
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// steps tells of its progress.
func steps(ctx context.Context, req *mcp.CallToolRequest, in struct {
	N int `json:"n"`
},
) (*mcp.CallToolResult, any, error) {
	for i := range in.N {
		if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1), Total: float64(in.N), Message: "step",
		}); err != nil {
			return nil, nil, err
		}
	}
	return text("done"), nil, nil
}
