package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/workspace/mcp/session"
)

func TestStdio(t *testing.T) {
	t.Parallel()
	var noise []string
	s := play(t, ordinary(`[{"name":"greet","title":"Greet","description":"Says hello.","inputSchema":{"type":"object","properties":{"b":{},"a":{}}},"annotations":{"readOnlyHint":true}}]`,
		func(s *server, m message) {
			s.say("working ...", `[info] still working`, `{ port: 3000 }`, `{"level":"info","msg":"up"}`, `{}`, `[{"jsonrpc":"1.0"}]`)
			s.result(m, `{"content":[{"type":"text","text":"hello"}],"structuredContent":{"a":1}}`)
		}))
	go s.say("Server is listening")
	got := s.open(session.Options{Noise: func(line []byte) { noise = append(noise, string(line)) }})
	if got.Protocol() != "2025-11-25" {
		t.Errorf("it speaks %s", got.Protocol())
	}
	c, err := got.Catalogue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c.ServerName != "odd" || c.ServerTitle != "Odd one" || c.ServerVersion != "1.2" || c.Instructions != "Be kind." || len(c.Tools) != 1 || len(c.Findings) != 0 {
		t.Errorf("the catalogue is %+v", c)
	}
	if got := string(c.Tools[0].InputSchema); got != `{"type":"object","properties":{"b":{},"a":{}}}` {
		t.Errorf("the schema is %s", got)
	}
	result, err := got.Call(t.Context(), &session.Call{Tool: "greet"})
	if err != nil {
		t.Fatal(err)
	}
	want := &session.Result{Content: []session.Content{{Type: "text", Text: "hello"}}, Structured: json.RawMessage(`{"a":1}`)}
	if diff := cmp.Diff(want, result); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := got.Close(); err != nil {
		t.Error(err)
	}
	<-s.ended
	if diff := cmp.Diff([]string{"Server is listening", "working ...", "[info] still working", "{ port: 3000 }", `{"level":"info","msg":"up"}`, "{}", `[{"jsonrpc":"1.0"}]`}, noise); diff != "" {
		t.Errorf("noise (-want +got):\n%s", diff)
	}
	var params struct{ Arguments json.RawMessage }
	if err := json.Unmarshal(s.sent("tools/call")[0].Params, &params); err != nil || string(params.Arguments) != "{}" {
		t.Errorf("no arguments are sent as %s", params.Arguments)
	}
	if init := string(s.sent("initialize")[0].Params); !strings.Contains(init, `"capabilities":{}`) {
		t.Errorf("the client offers %s", init)
	}
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"stateful", "stateless", "sse"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			mcpServer := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
			mcp.AddTool(mcpServer, &mcp.Tool{Name: "greet", Description: "Says hello."}, func(_ context.Context, _ *mcp.CallToolRequest, in struct{ Name string }) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello " + in.Name}}}, nil, nil
			})
			connect := session.HTTP
			web := httptest.NewServer(mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return mcpServer }, nil))
			if kind == "sse" {
				connect = session.SSE
			} else {
				web.Config.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return mcpServer }, &mcp.StreamableHTTPOptions{Stateless: kind == "stateless"})
			}
			t.Cleanup(web.Close)
			ctx, cancel := context.WithCancel(t.Context())
			s, err := connect(ctx, web.URL, nil, session.Options{})
			cancel() // it bounds connecting alone
			if err != nil {
				t.Fatal(err)
			}
			c, err := s.Catalogue(t.Context())
			if err != nil || len(c.Tools) != 1 || c.Tools[0].Description != "Says hello." || len(c.Findings) != 0 {
				t.Fatalf("the catalogue is %+v, %v", c, err)
			}
			r, err := s.Call(t.Context(), &session.Call{Tool: "greet", Arguments: json.RawMessage(`{"Name":"you"}`)})
			if err != nil || len(r.Content) != 1 || r.Content[0].Text != "hello you" {
				t.Fatalf("%+v %v", r, err)
			}
			// A new tool is told.
			mcp.AddTool(mcpServer, &mcp.Tool{Name: "more"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{}, nil, nil
			})
			<-s.ToolsChanged()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

const discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}`

func acknowledges(listen message) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true}}}`, listen.ID)
}

// TestListedBeforeHeard: tools are asked for once more where the server may have changed
// them between its list and the moment from which on it tells of changes; and once where
// it tells first.
func TestListedBeforeHeard(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprintf("stdio, late %t", late), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var listen message
				listed := false
				s := play(t, func(s *server, m message) {
					switch m.Method {
					case "server/discover":
						s.result(m, discovered)
						return
					case "subscriptions/listen":
						listen = m
					case "tools/list":
						s.result(m, `{"resultType":"complete","tools":[]}`)
						listed = true
					default:
						return
					}
					if listen.ID != nil && listed == late {
						s.say(acknowledges(listen))
					}
				}).open(session.Options{})
				if _, err := s.Catalogue(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				select {
				case <-s.ToolsChanged():
					if !late {
						t.Error("tools are asked for twice")
					}
				default:
					if late {
						t.Error("what has changed meanwhile isn't asked for")
					}
				}
			})
		})
	}
	for name, get := range map[string]bool{"a subscription": false, "the stream of a GET": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listed := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var m message
				if r.Method == http.MethodPost {
					if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
						t.Error(err)
					}
				}
				switch {
				case m.Method == "subscriptions/listen", r.Method == http.MethodGet:
					<-listed
					w.Header().Set("Content-Type", "text/event-stream")
					if !get {
						_, _ = io.WriteString(w, "data: "+acknowledges(m)+"\n\n")
					}
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
				case m.Method == "server/discover" && get:
					w.WriteHeader(http.StatusNotFound)
				case m.Method == "server/discover":
					answer(w, m, discovered)
				case m.Method == "initialize":
					answer(w, m, strings.ReplaceAll(hello, "\n", " "))
				case m.Method == "tools/list":
					answer(w, m, `{"resultType":"complete","tools":[]}`)
					close(listed)
				default:
					w.WriteHeader(http.StatusAccepted)
				}
			}))
			t.Cleanup(func() {
				server.CloseClientConnections()
				server.Close()
			})
			s := dial(t, server.URL, nil, session.Options{})
			if _, err := s.Catalogue(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-s.ToolsChanged()
		})
	}
}
