package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"waymark/agent/server"
	"waymark/agentapi"
	"waymark/agentapi/client"
)

// answering serves a handler on a socket, and returns a client of it.
func answering(t *testing.T, h http.HandlerFunc) client.Client {
	t.Helper()
	path := socket(t)
	l, err := server.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(l, h)
	t.Cleanup(func() { s.end(t) })
	return client.New(path, client.Options{Token: "s3cret"})
}

// TestCallMCPTool: what a call says meanwhile, and how it ends.
func TestCallMCPTool(t *testing.T) {
	const progress = "event: progress\ndata: {\"progress\":1,\"total\":2,\"message\":\"half\"}\n\n"
	for name, tc := range map[string]struct {
		stream string
		want   string // the result's text, or what the error contains
		code   int
		told   int
	}{
		"result":      {": hello\n\n" + progress + "event: newer\ndata: x\n\n" + progress + "event: result\ndata: {\"content\":[{\"type\":\"text\",\"text\":\"done\"}],\"is_error\":false}\n\n", "done", 0, 2},
		"refused":     {progress + "event: error\ndata: {\"code\":502,\"message\":\"no answer\",\"detail\":\"it died\"}\n\n", "no answer: it died", 502, 1},
		"cut":         {progress, "EOF", 0, 1},
		"no result":   {"event: result\ndata: [\n\n", "result event can't be read", 0, 0},
		"no progress": {"event: progress\ndata: x\n\n" + progress, "progress event can't be read", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := answering(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.Header.Get("Accept") != "text/event-stream" || r.Header.Get("Authorization") != "Bearer s3cret" || string(body) != `{"tool_name":"a__b","arguments":{"x":1}}` {
					t.Errorf("%v %s", r.Header, body)
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, tc.stream)
			})
			var told []agentapi.MCPProgress
			result, err := c.CallMCPTool(t.Context(), agentapi.CallMCPTool{ToolName: "a__b", Arguments: []byte(`{"x":1}`)}, func(p agentapi.MCPProgress) { told = append(told, p) })
			if len(told) != tc.told || len(told) > 0 && told[0] != (agentapi.MCPProgress{Progress: 1, Total: 2, Message: "half"}) {
				t.Errorf("told %v", told)
			}
			got := fmt.Sprint(err)
			if err == nil {
				got = result.Content[0].Text
			}
			if !strings.Contains(got, tc.want) || client.CodeOf(err) != tc.code {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestFollowMCPLogs: over a gap, an agent that goes away, and one that counts anew.
func TestFollowMCPLogs(t *testing.T) {
	pages := []string{
		`{"text":"one","offset":0,"next_offset":3}`,
		`{"text":"","offset":3,"next_offset":3}`,
		`{"text":"two","offset":10,"next_offset":13}`,
		`busy`,
		`{"text":"","offset":2,"next_offset":2}`,
		`{"text":"hi","offset":0,"next_offset":2}`,
	}
	var asked []string
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if len(asked) == len(pages) {
			<-r.Context().Done()
			return
		}
		page := pages[len(asked)]
		asked = append(asked, r.URL.Query().Get("offset"))
		if page == "busy" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, page)
	})
	var got []string
	for text, err := range client.FollowMCPLogs(ctx, c, "a b", 0) {
		var gap *client.OmittedError
		switch {
		case errors.As(err, &gap):
			text = fmt.Sprintf("gap %d", gap.Bytes)
		case err != nil:
			text = fmt.Sprint(client.CodeOf(err))
		}
		if got = append(got, text); text == "hi" {
			cancel()
		}
	}
	if want := []string{"one", "gap 7", "two", "503", "hi"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if want := []string{"", "3", "3", "13", "13", ""}; !slices.Equal(asked, want) {
		t.Errorf("asked from %q, want %q", asked, want)
	}
}

// TestCallMCPToolArguments: they are sent as they are given, also what the agent
// refuses.
func TestCallMCPToolArguments(t *testing.T) {
	for given, want := range map[string]string{
		"":          `{"tool_name":"a__b"}`,
		" \n":       `{"tool_name":"a__b"}`,
		`null`:      `{"tool_name":"a__b","arguments":null}`,
		`{}`:        `{"tool_name":"a__b","arguments":{}}`,
		`[]`:        `{"tool_name":"a__b","arguments":[]}`,
		`""`:        `{"tool_name":"a__b","arguments":""}`,
		`{"x": []}`: `{"tool_name":"a__b","arguments":{"x":[]}}`,
	} {
		c := answering(t, func(w http.ResponseWriter, r *http.Request) {
			if body, _ := io.ReadAll(r.Body); string(body) != want {
				t.Errorf("of %q %s is sent, want %s", given, body, want)
			}
			_, _ = io.WriteString(w, `{"content":[],"is_error":false}`)
		})
		if _, err := c.CallMCPTool(t.Context(), agentapi.CallMCPTool{ToolName: "a__b", Arguments: []byte(given)}, nil); err != nil {
			t.Error(err)
		}
	}
	_, err := answering(t, func(http.ResponseWriter, *http.Request) { t.Error("half a document is sent") }).
		CallMCPTool(t.Context(), agentapi.CallMCPTool{ToolName: "a__b", Arguments: []byte(`{"x":`)}, nil)
	if err == nil {
		t.Error("half a document is no error")
	}
	t.Log(err)
}
