package chats_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/workspace/mcpserver/tools"
)

// BenchmarkCall calls read_file over MCP, through the hub and at a server of MCP beside
// the agent, each one after another and four at a time.
func BenchmarkCall(b *testing.B) {
	w := newWorld(b, agentapi.NewToken{})
	read := func(path string) string {
		data, err := os.ReadFile(path)
		w.must(err)
		return strings.TrimSpace(string(data))
	}
	reader, capability := read(w.reader), read(w.capacity)
	pin := struct{ ID string }{}
	w.must(post(http.DefaultClient, "http://"+w.web+"/api/v0/pins", `{"agent_id":"dev"}`, reader, "", &pin))
	direct := w.direct()
	for name, call := range map[string]func(*http.Client) error{
		"hub": func(c *http.Client) error {
			return callRead(c, "http://"+w.web+"/api/v0/pins/"+pin.ID+"/mcp", reader, capability)
		},
		"direct": func(c *http.Client) error { return callRead(c, direct, "", "") },
	} {
		for _, parallel := range []int{1, 4} {
			b.Run(fmt.Sprintf("%s/%d", name, parallel), func(b *testing.B) {
				c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
				w.must(call(c))
				turns := make(chan struct{}, parallel)
				failed := make(chan error, b.N)
				for b.Loop() {
					turns <- struct{}{}
					go func() {
						defer func() { <-turns }()
						if err := call(c); err != nil {
							failed <- err
						}
					}()
				}
				for range parallel {
					turns <- struct{}{}
				}
				select {
				case err := <-failed:
					b.Fatal(err)
				default:
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
			})
		}
	}
}

// direct serves read_file of the agent over MCP, as a server on its machine does.
func (w *world) direct() string {
	server := mcp.NewServer(&mcp.Implementation{Name: "direct", Version: "0"}, nil)
	offer := &tools.Offer{}
	for _, t := range offer.Tools() {
		server.AddTool(&mcp.Tool{Name: t.Name, InputSchema: t.InputSchema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			result, err := offer.Call(ctx, client.New(w.home.Socket(), client.Options{}), t.Name, r.Params.Arguments)
			if err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: result.Content[0].Text}}, IsError: result.IsError}, nil
		})
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	web := httptest.NewServer(handler)
	w.t.Cleanup(web.Close)
	return web.URL
}

func callRead(c *http.Client, url, token, capability string) error {
	var answer struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	err := post(c, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"AGENTS.md"}}}`, token, capability, &answer)
	if err == nil && (answer.Result.IsError || len(answer.Result.Content) != 1 || !strings.Contains(answer.Result.Content[0].Text, "use tabs")) {
		err = fmt.Errorf("it answers %+v", answer)
	}
	return err
}

func post(c *http.Client, url, body, token, capability string, answer any) error {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if capability != "" {
		r.Header.Set("Waymark-Capability", capability)
	}
	response, err := c.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s", response.Status, bytes.TrimSpace(data))
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(data, answer)
}
