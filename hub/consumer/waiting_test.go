package consumer_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"waymark/host/snapshot"
	"waymark/hub/consumer"
	"waymark/hub/store"
)

// TestHeartbeat is a stream on which nothing happens.
func TestHeartbeat(t *testing.T) {
	f := newFixture(t, consumer.Limits{Heartbeat: 1})
	f.push("a", text("/w/x", "1"))
	r := f.follow("?after=1&agent_id=other")
	for range 3 {
		if got, ok := r.next(); !ok || !got.comment || got.event != "" {
			t.Fatalf("%+v, %v", got, ok)
		}
	}
	f.push("a", text("/w/x", "2"))
	for r.last != "2" { // the position moves on without an event
		if got, ok := r.next(); !ok || got.event != "" {
			t.Fatalf("%+v, %v", got, ok)
		}
	}
}

// TestRevoked ends what a token has going on when it is revoked, and nothing
// of others.
func TestRevoked(t *testing.T) {
	f := newFixture(t, consumer.Limits{Recheck: 1})
	f.push("a", text("/w/x", "1"))
	other := f.follow("?after=1")
	f.reader = f.token(store.RoleReader, "")
	mine := f.follow("?after=1")
	waiting := make(chan int)
	go func() { waiting <- f.do("GET", "/api/v0/agents/a/context?wait=1m&after=1", "").StatusCode }()
	token, err := f.store.TokenByHash(t.Context(), store.HashToken(f.reader))
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
	f := newFixture(t, consumer.Limits{})
	f.push("a", text("/w/x", "1"))
	r := f.follow("?after=1")
	waiting := make(chan int)
	go func() { waiting <- f.do("GET", "/api/v0/agents/a/context?wait=1m&after=1", "").StatusCode }()
	f.push("a", text("/w/x", "2"))
	<-waiting
	go func() { waiting <- f.do("GET", "/api/v0/agents/a/context?wait=1m&after=2", "").StatusCode }()
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
	unused := consumer.New(consumer.Options{Store: f.store, Lookup: f.lookup})
	_ = unused.Close()
	f.api = unused
}

// TestSlow is a reader that takes nothing while much happens.
func TestSlow(t *testing.T) {
	f := newFixture(t, consumer.Limits{})
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

	behind := f.follow("?after=2") // further than one page: only what is newest
	events = 0
	most := 0
	for got := (frame{}); got.id != fmt.Sprint(max(last["a"], last["b"])); events++ {
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
	f := newFixture(t, consumer.Limits{StreamsPerToken: 1, Write: 200 * time.Millisecond})
	f.push("a")
	stuck := f.follow("?after=1")
	_ = stuck // nobody reads it
	var long []snapshot.Resource
	for n := range 100 {
		long = append(long, text(fmt.Sprint("/", n, strings.Repeat("x", 2000)), ""))
	}
	for end := time.Now().Add(patience); ; { // more than any buffer holds
		f.push("a", long...)
		f.push("a")
		resp := f.do("GET", "/api/v0/events?after=1", "")
		_ = resp.Body.Close()
		if resp.StatusCode == 200 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("a reader that reads nothing is kept")
		}
	}
}

// TestPatience has a server with deadlines far shorter than what waits.
func TestPatience(t *testing.T) {
	for name, start := range map[string]func(*httptest.Server){
		"HTTP/1.1": (*httptest.Server).Start,
		"HTTP/2.0": func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() },
	} {
		t.Run(name, func(t *testing.T) { testPatience(t, name, start) })
	}
}

func testPatience(t *testing.T, protocol string, start func(*httptest.Server)) {
	const short = 100 * time.Millisecond
	f := newFixture(t, consumer.Limits{Heartbeat: 3 * short})
	impatient := httptest.NewUnstartedServer(f.api)
	impatient.Config.ReadTimeout, impatient.Config.WriteTimeout = short, short
	start(impatient)
	t.Cleanup(impatient.Close)
	t.Cleanup(func() { _ = f.api.Close() })
	f.server.URL, f.transport = impatient.URL, impatient.Client().Transport
	f.push("a")
	r := f.follow("?after=1")
	if r.resp.Proto != protocol {
		t.Fatalf("it is %s", r.resp.Proto)
	}
	waiting := make(chan string)
	go func() { waiting <- f.want(200, "GET", "/api/v0/agents/a/context?wait=1m&after=1", "") }()
	for range 3 { // each comes when both deadlines have long passed
		if got, ok := r.next(); !ok || !got.comment {
			t.Fatalf("%v, %v", got, ok)
		}
	}
	f.push("a", text("/w/x", "2"))
	r.want("context@2")
	if body := <-waiting; !strings.Contains(body, `"revision":2`) {
		t.Errorf("waited for %s", body)
	}
}

// TestStreams bounds the streams of all.
func TestStreams(t *testing.T) {
	f := newFixture(t, consumer.Limits{Streams: 3})
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
