package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"waymark/agent/server"
	"waymark/agent/server/servertest"
	"waymark/internal/httpapi"
)

// TestGuard: who gets in over TCP, and who doesn't.
func TestGuard(t *testing.T) {
	const token = "Bearer correct horse"
	h := server.New(server.Options{Backend: servertest.New(), Token: "correct horse", AllowHosts: []string{"agent.example"}})
	none := server.New(server.Options{Backend: servertest.New()})
	tests := []struct {
		name        string
		h           http.Handler
		local       string // "" is the socket
		host, path  string
		auth        string
		more        []string
		want        int
		wantContain string
	}{
		{"the socket", h, "", "whatever", statusPath, "", nil, 200, ""},
		{"the socket, no token at all", none, "", "evil.example", statusPath, "", nil, 200, ""},
		{"address", h, "127.0.0.1:79", "127.0.0.1:79", statusPath, token, nil, 200, ""},
		{"localhost", h, "127.0.0.1:79", "LocalHost.:8000", statusPath, token, nil, 200, ""},
		{"another loopback", h, "127.0.0.1:79", "[::1]:79", statusPath, token, nil, 200, ""},
		{"mapped", h, "127.0.0.1:79", "[::ffff:127.0.0.1]:79", statusPath, token, nil, 200, ""},
		{"a network address", h, "192.0.2.7:79", "192.0.2.7:79", statusPath, token, nil, 200, ""},
		{"a name that was allowed", h, "192.0.2.7:79", "Agent.Example", statusPath, token, nil, 200, ""},
		{"scheme in another case", h, "127.0.0.1:79", "localhost", statusPath, "bearer correct horse", nil, 200, ""},
		{"health", h, "127.0.0.1:79", "localhost", healthPath, "", nil, 200, ""},

		{"another name", h, "127.0.0.1:79", "evil.example", statusPath, token, nil, 421, "host name"},
		{"another name, health", h, "127.0.0.1:79", "evil.example", healthPath, "", nil, 421, ""},
		{"another address", h, "192.0.2.7:79", "192.0.2.8:79", statusPath, token, nil, 421, ""},
		{"localhost from outside", h, "192.0.2.7:79", "localhost", statusPath, token, nil, 421, ""},
		{"no name", h, "127.0.0.1:79", "", statusPath, token, nil, 421, ""},
		{"no token", h, "127.0.0.1:79", "localhost", statusPath, "", nil, 401, "--listen-token-file"},
		{"part of the token", h, "127.0.0.1:79", "localhost", statusPath, "Bearer correct", nil, 401, ""},
		{"more than the token", h, "127.0.0.1:79", "localhost", statusPath, token + "s", nil, 401, ""},
		{"no scheme", h, "127.0.0.1:79", "localhost", statusPath, "correct horse", nil, 401, ""},
		{"basic", h, "127.0.0.1:79", "localhost", statusPath, "Basic correct horse", nil, 401, ""},
		{"an agent without a token", none, "127.0.0.1:79", "localhost", statusPath, "Bearer ", nil, 401, "Unix socket"},
		{"metrics need it, too", h, "127.0.0.1:79", "localhost", metricsPath, "", nil, 401, ""},

		{"foreign page", h, "127.0.0.1:79", "localhost", statusPath, token, []string{"Origin", "http://evil.example"}, 403, "page"},
		{"foreign page, health", h, "127.0.0.1:79", "localhost", healthPath, "", []string{"Sec-Fetch-Site", "cross-site"}, 403, ""},
		{"sandboxed page", h, "127.0.0.1:79", "localhost", statusPath, token, []string{"Origin", "null"}, 403, ""},
		{"same site is not same origin", h, "127.0.0.1:79", "localhost", statusPath, token, []string{"Sec-Fetch-Site", "same-site"}, 403, ""},
		{"another port", h, "127.0.0.1:79", "localhost:79", statusPath, token, []string{"Origin", "http://localhost:80"}, 403, ""},
		{"page over the socket", h, "", "localhost", statusPath, "", []string{"Origin", "http://evil.example"}, 403, ""},
		{"own origin", h, "127.0.0.1:79", "localhost:79", statusPath, token,
			[]string{"Origin", "http://localhost:79", "Sec-Fetch-Site", "same-origin"}, 200, ""},
		{"typed in", h, "127.0.0.1:79", "localhost:79", statusPath, token, []string{"Sec-Fetch-Site", "none"}, 200, ""},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			r := request("GET", c.path, "", c.more...)
			r.Host = c.host
			if c.auth != "" {
				r.Header.Set("Authorization", c.auth)
			}
			if c.local != "" {
				r = overTCP(r, c.local)
			}
			resp := serve(c.h, r)
			text := body(t, resp)
			if resp.StatusCode != c.want || !strings.Contains(text, c.wantContain) {
				t.Errorf("got %d %s, want %d", resp.StatusCode, text, c.want)
			}
			if (resp.StatusCode == 401) != (resp.Header.Get("WWW-Authenticate") != "") {
				t.Errorf("%d with WWW-Authenticate %q", resp.StatusCode, resp.Header.Get("WWW-Authenticate"))
			}
			if strings.Contains(text, "horse") {
				t.Errorf("the token is in %s", text)
			}
		})
	}
}

// TestUnknownConnection: what is neither a socket nor a port gets nothing.
func TestUnknownConnection(t *testing.T) {
	h := server.New(server.Options{Backend: servertest.New(), Token: "x"})
	r := request("GET", statusPath, "", "Authorization", "Bearer x")
	if resp := serve(h, r.WithContext(t.Context())); resp.StatusCode != 421 {
		t.Errorf("got %d", resp.StatusCode)
	}
}

// TestAuthenticate: a token that the agent knows lets in over TCP, and is in the
// context of what is called; one that isn't valid is refused over the socket, too;
// what acts is asked of the guard.
func TestAuthenticate(t *testing.T) {
	type key struct{}
	guard := func(c *httpapi.Call, route *httpapi.Route) error {
		if route.Scope == "approve" && c.Context().Value(key{}) != "minted" {
			return &server.Error{Code: http.StatusForbidden, Message: "not this one"}
		}
		return nil
	}
	h := server.New(server.Options{Backend: servertest.New(), Token: "listen", Guard: guard, Authenticate: func(r *http.Request, token string) (context.Context, bool) {
		return context.WithValue(r.Context(), key{}, token), token == "minted"
	}})
	for _, c := range []struct {
		name, auth   string
		tcp          bool
		read, act    int
		wantContains string
	}{
		{"the socket", "", false, 200, 403, ""},
		{"the socket, a valid one", "Bearer minted", false, 200, 400, ""},
		{"the socket, that for TCP", "Bearer listen", false, 200, 403, ""},
		{"the socket, a wrong one", "Bearer x", false, 401, 401, "agent token create"},
		{"the socket, none where one is promised", "Bearer ", false, 401, 401, ""},
		{"the socket, another scheme", "Basic minted", false, 401, 401, ""},
		{"TCP", "", true, 401, 401, "--listen-token-file"},
		{"TCP, a valid one", "Bearer minted", true, 200, 400, ""},
		{"TCP, that for TCP", "Bearer listen", true, 200, 403, ""},
		{"TCP, a wrong one", "Bearer x", true, 401, 401, "revoked"},
	} {
		for method, want := range map[string]int{"GET": c.read, "POST": c.act} {
			path := statusPath
			if method == "POST" {
				path = "/api/v0/plugins/approve"
			}
			r := request(method, "http://localhost"+path, "{}", "Content-Type", "application/json")
			if method == "GET" {
				r = request(method, "http://localhost"+path, "")
			}
			if c.auth != "" {
				r.Header.Set("Authorization", c.auth)
			}
			if c.tcp {
				r = overTCP(r, "127.0.0.1:79")
			}
			resp := serve(h, r)
			if text := body(t, resp); resp.StatusCode != want || want == 401 && !strings.Contains(text, c.wantContains) {
				t.Errorf("%s, %s: %d %s, want %d", c.name, method, resp.StatusCode, text, want)
			}
		}
	}
}
