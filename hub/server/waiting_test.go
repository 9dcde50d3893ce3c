package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"waymark/hub/server"
	"waymark/hub/store"
	"waymark/hub/store/sqlite"
	"waymark/internal/credential"
	"waymark/snapshot"
	"waymark/test/process"
)

// TestHeartbeat is a stream on which nothing happens.
func TestHeartbeat(t *testing.T) {
	f := newFixture(t, server.Limits{Heartbeat: 1})
	f.push("a", text("/w/x", "1"))
	r := f.follow("?after=" + f.behind(1) + "&agent_id=other")
	for range 3 {
		if got, ok := r.next(); !ok || !got.comment || got.event != "" {
			t.Fatalf("%+v, %v", got, ok)
		}
	}
	f.push("a", text("/w/x", "2"))
	for r.last != f.behind(2) { // the position moves on without an event
		if got, ok := r.next(); !ok || got.event != "" {
			t.Fatalf("%+v, %v", got, ok)
		}
	}
}

// waits has a request wait for what comes after a revision of agent a, and
// tells its status, 0 where there is none.
func (f *fixture) waits(after int64) <-chan int {
	f.Helper()
	status := make(chan int, 1)
	r := f.request("GET", fmt.Sprint("/api/v0/agents/a/context?wait=", timeout, "&after=", after), "")
	go func() {
		resp, err := f.ask(r)
		if err != nil {
			f.Error(err)
			status <- 0
			return
		}
		status <- resp.StatusCode
	}()
	return status
}

// TestRevoked ends what a token has going on when it is revoked, and nothing
// of others.
func TestRevoked(t *testing.T) {
	f := newFixture(t, server.Limits{Recheck: 1, MaxWait: timeout})
	f.push("a", text("/w/x", "1"))
	other := f.follow("?after=" + f.behind(1))
	f.reader = f.token(store.RoleReader, "")
	mine := f.follow("?after=" + f.behind(1))
	waiting := f.waits(1)
	token, err := f.store.TokenByHash(t.Context(), credential.HashOf(f.reader))
	if err == nil {
		err = f.store.RevokeToken(t.Context(), token.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	mine.ended()
	if code := <-waiting; code != 401 {
		t.Errorf("waiting ended with %d", code)
	}
	f.push("a", text("/w/x", "2"))
	other.want("context@2")
}

// TestClose ends everything that waits.
func TestClose(t *testing.T) {
	f := newFixture(t, server.Limits{MaxWait: timeout})
	f.push("a", text("/w/x", "1"))
	r := f.follow("?after=" + f.behind(1))
	waiting := f.waits(1)
	f.push("a", text("/w/x", "2"))
	<-waiting
	waiting = f.waits(2)
	r.want("context@2")
	for range 2 {
		if err := f.api.Close(); err != nil {
			t.Error(err)
		}
	}
	r.ended()
	if code := <-waiting; code != 503 {
		t.Errorf("waiting ended with %d", code)
	}
	unused := server.New(server.Options{Store: f.store, Lookup: f.lookup})
	_ = unused.Close()
	f.api = unused
}

// TestSlow is a reader that takes nothing while much happens.
func TestSlow(t *testing.T) {
	f := newFixture(t, server.Limits{Write: timeout})
	f.push("a")
	f.push("b")
	const pushes = 400
	r := f.follow("?after=0")
	r.want("context@1", "context@2")
	last := map[string]int64{}
	for n := range pushes {
		id := []string{"a", "b"}[n%2]
		last[id] = f.push(id, text("/w/x", fmt.Sprint(n)), text(fmt.Sprint("/w/", n%20), ""))
	}
	seen := map[string]int64{}
	events := 0
	for seen["a"] != last["a"] || seen["b"] != last["b"] {
		var e struct {
			AgentID  string `json:"agent_id"`
			Revision int64
		}
		got := r.event()
		if err := json.Unmarshal([]byte(got.data), &e); err != nil {
			t.Fatal(err)
		}
		if e.Revision <= seen[e.AgentID] {
			t.Fatalf("%+v follows %d", e, seen[e.AgentID])
		}
		seen[e.AgentID] = e.Revision
		events++
	}
	t.Logf("%d pushes came as %d events", pushes, events)

	behind := f.follow("?after=" + f.behind(2)) // further than one page: only what is newest
	events = 0
	most := 0
	for got := (frame{}); got.id != f.newest(); events++ {
		got = behind.event()
		var e struct{ Changed []string }
		if err := json.Unmarshal([]byte(got.data), &e); err != nil || !slices.IsSorted(e.Changed) {
			t.Fatalf("%s: %v", got.data, err)
		}
		most = max(most, len(e.Changed))
	}
	if most != 11 { // what all pushes touched for which one event stands: x, and every other of twenty
		t.Errorf("an event that stands for many names %d resources", most)
	}
	if events > 300 {
		t.Errorf("a reader that is %d revisions behind gets %d events", pushes, events)
	}
}

// TestStuck is a reader that takes nothing at all: it is dropped.
func TestStuck(t *testing.T) {
	f := newFixture(t, server.Limits{StreamsPerToken: 1, Write: 200 * time.Millisecond})
	f.push("a")
	stuck := f.follow("?after=" + f.behind(1))
	_ = stuck // nobody reads it
	var long []snapshot.Resource
	for n := range 100 {
		long = append(long, text(fmt.Sprint("/", n, strings.Repeat("x", 2000)), ""))
	}
	for end := time.Now().Add(timeout); ; { // more than any buffer holds
		f.push("a", long...)
		f.push("a")
		resp := f.do("GET", "/api/v0/events?after="+f.behind(1), "")
		_ = resp.Body.Close()
		if resp.StatusCode == 200 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("a reader that reads nothing is kept")
		}
	}
}

// TestServerDeadlines has a server with deadlines far shorter than what waits.
func TestServerDeadlines(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol[len("HTTP/"):], func(t *testing.T) {
			process.Synctest(t, func(t *testing.T) { testServerDeadlines(t, protocol) })
		})
	}
}

// testServerDeadlines runs on a clock of its own, which moves only when everybody waits: a
// slow machine keeps all deadlines that aren't about waiting.
func testServerDeadlines(t *testing.T, protocol string) {
	const short = 100 * time.Millisecond
	f := newUnserved(t, server.Limits{Heartbeat: 3 * short}, openSQLite(t, sqlite.Options{}))
	var spoken http.Protocols
	spoken.SetHTTP1(protocol == "HTTP/1.1")
	spoken.SetUnencryptedHTTP2(protocol == "HTTP/2.0")
	listener := newRoom(&net.UnixAddr{Name: "hub", Net: "pipe"})
	hasty := &http.Server{Handler: f.api, ReadTimeout: short, WriteTimeout: short, Protocols: &spoken}
	served := make(chan error, 1)
	go func() { served <- hasty.Serve(listener) }()
	f.server = &httptest.Server{URL: "http://hub"}
	transport := &http.Transport{Protocols: &spoken, DialContext: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		listener.conns <- far
		return near, nil
	}}
	f.transport = transport
	t.Cleanup(func() {
		_ = f.api.Close()
		_ = hasty.Close()
		transport.CloseIdleConnections()
		if err := <-served; err != http.ErrServerClosed {
			t.Error(err)
		}
	})
	f.push("a")
	r := f.follow("?after=" + f.behind(1))
	if r.resp.Proto != protocol {
		t.Fatalf("it is %s", r.resp.Proto)
	}
	r.want("agent@") // it has moved
	waiting := f.waits(1)
	for range 3 { // each comes when both deadlines have long passed
		if got, ok := r.next(); !ok || !got.comment {
			t.Fatalf("%v, %v", got, ok)
		}
	}
	f.push("a", text("/w/x", "2"))
	r.want("context@2")
	if code := <-waiting; code != 200 {
		t.Errorf("waiting ended with %d", code)
	}
}

// TestStreams bounds the streams of all.
func TestStreams(t *testing.T) {
	f := newFixture(t, server.Limits{Streams: 3})
	for range 3 {
		f.reader = f.token(store.RoleReader, "")
		f.follow("")
	}
	f.reader = f.token(store.RoleReader, "")
	resp := f.do("GET", "/api/v0/events", "")
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%s %v", resp.Status, resp.Header)
	}
}
