package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/agent/server"
	"waymark/agent/server/servertest"
	"waymark/agentapi/client"
	"waymark/host/sources"
	"waymark/internal/httpapi"
	"waymark/test/testenv"
)

// served is an agent on a real socket.
type served struct {
	stop context.CancelFunc
	done chan error
}

// serve serves h on l until stop. No client is too slow for it, as one would
// be on a machine that stands still for some seconds.
func serve(l net.Listener, h http.Handler) *served {
	const timeout = 10 * time.Minute
	ctx, cancel := context.WithCancel(context.Background())
	s := &served{stop: cancel, done: make(chan error, 1)}
	srv := &httpapi.Server{Handler: h, HeaderTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout}
	go func() { s.done <- srv.Serve(ctx, l) }()
	return s
}

func (s *served) end(t testing.TB) {
	t.Helper()
	s.stop()
	if err := <-s.done; err != nil {
		t.Error(err)
	}
}

// socket returns a path that is short enough for one.
func socket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "wm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "a.sock")
}

// start serves a Backend on a socket.
func start(t *testing.T, path string, b server.Backend) *served {
	t.Helper()
	l, err := server.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	return serve(l, server.New(server.Options{Backend: b, Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "waymark_up 1\n")
	})}))
}

// code is the HTTP status of a refusal.
func code(err error) int {
	var refused *server.Error
	if !errors.As(err, &refused) {
		return 0
	}
	return refused.Code
}

// TestCalls makes every call over a Unix socket and over TCP.
func TestCalls(t *testing.T) {
	t.Run("unix", func(t *testing.T) {
		path, b := socket(t), servertest.New()
		defer start(t, path, b).end(t)
		calls(t, client.New("unix:"+path, client.Options{}), b)
	})
	t.Run("tcp", func(t *testing.T) {
		b := servertest.New()
		l, err := server.ListenTCP(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := l.Addr().String()
		defer serve(l, server.New(server.Options{Backend: b, Token: "s3cret", Metrics: http.NotFoundHandler()})).end(t)
		calls(t, client.New("http://"+addr+"/", client.Options{Token: "s3cret"}), b)

		wrong := client.New("tcp:"+addr, client.Options{Token: "guess"})
		if err := wrong.Health(t.Context()); err != nil {
			t.Errorf("health needs no token: %v", err)
		}
		if _, err := wrong.Status(t.Context()); code(err) != 401 || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("a wrong token: %v", err)
		}
		for _, err := range wrong.Watch(t.Context(), 0) {
			if code(err) != 401 {
				t.Errorf("a wrong token: %v", err)
			}
		}
	})
}

func calls(t *testing.T, c client.Client, b *servertest.Backend) {
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	status, err := c.Status(ctx)
	must(err)
	want := b.Report
	want.Plugins[0].Resolvers = nil
	if diff := cmp.Diff(&want, status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	must(c.Health(ctx))
	if text, err := c.Metrics(ctx); err == nil && string(text) != "waymark_up 1\n" || err != nil && code(err) != 404 {
		t.Errorf("metrics are %q, %v", text, err)
	}
	s, err := c.Snapshot(ctx, client.SnapshotOptions{Wait: time.Minute})
	must(err)
	if s.Version != 1 || len(s.Resources) != 4 || s.Find(servertest.TextID) == nil {
		t.Errorf("snapshot is %+v", s)
	}
	s, err = c.Snapshot(ctx, client.SnapshotOptions{Wait: time.Millisecond, After: 1})
	must(err)
	if s.Version != 1 {
		t.Errorf("there is version %d in the end", s.Version)
	}
	s, err = c.Resync(ctx)
	must(err)
	if s.Version != 1 {
		t.Errorf("resync gives version %d", s.Version)
	}
	for id, text := range map[string]string{servertest.TextID: "# Hello\n", servertest.BytesID: "\x00\xff"} {
		data, err := c.Resource(ctx, id)
		must(err)
		if string(data) != text {
			t.Errorf("%s is %q", id, data)
		}
	}
	if _, err := c.Resource(ctx, servertest.BigID); code(err) != 404 || !strings.Contains(err.Error(), "oversize") {
		t.Errorf("what has no payload: %v", err)
	}
	sourceCalls(t, c)
	must(c.SetRoot(ctx, "/w"))
	must(c.Ready(ctx))
	must(c.RetryPlugins(ctx))
	waiting, err := c.WaitingPlugins(ctx)
	must(err)
	if diff := cmp.Diff(b.Waiting, waiting); diff != "" {
		t.Errorf("waiting plugins (-want +got):\n%s", diff)
	}
	approved, err := c.ApprovePlugin(ctx, "acme", "2c26")
	must(err)
	if diff := cmp.Diff(&b.Waiting[0], approved); diff != "" {
		t.Errorf("the approved plugin (-want +got):\n%s", diff)
	}
	if _, err := c.ApprovePlugin(ctx, "acme", "0000"); code(err) != 404 {
		t.Errorf("what doesn't wait: %v", err)
	}
	if diff := cmp.Diff(servertest.Seen{Root: "/w", Ready: 1, Retried: 1, Approved: []string{"acme"}}, b.Seen()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	plugins, err := c.Plugins(ctx)
	must(err)
	if len(plugins) != 1 || plugins[0].Name != "waymark" {
		t.Errorf("plugins are %v", plugins)
	}
}

func sourceCalls(t *testing.T, c client.Client) {
	ctx := t.Context()
	s, added, err := c.AddSource(ctx, "/x/100%#?", true)
	if want := (sources.Source{Path: "/x/100%#?", Persisted: true, Origin: sources.OriginAPI}); err != nil || !added || s != want {
		t.Errorf("add: %v, %v, %v", s, added, err)
	}
	if _, added, err := c.AddSource(ctx, "/x/100%#?", false); added || err != nil {
		t.Errorf("add again: %v, %v", added, err)
	}
	if _, _, err := c.AddSource(ctx, "x", false); code(err) != 400 || !strings.Contains(err.Error(), "relative") {
		t.Errorf("add a relative path: %v", err)
	}
	if _, _, err := c.AddSource(ctx, "/\xff", false); err == nil || code(err) != 0 {
		t.Errorf("a path that JSON can't hold: %v", err)
	}
	list, err := c.Sources(ctx)
	if err != nil || len(list) != 2 || list[0].Path != servertest.Source {
		t.Errorf("list: %v, %v", list, err)
	}
	if s, err := c.Source(ctx, servertest.Source); err != nil || s.Path != servertest.Source {
		t.Errorf("show: %v, %v", s, err)
	}
	if _, err := c.Source(ctx, "/none"); code(err) != 404 {
		t.Errorf("show none: %v", err)
	}
	if err := c.RemoveSource(ctx, "/x/100%#?"); err != nil {
		t.Errorf("remove: %v", err)
	}
	if err := c.RemoveSource(ctx, "/x/100%#?"); code(err) != 404 {
		t.Errorf("remove again: %v", err)
	}
}

// TestWhyInParts: however many paths and however long, each gets its answer.
func TestWhyInParts(t *testing.T) {
	path := socket(t)
	defer start(t, path, servertest.New()).end(t)
	c := client.New(path, client.Options{})
	var paths []string
	for i := range 150 {
		paths = append(paths, fmt.Sprintf("/%d/\xff%s", i, strings.Repeat("ä", i*12)))
	}
	answers, err := c.Why(t.Context(), paths...)
	if err != nil || len(answers) != len(paths) {
		t.Fatalf("%d answers, %v", len(answers), err)
	}
	for i, a := range answers {
		if want := strings.ToValidUTF8(paths[i], "\ufffd"); a.Path != want || !a.Found {
			t.Errorf("answer %d is about %.20q", i, a.Path)
		}
	}
	if answers, err := c.Why(t.Context()); err != nil || len(answers) != 0 {
		t.Errorf("no question: %v, %v", answers, err)
	}
	if _, err := c.Why(t.Context(), "/a", "b"); code(err) != 400 {
		t.Errorf("a relative path: %v", err)
	}
}

// TestNotRunning: nobody there is told apart from everything else.
func TestNotRunning(t *testing.T) {
	path := socket(t)
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path + "2", Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	_ = left.Close()
	for _, address := range []string{path, path + "2", "tcp:" + testenv.UnservedAddress(t)} {
		_, err := client.New(address, client.Options{}).Status(t.Context())
		where := strings.TrimPrefix(address, "unix:")
		if !errors.Is(err, client.ErrNotRunning) || err.Error() != "no agent is running (nothing serves "+where+"): start one with 'agent run'" {
			t.Errorf("%s: %v", address, err)
		}
		n := 0
		for s, err := range client.New(address, client.Options{}).Watch(t.Context(), 0) {
			if n++; s != nil || !errors.Is(err, client.ErrNotRunning) || n > 1 {
				t.Errorf("watch: %v, %v", s, err)
			}
		}
		if n != 1 {
			t.Errorf("watch yields %d times", n)
		}
	}
	if err := os.WriteFile(path+"3", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"", "unix:", "http:", "http://", "tcp:", "https://user@host", "http://host?x", "http://[::1"} {
		if _, err := client.New(address, client.Options{}).Status(t.Context()); err == nil || errors.Is(err, client.ErrNotRunning) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// TestDeadlines: every call ends.
func TestDeadlines(t *testing.T) {
	path, b := socket(t), servertest.New()
	b.Block = true
	defer start(t, path, b).end(t)

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	// The agent and the client give up at about the same time.
	if _, err := client.New(path, client.Options{}).Resync(ctx); !errors.Is(err, context.DeadlineExceeded) && code(err) != 504 {
		t.Errorf("resync with a deadline: %v", err)
	}
	<-ctx.Done()
	if _, err := client.New(path, client.Options{}).Resync(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("resync past the deadline: %v", err)
	}
	quick := client.New(path, client.Options{Timeout: 20 * time.Millisecond})
	if err := quick.Ready(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ready without a deadline: %v", err)
	}
	withRising(t, func(timeout time.Duration) error {
		_, err := client.New(path, client.Options{Timeout: timeout}).Resync(t.Context())
		if code(err) != 504 {
			return fmt.Errorf("resync without a deadline: %w", err)
		}
		return nil
	})
	withRising(t, func(timeout time.Duration) error {
		c := client.New(path, client.Options{Timeout: timeout})
		s, err := c.Snapshot(t.Context(), client.SnapshotOptions{Wait: 2 * timeout, After: 1})
		if err != nil || s.Version != 1 {
			return fmt.Errorf("waiting for longer than other calls take: %v, %w", s, err)
		}
		return nil
	})
	canceled, cancelNow := context.WithCancel(t.Context())
	cancelNow()
	if _, err := quick.Status(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// withRising tries what has to be answered within a timeout of the client's, and
// with a longer one where the machine was too busy for that.
func withRising(t *testing.T, try func(timeout time.Duration) error) {
	t.Helper()
	for timeout := 20 * time.Millisecond; ; timeout *= 5 {
		err := try(timeout)
		if err == nil {
			return
		}
		if timeout > 10*time.Second {
			t.Error(err)
			return
		}
	}
}

// TestStrangeAnswers: what isn't the agent's doesn't confuse, fill or lead
// anywhere.
func TestStrangeAnswers(t *testing.T) {
	path := socket(t)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan http.HandlerFunc, 1)
	defer serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (<-next)(w, r) })).end(t)
	c := client.New(path, client.Options{Token: "s3cret", Timeout: 10 * time.Minute})
	for _, s := range []struct {
		name   string
		answer http.HandlerFunc
		code   int
		text   string
	}{
		{"no JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, 0, "can't be read"},
		{"another error", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadGateway) }, 502, "502 Bad Gateway"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://evil.example/", http.StatusTemporaryRedirect)
		}, 307, "307"},
		{"an endless error", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			_, _ = io.CopyN(w, zeros{}, 8<<20)
		}, 500, "500"},
		{"an endless answer", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.CopyN(w, zeros{}, 80<<20) }, 0, "larger than 64 MiB"},
		{"half an answer", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"pid":1`)
		}, 0, "unexpected EOF"},
		{"nothing", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, "EOF"},
	} {
		next <- s.answer
		_, err := c.Status(t.Context())
		if err == nil || code(err) != s.code || !strings.Contains(err.Error(), s.text) || errors.Is(err, client.ErrNotRunning) {
			t.Errorf("%s: %v", s.name, err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestOddJSON: what others have written is passed on, also with a name that stands twice, and
// with half of a surrogate pair.
func TestOddJSON(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","b":1,"b":"\ud800"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"tools":[{"name":"a","input_schema":`+schema+`}]}`)
	}))
	t.Cleanup(server.Close)
	tools, err := client.New("tcp:"+server.Listener.Addr().String(), client.Options{}).ListMCPTools(t.Context(), client.MCPToolOptions{})
	if err != nil || len(tools.Tools) != 1 || string(tools.Tools[0].InputSchema) != schema {
		t.Errorf("%+v, %v", tools, err)
	}
}
