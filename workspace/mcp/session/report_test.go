package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"waymark/test/testenv"
	"waymark/workspace/mcp/session"
)

// TestUnreachable: whoever can't be connected says why, where, and what to do, without
// what is secret of the address and the headers.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	quiet := func(s *httptest.Server) string {
		s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		t.Cleanup(s.Close)
		return s.URL
	}
	status := func(code int) string {
		return quiet(httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.Header.Get("X-Key"), code)
		})))
	}
	hangs := quiet(httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })))
	page := quiet(httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<p>hello")
	})))
	secure := quiet(httptest.NewTLSServer(http.NotFoundHandler()))
	for name, c := range map[string]struct {
		address string
		want    string // in both transports' errors
	}{
		"nobody listens":       {"http://" + testenv.UnservedAddress(t), "refuses the connection: nothing listens there"},
		"an unknown name":      {"http://waymark.invalid", "waymark.invalid"},
		"an unknown authority": {secure, "isn't trusted"},
		"no TLS":               {strings.Replace(page, "http:", "https:", 1), "doesn't speak TLS"},
		"hangs up":             {hangs, "has closed the connection without an answer"},
		"a page":               {page, "text/html, which isn't MCP"},
		"400":                  {status(400), "answers with 400 (Bad Request): it doesn't take the message"},
		"403":                  {status(403), "answers with 403 (Forbidden): it doesn't let us in: check the token"},
		"404":                  {status(404), "answers with 404 (Not Found): there is no server at this path"},
		"405":                  {status(405), "answers with 405 (Method Not Allowed): it doesn't speak this transport"},
		"429":                  {status(429), "answers with 429 (Too Many Requests): it is asked too often"},
		"500":                  {status(500), "answers with 500 (Internal Server Error): it has failed: its own log says why"},
		"503":                  {status(503), "answers with 503 (Service Unavailable)"},
		"599":                  {status(599), "answers with 599 (a status of its own)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for transport, connect := range map[string]func(context.Context, string, http.Header, session.Options) (session.Session, error){"http": session.HTTP, "sse": session.SSE} {
				s, err := connect(t.Context(), c.address+"/hidden-path?token=hidden-query", http.Header{"X-Key": {"hidden-header"}}, session.Options{})
				if err == nil {
					t.Errorf("%s: it is connected", transport)
					_ = s.Close()
					continue
				}
				text := err.Error()
				t.Log(transport, text)
				if !strings.Contains(text, c.want) || strings.Contains(text, "hidden") || strings.Contains(text, "rejected by") {
					t.Errorf("%s: %s\nwant %s", transport, text, c.want)
				}
				if _, host, _ := strings.Cut(c.address, "://"); !strings.Contains(text, host) {
					t.Errorf("%s: it doesn't say whose: %s", transport, text)
				}
			}
		})
	}
}

// TestUnreachableCalls says the same of calls, as long as the call itself isn't answered.
func TestUnreachableCalls(t *testing.T) {
	t.Parallel()
	for want, handle := range map[string]func(w http.ResponseWriter, r *http.Request, m message){
		"503 (Service Unavailable): it, or": func(w http.ResponseWriter, _ *http.Request, _ message) { w.WriteHeader(503) },
		"500 (Internal Server Error)":       func(w http.ResponseWriter, _ *http.Request, _ message) { w.WriteHeader(500) },
		"answers nothing (202)":             func(w http.ResponseWriter, _ *http.Request, _ message) { w.WriteHeader(202) },
		"without an answer":                 func(http.ResponseWriter, *http.Request, message) { panic(http.ErrAbortHandler) },
		"another origin, elsewhere.example": func(w http.ResponseWriter, r *http.Request, _ message) {
			http.Redirect(w, r, "http://elsewhere.example/hidden", http.StatusTemporaryRedirect)
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			server := web(t, handle)
			server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			s := dial(t, server.URL, nil, session.Options{})
			_, err := s.Call(t.Context(), &session.Call{Tool: "x"})
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
				t.Errorf("got %v, want %s", err, want)
			}
			if why := s.Err(); why != nil && !strings.Contains(why.Error(), want) {
				t.Errorf("it has ended with %v", why)
			}
		})
	}
}

// TestRefuses: what a server answers is told, whatever happens to it after that.
func TestRefuses(t *testing.T) {
	t.Parallel()
	for range 20 { // the order in which it is noticed isn't always the same
		s := play(t, func(s *server, m message) {
			s.refuse(m, -32000, "no key")
			if m.Method == "initialize" {
				_ = s.out.Close()
			}
		})
		got, err := s.connect(session.Options{Protocol: session.Fallback, Timeout: time.Minute})
		var refused *session.ServerError
		if !errors.As(err, &refused) || refused.Message != "no key" {
			t.Fatalf("%v, %v", got, err)
		}
	}
}

// TestHungUp: that a server has ended is told from what has made us end it.
func TestHungUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer string
		gone   bool
	}{
		"hangs up":  {"", true},
		"long line": {fmt.Sprintf("{%q:%q}\n", "x", strings.Repeat("x", 1<<20)), false},
	} {
		s := play(t, func(s *server, _ message) {
			s.say(c.answer)
			_ = s.out.Close()
		})
		_, err := s.connect(session.Options{Protocol: session.Fallback, Timeout: time.Minute, Caps: session.Caps{Line: 1 << 16}})
		if err == nil || errors.Is(err, session.ErrHungUp) != c.gone {
			t.Errorf("%s: %v", name, err)
		}
	}
}
