package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/agentapi/client"
)

// asked is what a request looks like to an agent.
type asked struct {
	Method, Path, Query, Body string
	Chat, Ancestors           string
}

// recorder answers every request with the same, and tells what came.
func recorder(t *testing.T, answer string) (c client.Client, last func() asked) {
	t.Helper()
	path := socket(t)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var got atomic.Pointer[asked]
	s := serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.Store(&asked{
			Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Body: string(body),
			Chat: r.Header.Get(agentapi.HeaderChat), Ancestors: r.Header.Get(agentapi.HeaderAncestors),
		})
		w.Header().Set(agentapi.HeaderOutput, "{}")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(func() { s.end(t) })
	return client.New(path, client.Options{}), func() asked { return *got.Load() }
}

// TestRequests: what goes over the wire, where it isn't plain JSON.
func TestRequests(t *testing.T) {
	ctx := t.Context()
	c, last := recorder(t, "{}")
	offset := int64(7)
	for _, call := range []struct {
		name string
		do   func(client.Client) error
		want asked
	}{
		{"all of a list", func(c client.Client) error { _, err := c.ListProcesses(ctx, 0); return err }, asked{Method: "GET", Path: agentapi.PathList}},
		{"a long list", func(c client.Client) error { _, err := c.ListProcesses(ctx, 50); return err }, asked{Method: "GET", Path: agentapi.PathList, Query: "limit=50"}},
		{"a strange id", func(c client.Client) error {
			_, err := c.ProcessOutput(ctx, "a/b ?", agentapi.OutputOptions{})
			return err
		},
			asked{Method: "GET", Path: "/api/v0/processes/a%2Fb%20%3F/output"}},
		{"a wait", func(c client.Client) error {
			_, err := c.ProcessOutput(ctx, "p", agentapi.OutputOptions{Wait: true, WaitFor: time.Second})
			return err
		}, asked{Method: "GET", Path: "/api/v0/processes/p/output", Query: "wait=true&wait_ms=1000"}},
		{"a page", func(c client.Client) error {
			_, err := c.ProcessOutput(ctx, "p", agentapi.OutputOptions{Offset: &offset, Limit: 9, WaitFor: 1, Raw: true})
			return err
		}, asked{Method: "GET", Path: "/api/v0/processes/p/output", Query: "encoding=raw&limit=9&offset=7&wait_ms=1"}},
		{"a token", func(c client.Client) error { _, err := c.ProcessToken(ctx, "a/ä"); return err }, asked{Method: "GET", Path: "/api/v0/processes/tokens/a%2F%C3%A4"}},
		{"a part of a file", func(c client.Client) error {
			r, err := c.ReadFile(ctx, "/a b&c", client.FileRange{Offset: 1, Limit: 2})
			if err == nil {
				err = r.Close()
			}
			return err
		}, asked{Method: "GET", Path: agentapi.PathReadFile, Query: "limit=2&offset=1&path=%2Fa+b%26c"}},
		{"lines", func(c client.Client) error {
			_, err := c.ReadFileLines(ctx, "/a", agentapi.LineRange{Offset: 1, Limit: 2, MaxFileSize: 3, MaxLineBytes: 4, MaxResponseLines: 5, MaxResponseBytes: 6})
			return err
		}, asked{Method: "GET", Path: agentapi.PathReadFileLines, Query: "limit=2&max_file_size=3&max_line_bytes=4&max_response_bytes=6&max_response_lines=5&offset=1&path=%2Fa"}},
		{"a content", func(c client.Client) error { return c.WriteFile(ctx, "/a", strings.NewReader("\x00\xff{")) },
			asked{Method: "POST", Path: agentapi.PathWriteFile, Query: "path=%2Fa", Body: "\x00\xff{"}},
		{"a signal", func(c client.Client) error { return c.SignalProcess(ctx, "p", "kill") },
			asked{Method: "POST", Path: "/api/v0/processes/p/signal", Body: `{"signal":"kill"}`}},
		{"bytes", func(c client.Client) error {
			return c.WriteStdin(ctx, "p", agentapi.ProcessStdin{DataBase64: []byte("\xff"), Close: true})
		}, asked{Method: "POST", Path: "/api/v0/processes/p/stdin", Body: `{"data_base64":"/w==","close":true}`}},
		{"a revocation", func(c client.Client) error { return c.RevokeToken(ctx, "x/y") }, asked{Method: "DELETE", Path: "/api/v0/tokens/x%2Fy"}},
		{"the end", func(c client.Client) error { return c.Stop(ctx) }, asked{Method: "POST", Path: agentapi.PathStop}},
	} {
		if err := call.do(c); err != nil {
			t.Errorf("%s: %v", call.name, err)
		}
		if got := last(); got != call.want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", call.name, got, call.want)
		}
	}

	chat, parent := uuid.New(), uuid.New()
	scoped := c.For(agentapi.Caller{Chat: chat, Ancestors: []uuid.UUID{parent}})
	for _, s := range []struct {
		c    client.Client
		want asked
	}{
		{scoped, asked{Chat: chat.String(), Ancestors: `["` + parent.String() + `"]`}},
		{scoped.For(agentapi.Caller{Chat: parent}), asked{Chat: parent.String()}},
		{scoped.For(agentapi.Caller{}), asked{}},
		{c, asked{}}, // not changed by For
	} {
		if _, err := s.c.ListProcesses(ctx, 0); err != nil {
			t.Error(err)
		}
		if got := last(); got.Chat != s.want.Chat || got.Ancestors != s.want.Ancestors {
			t.Errorf("got %+v, want %+v", got, s.want)
		}
	}
}

// TestLargeFile: a file isn't held in memory, nor bounded as answers are.
func TestLargeFile(t *testing.T) {
	path := socket(t)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	const size = 65 << 20
	defer serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.CopyN(w, zeros{}, size)
			return
		}
		if n, err := io.Copy(io.Discard, r.Body); err != nil || n != size {
			http.Error(w, `{"message":"cut","detail":""}`, http.StatusBadRequest)
		}
	})).end(t)
	c := client.New(path, client.Options{})
	r, err := c.ReadFile(t.Context(), "/large", client.FileRange{})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, r); err != nil || n != size {
		t.Errorf("%d bytes came, %v", n, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := c.WriteFile(t.Context(), "/large", io.LimitReader(zeros{}, size)); err != nil {
		t.Error(err)
	}
}

// TestWatchGit: messages, refreshes, losses, and refusals, which are final.
func TestWatchGit(t *testing.T) {
	path := socket(t)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	chat := uuid.New()
	var connections atomic.Int64
	defer serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != agentapi.PathGitWatch || r.URL.RawQuery != "chat_id="+chat.String() || r.Header.Get("Authorization") != "Bearer s3cret" {
			t.Errorf("asked for %s", r.URL)
		}
		n := connections.Add(1)
		if n == 3 {
			http.Error(w, `{"message":"no such route","detail":"git is switched off"}`, http.StatusNotFound)
			return
		}
		socket, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = socket.CloseNow() }()
		large := agentapi.GitRepository{RepoRoot: "/r", UnifiedDiff: strings.Repeat("+\n", 2<<20)}
		_ = wsjson.Write(r.Context(), socket, agentapi.GitMessage{Type: agentapi.GitChanges, Repositories: []agentapi.GitRepository{large}})
		var asked map[string]any
		if err := wsjson.Read(r.Context(), socket, &asked); err != nil || asked["type"] != "refresh" || len(asked) != 1 {
			t.Errorf("%v, %v", asked, err)
		}
		_ = wsjson.Write(r.Context(), socket, agentapi.GitMessage{Type: agentapi.GitError, Message: "again"})
		// and the connection is lost
	})).end(t)
	c := client.New(path, client.Options{Token: "s3cret", Retry: time.Millisecond}).For(agentapi.Caller{Chat: chat})
	refresh := make(chan struct{})
	var got bytes.Buffer
	var last error
	for m, err := range c.WatchGit(t.Context(), client.GitOptions{Refresh: refresh}) {
		if last = err; err != nil {
			got.WriteString("lost ")
			continue
		}
		got.WriteString(m.Type + " ")
		if len(m.Repositories) == 1 {
			refresh <- struct{}{}
		}
	}
	if got.String() != "changes error lost changes error lost lost " || client.CodeOf(last) != 404 || !strings.Contains(last.Error(), "switched off") {
		t.Errorf("got %s, %v", got.String(), last)
	}
}

// TestWatchGitEnds: by its context, by leaving it, and where nobody is.
func TestWatchGitEnds(t *testing.T) {
	path := socket(t)
	for _, err := range client.New(path, client.Options{}).WatchGit(t.Context(), client.GitOptions{}) {
		if !errors.Is(err, client.ErrNotRunning) {
			t.Errorf("nobody there: %v", err)
		}
	}
	for _, err := range client.New("", client.Options{}).WatchGit(t.Context(), client.GitOptions{}) {
		if err == nil {
			t.Error("no address is no error")
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	left := make(chan struct{}, 2)
	defer serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		socket, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		_ = wsjson.Write(context.Background(), socket, json.RawMessage(`{"type":"changes"}`))
		_, _, _ = socket.Read(context.Background()) // until the client goes
		left <- struct{}{}
	})).end(t)
	c := client.New(path, client.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range c.WatchGit(ctx, client.GitOptions{}) {
		if err != nil {
			t.Errorf("its context has ended: %v", err)
		}
		cancel()
	}
	<-left
	for _, err := range c.WatchGit(t.Context(), client.GitOptions{}) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	<-left
}
