package client_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"waymark/agent/server"
	"waymark/agent/server/servertest"
	"waymark/agentapi/client"
	"waymark/snapshot"
)

// event is what a Watch yields.
type event struct {
	s   *snapshot.Snapshot
	err error
}

// watch runs a Watch; its channel is closed when it has ended.
func watch(ctx context.Context, c client.Client, after uint64) <-chan event {
	events := make(chan event)
	go func() {
		defer close(events)
		for s, err := range c.Watch(ctx, after) {
			events <- event{s, err}
		}
	}()
	return events
}

// wantVersion takes the next event, which is a snapshot.
func wantVersion(t *testing.T, events <-chan event, version uint64) {
	t.Helper()
	if e := <-events; e.err != nil || e.s == nil || e.s.Version != version {
		t.Fatalf("got %v, %v, want version %d", e.s, e.err, version)
	}
}

// TestWatch: every snapshot comes, and the end is quiet.
func TestWatch(t *testing.T) {
	path, b := socket(t), &servertest.Backend{}
	defer start(t, path, b).end(t)
	ctx, cancel := context.WithCancel(t.Context())
	events := watch(ctx, client.New(path, client.Options{}), 0)
	b.Publish("# 1\n") // perhaps before the first question, perhaps after
	wantVersion(t, events, 1)
	b.Publish("# 2\n")
	wantVersion(t, events, 2)
	late := watch(ctx, client.New(path, client.Options{}), 2) // has the newest
	b.Publish("# 3\n")
	wantVersion(t, events, 3)
	wantVersion(t, late, 3)
	cancel()
	for _, ch := range []<-chan event{events, late} {
		if e, more := <-ch; more {
			t.Errorf("got %v, %v after the context's end", e.s, e.err)
		}
	}
}

// TestWatchBreak: a loop that is left leaves nothing behind.
func TestWatchBreak(t *testing.T) {
	path, b := socket(t), servertest.New()
	s := start(t, path, b)
	c := client.New(path, client.Options{Retry: time.Millisecond})
	for got, err := range c.Watch(t.Context(), 0) {
		if err != nil || got.Version != 1 {
			t.Errorf("got %v, %v", got, err)
		}
		break
	}
	n := 0
	for _, err := range c.Watch(t.Context(), 0) {
		if n++; n == 1 {
			s.end(t)
			continue
		}
		if err == nil {
			t.Error("a lost agent is no error")
		}
		break
	}
}

// TestWatchRestart: versions begin anew with the next agent; a snapshot of it
// is news even with the same or a lower version.
func TestWatchRestart(t *testing.T) {
	path := socket(t)
	first := servertest.New()
	first.Publish("# 2\n")
	first.Publish("# 3\n")
	s := start(t, path, first)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events := watch(ctx, client.New(path, client.Options{Retry: time.Millisecond}), 0)
	wantVersion(t, events, 3)
	s.end(t)
	if e := <-events; e.err == nil {
		t.Fatalf("got version %d of an agent that has ended", e.s.Version)
	}

	same := servertest.New()
	same.Publish("# 2\n")
	same.Publish("# 3\n")
	s = start(t, path, same)
	wantVersion(t, events, 3)
	s.end(t)
	if e := <-events; e.err == nil {
		t.Fatal("the second loss isn't told")
	}

	lower := servertest.New()
	s = start(t, path, lower)
	wantVersion(t, events, 1)
	lower.Publish("# 2\n")
	wantVersion(t, events, 2)
	cancel()
	for range events { // the loss, perhaps, if it comes first
	}
	s.end(t)

	// A version of an agent that is gone doesn't hold anything back.
	s = start(t, path, servertest.New())
	defer s.end(t)
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	events = watch(ctx, client.New(path, client.Options{}), 7)
	wantVersion(t, events, 1)
	cancel()
	for range events {
	}
}

// TestWatchRetries: what passes is waited out, told once for each outage; what
// doesn't is the end. A server that doesn't wait isn't asked without a pause.
func TestWatchRetries(t *testing.T) {
	path := socket(t)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	var etag atomic.Value // of what was answered last
	etag.Store("")
	h := server.New(server.Options{Backend: servertest.New(), MaxWait: 1})
	defer serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n := asked.Add(1); {
		case n <= 3:
			http.Error(w, `{"message":"the agent is stopping","detail":""}`, http.StatusServiceUnavailable)
		case n <= 20: // from the fifth on nothing new, at once
			if got := r.Header.Get("If-None-Match"); got != etag.Load() {
				t.Errorf("question %d comes with the ETag %q, want %q", n, got, etag.Load())
			}
			answer := httptest.NewRecorder() // noted before it is on its way
			h.ServeHTTP(answer, r)
			etag.Store(answer.Header().Get("ETag"))
			maps.Copy(w.Header(), answer.Header())
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes())
		case n == 21:
			panic(http.ErrAbortHandler)
		default:
			http.Error(w, `{"message":"no such route","detail":""}`, http.StatusNotFound)
		}
	})).end(t)
	var got []event
	start := time.Now()
	const pause = 10 * time.Millisecond // the shortest
	for s, err := range client.New(path, client.Options{Retry: 16 * pause}).Watch(t.Context(), 0) {
		got = append(got, event{s, err})
	}
	codes := make([]int, len(got))
	for i, e := range got {
		codes[i] = code(e.err)
	}
	// The 404 comes in the same outage as the cut connection, and is told since
	// it is the end.
	if len(got) != 4 || codes[0] != 503 || got[1].s == nil || got[2].err == nil || codes[2] != 0 || codes[3] != 404 {
		t.Errorf("got %v", got)
	}
	// Three failures, 10, 20 and 40 ms, 16 answers without news, and one failure.
	if d := time.Since(start); d < (1+2+4+16+1)*pause {
		t.Errorf("it asks without a pause: all of it took %s", d)
	}
	if errors.Is(got[len(got)-1].err, client.ErrNotRunning) {
		t.Error("somebody was there")
	}
}
