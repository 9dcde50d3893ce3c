package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waymark/agent/server/servertest"
	"waymark/agentapi/client"
	"waymark/agentapi/client/fake"
	"waymark/agentapi/status"
	"waymark/workspace/mcpserver"
	"waymark/workspace/mcpserver/tools"
)

// callers are those who use an Endpoint, by their tokens.
type callers struct {
	*testing.T
	endpoint *mcpserver.Endpoint
	agent    *fake.Agent

	mu      sync.Mutex // guards the rest
	started map[string]int
	revoked map[string]bool
}

// ofToken is the agent as a token sees it, which may have been revoked.
type ofToken struct {
	client.Client
	c     *callers
	token string
}

func (o *ofToken) Status(ctx context.Context) (*status.Status, error) {
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	if o.c.revoked[o.token] {
		return nil, &client.Error{Code: http.StatusUnauthorized, Message: "revoked"}
	}
	return o.Client.Status(ctx)
}

func newCallers(t *testing.T) *callers {
	engine := &servertest.Backend{Skills: map[string]map[string]string{}, Bodies: map[string][]byte{}}
	engine.PublishResources()
	c := &callers{T: t, agent: fake.New(fake.Options{Engine: engine}), started: map[string]int{}, revoked: map[string]bool{}}
	c.endpoint = mcpserver.NewEndpoint(mcpserver.EndpointOptions{Client: func(token string) client.Client {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.started[token]++
		return &ofToken{c.agent, c, token}
	}})
	return c
}

// close ends everything, within the bubble of the test.
func (c *callers) close() {
	c.endpoint.Close()
	_ = c.agent.Close()
}

// startsOf is how often there was a server for a token.
func (c *callers) startsOf(token string) int {
	synctest.Wait() // it is started beside
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started[token]
}

func (c *callers) serve(ctx context.Context, token, method, session, body string) (*httptest.ResponseRecorder, error) {
	r := httptest.NewRequestWithContext(ctx, method, "http://localhost/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	w := httptest.NewRecorder()
	return w, c.endpoint.Serve(w, r, token, tools.All())
}

// begin begins a session.
func (c *callers) begin(token string) (session string) {
	c.Helper()
	w, err := c.serve(c.Context(), token, http.MethodPost, "",
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	session = w.Header().Get("Mcp-Session-Id")
	if err != nil || session == "" {
		c.Fatalf("%s: %d %s, %v", token, w.Code, w.Body, err)
	}
	if w, err := c.serve(c.Context(), token, http.MethodPost, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil || w.Code != http.StatusAccepted {
		c.Fatalf("%s: %d %s, %v", token, w.Code, w.Body, err)
	}
	return session
}

// ping uses a session, and returns the status.
func (c *callers) ping(token, session string) int {
	c.Helper()
	w, err := c.serve(c.Context(), token, http.MethodPost, session, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if err != nil {
		c.Fatal(err)
	}
	return w.Code
}

// TestEndpointEvicts: who hasn't been there for the longest makes room, and only then.
func TestEndpointEvicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(t)
		defer c.close()
		sessions := make([]string, mcpserver.MaxCallers)
		for i := range sessions {
			sessions[i] = c.begin(fmt.Sprint("token ", i))
			time.Sleep(time.Second)
		}
		if code := c.ping("token 0", sessions[0]); code != http.StatusOK { // so that the next one is the oldest
			t.Fatalf("with room for all: %d", code)
		}
		c.begin("one more")
		for i := range sessions {
			if i == 1 {
				continue
			}
			if code := c.ping(fmt.Sprint("token ", i), sessions[i]); code != http.StatusOK {
				t.Errorf("session %d: %d", i, code)
			}
		}
		if code := c.ping("token 1", sessions[1]); code != http.StatusNotFound {
			t.Errorf("the session that made room: %d", code)
		}
		if n := c.startsOf("token 1"); n != 2 {
			t.Errorf("there were %d servers for who made room and came again", n)
		}
	})
}

// TestEndpointFull: where all are at work nobody makes room, and who comes is told so, until
// one of them ends.
func TestEndpointFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(t)
		defer c.close()
		var streams sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		first, end := context.WithCancel(ctx)
		for i := range mcpserver.MaxCallers {
			token := fmt.Sprint("token ", i)
			session, of := c.begin(token), ctx
			if i == 0 {
				of = first
			}
			streams.Go(func() { _, _ = c.serve(of, token, http.MethodGet, session, "") })
		}
		synctest.Wait()
		w, err := c.serve(t.Context(), "one more", http.MethodPost, "", `{}`)
		if !errors.Is(err, mcpserver.ErrFull) || w.Body.Len() > 0 || c.startsOf("one more") != 0 {
			t.Errorf("one more: %v, %q", err, w.Body)
		}
		end()
		synctest.Wait()
		c.begin("one more")
		cancel()
		streams.Wait()
	})
}

// TestEndpointIdle: a server that nobody uses for hours is gone when somebody comes, one that
// is used isn't; a token that has ended takes its server with it.
func TestEndpointIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(t)
		defer c.close()
		idle, used := c.begin("idle"), c.begin("used")
		for range 4 {
			time.Sleep(time.Hour)
			if code := c.ping("used", used); code != http.StatusOK {
				t.Errorf("a session that is used: %d", code)
			}
		}
		c.begin("another")
		if code := c.ping("idle", idle); code != http.StatusNotFound {
			t.Errorf("an idle session: %d", code)
		}
		if idle, used := c.startsOf("idle"), c.startsOf("used"); idle != 2 || used != 1 {
			t.Errorf("there were %d and %d servers", idle, used)
		}
		c.mu.Lock()
		c.revoked["used"] = true
		c.mu.Unlock()
		c.agent.Break() // it is asked who it is when the agent is back
		c.agent.Resume()
		time.Sleep(time.Minute)
		if code := c.ping("used", used); code != http.StatusNotFound {
			t.Errorf("a session of a token that has ended: %d", code)
		}
	})
	// After its end it takes nobody.
	e := mcpserver.NewEndpoint(mcpserver.EndpointOptions{})
	e.Close()
	if err := e.Serve(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", nil), "", tools.All()); err == nil {
		t.Error("it serves after its end")
	}
}
