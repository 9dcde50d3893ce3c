package fake_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/agentapi/client/fake"
	"waymark/test/contracts/clienttest"
	"waymark/workspace/mcp/catalog"
)

// TestContract: what the fake does, it does as the agent.
func TestContract(t *testing.T) {
	programs := map[string]fake.Program{}
	for command, run := range clienttest.Commands() {
		programs[command] = func(ctx context.Context, p *fake.Process) int {
			return run(ctx, p.Stdin, p.Output, p.WorkDir, p.Env)
		}
	}
	clienttest.Run(t, clienttest.Features{}, func(t *testing.T) (client.Client, clienttest.Env) {
		a := fake.New(fake.Options{Programs: programs})
		t.Cleanup(func() { _ = a.Close() })
		e := &env{agent: a}
		e.Mkdir(t, e.Outside())
		return a, e
	})
}

// env is the fake's, without what only features need.
type env struct {
	clienttest.Env
	agent *fake.Agent
}

func (e *env) Root() string                          { return fake.Root }
func (e *env) Home() string                          { return fake.Home }
func (e *env) Outside() string                       { return "/elsewhere" }
func (e *env) Restart(testing.TB)                    { e.agent.Restart() }
func (e *env) WithToken(token string) client.Client  { return e.agent.WithToken(token) }
func (e *env) Mkdir(t testing.TB, name string)       { must(t, e.agent.Files().Mkdir(name)) }
func (e *env) Write(t testing.TB, name, text string) { must(t, e.agent.Files().Write(name, text)) }
func (e *env) Read(_ testing.TB, name string) string {
	content, _ := e.agent.Files().Read(name) // "" where there is none
	return content
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (e *env) MCPServer(testing.TB) {
	type arguments struct {
		Text     string
		N, Times int
	}
	tool := func(name string, call func(ctx context.Context, in arguments, progress func(agentapi.MCPProgress)) agentapi.MCPToolResult) fake.MCPTool {
		return fake.MCPTool{
			Server: clienttest.MCPServerName, Tool: catalog.Tool{Name: name},
			Call: func(ctx context.Context, raw json.RawMessage, progress func(agentapi.MCPProgress)) (*agentapi.MCPToolResult, error) {
				var in arguments
				err := json.Unmarshal(raw, &in)
				result := call(ctx, in, progress)
				return &result, err
			},
		}
	}
	text := func(s string) agentapi.MCPToolResult {
		return agentapi.MCPToolResult{Content: []agentapi.MCPContent{{Type: "text", Text: s}}}
	}
	type progress = func(agentapi.MCPProgress)
	echo := tool("echo", func(_ context.Context, in arguments, _ progress) agentapi.MCPToolResult { return text(in.Text) })
	echo.Title, echo.Description, echo.Annotations = "Echo", "Gives a text back", json.RawMessage(`{"readOnlyHint":true}`)
	echo.InputSchema = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)
	e.agent.SetMCP(echo,
		tool("fail", func(context.Context, arguments, progress) agentapi.MCPToolResult {
			result := text("it has failed")
			result.IsError = true
			return result
		}),
		tool("steps", func(_ context.Context, in arguments, step progress) agentapi.MCPToolResult {
			for i := range in.N {
				step(agentapi.MCPProgress{Progress: float64(i + 1), Total: float64(in.N), Message: "step"})
			}
			return text("done")
		}),
		tool("repeat", func(_ context.Context, in arguments, _ progress) agentapi.MCPToolResult {
			return text(strings.Repeat(in.Text, in.Times))
		}),
		tool("structured", func(context.Context, arguments, progress) agentapi.MCPToolResult {
			result := text(`{"a":1}`)
			result.Structured = json.RawMessage(`{"a":1}`)
			return result
		}),
		tool("hang", func(ctx context.Context, _ arguments, _ progress) agentapi.MCPToolResult {
			<-ctx.Done()
			return agentapi.MCPToolResult{}
		}),
	)
}
