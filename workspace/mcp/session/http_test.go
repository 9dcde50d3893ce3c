package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/workspace/mcp/session"
)

// web is a server over HTTP of 2025-11-25 that a test plays: handle gets what isn't
// about connecting.
func web(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, m message)) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		var m message
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Errorf("the client sends no message: %v", err)
		}
		switch m.Method {
		case "initialize":
			answer(w, m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"web","version":"1"}}`)
		case "server/discover":
			w.WriteHeader(http.StatusNotFound)
		case "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		default:
			handle(w, r, m)
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

func answer(w http.ResponseWriter, m message, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func dial(t *testing.T, address string, header http.Header, opts session.Options) session.Session {
	t.Helper()
	s, err := session.HTTP(t.Context(), address, header, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestHeaders: the configuration's values go along, but not in place of the protocol's.
func TestHeaders(t *testing.T) {
	t.Parallel()
	server := web(t, func(w http.ResponseWriter, r *http.Request, m message) {
		if r.Header.Get("X-Key") != "value" || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Mcp-Protocol-Version") != "2025-11-25" || r.Header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s comes with %v", m.Method, r.Header)
		}
		answer(w, m, `{"content":[]}`)
	})
	s := dial(t, server.URL, http.Header{"x-key": {"value"}, "Content-Type": {"text/plain"}, "mcp-session-id": {"forged"}, "Mcp-Protocol-Version": {"1"}}, session.Options{})
	if _, err := s.Call(t.Context(), &session.Call{Tool: "x"}); err != nil {
		t.Error(err)
	}
}

// TestRedirects: values of headers never reach another origin, and a redirect within
// the origin is followed where the message isn't lost.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(other.Close)
	target := web(t, func(w http.ResponseWriter, _ *http.Request, m message) { answer(w, m, `{"content":[]}`) })
	for _, c := range []struct {
		status int
		to     string
		want   string
	}{
		{http.StatusTemporaryRedirect, other.URL, "another origin"},
		{http.StatusPermanentRedirect, other.URL, "another origin"},
		{http.StatusFound, other.URL, "another origin"},
		{http.StatusFound, "/moved", "without the message"},
		{http.StatusTemporaryRedirect, "/loop", "in circles"},
		{http.StatusPermanentRedirect, "/mcp/", ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/mcp/" {
				target.Config.Handler.ServeHTTP(w, r)
				return
			}
			http.Redirect(w, r, c.to, c.status)
		}))
		s, err := session.HTTP(t.Context(), server.URL+"/mcp", http.Header{"Authorization": {"Bearer secret"}}, session.Options{})
		switch {
		case c.want == "" && err == nil:
			if _, err := s.Call(t.Context(), &session.Call{Tool: "x"}); err != nil {
				t.Errorf("to %s: %v", c.to, err)
			}
			_ = s.Close()
		case err == nil:
			t.Errorf("%d to %s is followed", c.status, c.to)
			_ = s.Close()
		case c.want == "" || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret"):
			t.Errorf("%d to %s: %v", c.status, c.to, err)
		}
		server.Close()
	}
	// The address for messages that the older transport names is no exception.
	sse := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "event: endpoint\ndata: %s/messages\n\n", other.URL)
		w.(http.Flusher).Flush() //nolint:forcetypeassert // it is one
		<-r.Context().Done()
	}))
	t.Cleanup(func() {
		sse.CloseClientConnections()
		sse.Close()
	})
	if s, err := session.SSE(t.Context(), sse.URL, nil, session.Options{}); err == nil || !strings.Contains(err.Error(), "another origin") {
		t.Errorf("the older transport: %v", err)
		_ = s.Close()
	}
	if reached.Load() != 0 {
		t.Errorf("another origin was asked %d times", reached.Load())
	}
}

// TestBodies: answers are bounded, whatever they come as, and a call doesn't outlive
// its context.
func TestBodies(t *testing.T) {
	t.Parallel()
	flood := func(w io.Writer, piece string) {
		for range 3000 {
			if _, err := io.WriteString(w, strings.Repeat(piece, 1024)); err != nil {
				return
			}
		}
	}
	for _, c := range []struct {
		name   string
		handle func(w http.ResponseWriter, r *http.Request, m message)
		want   string
	}{
		{"endless JSON", func(w http.ResponseWriter, _ *http.Request, m message) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":"`, m.ID)
			flood(w, "x")
		}, "too long"},
		{"an endless event", func(w http.ResponseWriter, _ *http.Request, _ message) {
			w.Header().Set("Content-Type", "text/event-stream")
			flood(w, "data: x\n")
		}, "an event that is too long: it has more than 16777216 bytes"},
		{"a long error", func(w http.ResponseWriter, _ *http.Request, _ message) {
			w.WriteHeader(http.StatusBadRequest)
			flood(w, "x")
		}, "Bad Request"},
		{"an error of the protocol", func(w http.ResponseWriter, _ *http.Request, m message) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-7,"message":"no"}}`, m.ID)
		}, "(-7): no"},
		{"another type", func(w http.ResponseWriter, _ *http.Request, _ message) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<p>hello")
		}, "content type"},
		{"a stream that ends", func(w http.ResponseWriter, _ *http.Request, _ message) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, ": hello\n\n")
		}, "without response"},
		{"busy", func(w http.ResponseWriter, _ *http.Request, _ message) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}, "Service Unavailable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := dial(t, web(t, c.handle).URL, nil, session.Options{Caps: session.Caps{Line: 1 << 20}})
			_, err := s.Call(t.Context(), &session.Call{Tool: "x"})
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 4096 {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestTooLong: an answer that is too long costs the call that it answers, wherever its id
// stands, and no other; it costs the session only if it can't be told which call that is.
func TestTooLong(t *testing.T) {
	t.Parallel()
	const limit = 1 << 16
	long := func(id string) map[string]string {
		text := strings.Repeat("x", 3*limit)
		return map[string]string{
			"id first":     fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`, id, text),
			"id last":      fmt.Sprintf(`{"result":{"content":[{"type":"text","text":"\"id\":%s %s"}]},"jsonrpc":"2.0","id":%s}`, id, text, id),
			"just over":    fmt.Sprintf(`{"result":{"x":"%s"},"jsonrpc":"2.0","id":%s}`, text[:limit-20], id),
			"many":         fmt.Sprintf(`{"result":{"content":[%s{}]},"id":%s,"jsonrpc":"2.0"}`, strings.Repeat("{},", limit), id),
			"a long error": fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":-1,"message":"no","data":["%s"]},"id":%s}`, text, id),
		}
	}
	name := func(m message) string {
		var params struct{ Name string }
		_ = json.Unmarshal(m.Params, &params)
		return params.Name
	}
	check := func(t *testing.T, s session.Session) {
		waiting := make(chan error, 1)
		go func() {
			_, err := s.Call(t.Context(), &session.Call{Tool: "slow"})
			waiting <- err
		}()
		for what := range long("1") {
			if _, err := s.Call(t.Context(), &session.Call{Tool: what}); err == nil || !strings.Contains(err.Error(), "has more than 65536 bytes, and is dropped") {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := s.Call(t.Context(), &session.Call{Tool: "finish"}); err != nil {
			t.Errorf("afterwards: %v", err)
		}
		if err := <-waiting; err != nil {
			t.Errorf("meanwhile: %v", err)
		}
	}
	opts := session.Options{Protocol: session.Fallback, Caps: session.Caps{Line: limit}}
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		var slow message
		s := play(t, ordinary(`[]`, func(s *server, m message) {
			switch n := name(m); n {
			case "slow":
				slow = m
			case "finish":
				s.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + strings.Repeat("x", 9) + `"}}`)
				s.result(slow, `{"content":[]}`)
				s.result(m, `{"content":[]}`)
			default:
				s.say(long(string(m.ID))[n])
			}
		}))
		check(t, s.open(opts))
	})
	for _, kind := range []string{"application/json", "text/event-stream"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			finished := make(chan struct{})
			server := web(t, func(w http.ResponseWriter, _ *http.Request, m message) {
				said := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.ID)
				switch n := name(m); n {
				case "slow":
					<-finished
				case "finish":
					close(finished)
				default:
					said = long(string(m.ID))[n]
				}
				w.Header().Set("Content-Type", kind)
				if kind == "text/event-stream" {
					said = "id: 7\nevent: message\r\ndata: " + said + "\n\n"
				}
				_, _ = io.WriteString(w, said)
			})
			check(t, dial(t, server.URL, nil, opts))
		})
	}
	t.Run("of no call", func(t *testing.T) {
		t.Parallel()
		s := play(t, ordinary(`[]`, func(s *server, _ message) {
			s.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + strings.Repeat("x", 2*limit) + `"}}`)
		}))
		got := s.open(opts)
		if _, err := got.Call(t.Context(), &session.Call{Tool: "x"}); err == nil || !strings.Contains(err.Error(), "a line of more than 65536 bytes") {
			t.Errorf("the call fails with %v", err)
		}
	})
}

// TestHangingHTTP: a call that is given up ends, the server is told, and that it
// doesn't know the call any more costs nothing.
func TestHangingHTTP(t *testing.T) {
	t.Parallel()
	told := make(chan message, 1)
	begun := make(chan struct{}, 1)
	server := web(t, func(w http.ResponseWriter, r *http.Request, m message) {
		var params struct{ Name string }
		_ = json.Unmarshal(m.Params, &params)
		switch {
		case m.Method == "notifications/cancelled":
			told <- m
			http.Error(w, "what call?", http.StatusBadRequest)
		case params.Name == "headers alone":
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush() //nolint:forcetypeassert // it is one
			fallthrough
		case params.Name == "nothing":
			begun <- struct{}{}
			<-r.Context().Done()
		default:
			answer(w, m, `{"content":[]}`)
		}
	})
	s := dial(t, server.URL, nil, session.Options{})
	for _, tool := range []string{"nothing", "headers alone"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		go func() {
			<-begun
			cancel(enough)
		}()
		if _, err := s.Call(ctx, &session.Call{Tool: tool}); !errors.Is(err, enough) {
			t.Errorf("%s: %v", tool, err)
		}
		<-told
		if _, err := s.Call(t.Context(), &session.Call{Tool: "quick"}); err != nil {
			t.Errorf("after %s: %v", tool, err)
		}
	}
}

// TestNeedsAuthorization: a server that wants to be signed in to says so, at whichever
// request.
func TestNeedsAuthorization(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(closed.Close)
	for name, connect := range map[string]func(context.Context, string, http.Header, session.Options) (session.Session, error){"HTTP": session.HTTP, "SSE": session.SSE} {
		if _, err := connect(t.Context(), closed.URL, nil, session.Options{}); !errors.Is(err, session.ErrNeedsAuthorization) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := dial(t, web(t, func(w http.ResponseWriter, _ *http.Request, _ message) { w.WriteHeader(http.StatusUnauthorized) }).URL, nil, session.Options{})
	if _, err := s.Call(t.Context(), &session.Call{Tool: "x"}); !errors.Is(err, session.ErrNeedsAuthorization) {
		t.Errorf("a call: %v", err)
	}
}

// TestBadAddresses: what can't be dialed is said without what may be in it.
func TestBadAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "x", "ftp://secret@host/", "http://", "http://secret\x00", "://secret", "http://127.0.0.1:1/secret"} {
		for _, connect := range []func(context.Context, string, http.Header, session.Options) (session.Session, error){session.HTTP, session.SSE} {
			_, err := connect(t.Context(), address, nil, session.Options{Timeout: time.Minute})
			if err == nil || address != "http://127.0.0.1:1/secret" && strings.Contains(err.Error(), "secret") {
				t.Errorf("%q: %v", address, err)
			}
		}
	}
}

// TestOverheard: what a server of 2025-11-25 sends on its own comes through, its stream
// may end, and that it never had one costs nothing.
func TestOverheard(t *testing.T) {
	t.Parallel()
	var streams atomic.Int32
	server := web(t, func(w http.ResponseWriter, _ *http.Request, m message) { answer(w, m, `{"content":[]}`) })
	inner := server.Config.Handler
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			if r.Header.Get("Mcp-Session-Id") != "s1" || r.Header.Get("Mcp-Protocol-Version") != "2025-11-25" {
				t.Errorf("the stream is asked for with %v", r.Header)
			}
			if streams.Add(1) == 1 {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "id: 7\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\ndata: nonsense\n\n")
				return
			}
			if r.Header.Get("Last-Event-Id") != "7" {
				t.Errorf("it goes on with %v", r.Header)
			}
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Mcp-Session-Id", "s1")
		rewritten := httptest.NewRecorder()
		inner.ServeHTTP(rewritten, r)
		for name, values := range rewritten.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(rewritten.Code)
		_, _ = io.WriteString(w, strings.Replace(rewritten.Body.String(), `"tools":{}`, `"tools":{"listChanged":true}`, 1))
	})
	s := dial(t, server.URL, nil, session.Options{})
	<-s.ToolsChanged()
	if _, err := s.Call(t.Context(), &session.Call{Tool: "x"}); err != nil {
		t.Error(err)
	}
}

// TestSessionLost: an answer that says that the session isn't known ends it with that as
// the reason, whatever status and body say so. The same answers mean something else to a
// request without a session, and so does a 400 about something else.
func TestSessionLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code    int
		body    string
		without bool // the server has no sessions
		lost    bool
	}{
		"by the specification": {404, "", false, true},
		"a page":               {404, "<h1>Not Found</h1>", false, true},
		"TypeScript":           {404, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`, false, true},
		"an example's":         {400, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`, false, true},
		"restarted":            {400, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`, false, true},
		"text":                 {400, "invalid session id", false, true},
		"something else":       {400, `{"jsonrpc":"2.0","error":{"code":-32602,"message":"bad arguments"},"id":null}`, false, false},
		"without a session":    {404, "", true, false},
		"a failure":            {500, "session store is down", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inner := web(t, func(w http.ResponseWriter, _ *http.Request, _ message) {
				w.WriteHeader(c.code)
				_, _ = io.WriteString(w, c.body)
			})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Mcp-Session-Id") == "" && !c.without {
					w.Header().Set("Mcp-Session-Id", "one")
				}
				inner.Config.Handler.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			s := dial(t, server.URL, nil, session.Options{})
			_, err := s.Call(t.Context(), &session.Call{Tool: "x"})
			if errors.Is(err, session.ErrSessionLost) != c.lost || err == nil {
				t.Fatalf("the call fails with %v", err)
			}
			if c.lost {
				if <-s.Done(); !errors.Is(s.Err(), session.ErrSessionLost) {
					t.Errorf("the session has ended with %v", s.Err())
				}
			}
		})
	}
}

// TestOlderTransport: a server that has only SSE is spoken with, though its entry says
// http. If it has neither, the first reason is told.
func TestOlderTransport(t *testing.T) {
	t.Parallel()
	for _, code := range []int{400, 404, 405} {
		refuse := func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost && r.URL.Path == "/sse" {
				w.WriteHeader(code)
				return true
			}
			return false
		}
		older := sdk.NewSSEHandler(func(*http.Request) *sdk.Server {
			s := sdk.NewServer(&sdk.Implementation{Name: "older", Version: "1"}, nil)
			s.AddTool(&sdk.Tool{Name: "x", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{}, nil
			})
			return s
		}, nil)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// Its messages go to an address of their own.
			if r.URL.RawQuery != "" || !refuse(w, r) {
				older.ServeHTTP(w, r)
			}
		}))
		t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
		s := dial(t, server.URL+"/sse", nil, session.Options{})
		if _, err := s.Call(t.Context(), &session.Call{Tool: "x"}); err != nil {
			t.Errorf("%d: %v", code, err)
		}
		none := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
		t.Cleanup(none.Close)
		if _, err := session.HTTP(t.Context(), none.URL, nil, session.Options{}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("answers with %d", code)) {
			t.Errorf("%d and no SSE: %v", code, err)
		}
	}
}
