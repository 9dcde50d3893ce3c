package mcpserver_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestSessions: what a client's message over HTTP is answered with, by whether it is in a
// session: as the specification says, and with JSON-RPC's errors.
func TestSessions(t *testing.T) {
	w := start(t, nil)
	server := httptest.NewServer(w.server.Handler())
	t.Cleanup(server.Close)
	post := func(session, body string) (code int, text string, header http.Header) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		all, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(all), resp.Header
	}
	code, text, header := post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	session := header.Get("Mcp-Session-Id")
	if code != http.StatusOK || session == "" {
		t.Fatalf("%d %s", code, text)
	}
	for name, c := range map[string]struct {
		session, body string
		code          int
		want          string
	}{
		"initialized":             {session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, ""},
		"ping":                    {session, `{"jsonrpc":"2.0","id":2,"method":"ping"}`, 200, `"result":{}`},
		"a method of skills":      {session, `{"jsonrpc":"2.0","id":3,"method":"skills/list","params":{}}`, 200, `"result":`},
		"an unknown method":       {session, `{"jsonrpc":"2.0","id":"four","method":"tools/dance","params":{}}`, 200, `"code":-32601`},
		"an unknown notification": {session, `{"jsonrpc":"2.0","method":"notifications/dance"}`, 202, ""},
		"no JSON":                 {session, `{`, 400, ""},
		"without a session":       {"", `{"jsonrpc":"2.0","id":5,"method":"tools/list"}`, 400, `"id":5`},
		"... a ping":              {"", `{"jsonrpc":"2.0","id":6,"method":"ping"}`, 400, "Mcp-Session-Id"},
		"... an unknown method":   {"", `{"jsonrpc":"2.0","id":7,"method":"tools/dance"}`, 400, "Mcp-Session-Id"},
		"... a notification":      {"", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 400, `"id":null`},
		"... no JSON":             {"", `{`, 400, ""},
		"of another":              {"none", `{"jsonrpc":"2.0","id":8,"method":"ping"}`, 404, ""},
	} {
		if code, text, header := post(c.session, c.body); code != c.code || !strings.Contains(text, c.want) || c.session == "" && header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: %d %s %v", name, code, text, header)
		}
	}
}
