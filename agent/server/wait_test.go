package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waymark/agent/server"
	"waymark/agent/server/servertest"
	"waymark/snapshot"
	"waymark/test/openapitest"
)

// asked is a request that is answered in the background.
type asked struct {
	done chan struct{}
	resp *http.Response
}

func ask(h http.Handler, r *http.Request) *asked {
	a := &asked{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.resp = serve(h, r)
	}()
	return a
}

// isWaiting reports whether there is no answer although nothing else goes on.
func (a *asked) isWaiting() bool {
	synctest.Wait()
	select {
	case <-a.done:
		return false
	default:
		return true
	}
}

// TestWait: a waiting request is answered as soon as there is something newer.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := servertest.New()
		h := server.New(server.Options{Backend: f})
		first := serve(h, request("GET", snapshotPath, ""))
		etag := first.Header.Get("ETag")

		byVersion := ask(h, request("GET", snapshotPath+"?wait=1m&after=1", ""))
		byTag := ask(h, request("GET", snapshotPath+"?wait=1m", "", "If-None-Match", etag))
		weak := ask(h, request("GET", snapshotPath+"?wait=1m", "", "If-None-Match", `"other", W/`+etag))
		anything := ask(h, request("GET", snapshotPath+"?wait=1m", "", "If-None-Match", "*"))
		all := []*asked{byVersion, byTag, weak, anything}
		for i, a := range all {
			if !a.isWaiting() {
				t.Fatalf("request %d doesn't wait: %d", i, a.resp.StatusCode)
			}
		}
		start := time.Now()
		f.Publish("# More\n")
		for i, a := range all {
			<-a.done
			if a.resp.StatusCode != 200 && i != 3 || a.resp.Header.Get("ETag") == etag {
				t.Errorf("request %d: got %d, ETag %s", i, a.resp.StatusCode, a.resp.Header.Get("ETag"))
			}
		}
		if time.Since(start) != 0 {
			t.Errorf("the answers come %s after the snapshot", time.Since(start))
		}
	})
}

// TestWaitEnds: when the time is up, who has an ETag hears that nothing is new,
// and who has none gets what there is.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := server.New(server.Options{Backend: servertest.New(), MaxWait: 2 * time.Minute})
		etag := serve(h, request("GET", snapshotPath, "")).Header.Get("ETag")
		start := time.Now()
		resp := serve(h, request("GET", snapshotPath+"?wait=30s&after=1", ""))
		if resp.StatusCode != 200 || time.Since(start) != 30*time.Second {
			t.Errorf("without an ETag: got %d after %s", resp.StatusCode, time.Since(start))
		}
		start = time.Now()
		resp = serve(h, request("GET", snapshotPath+"?wait=10h", "", "If-None-Match", etag))
		if resp.StatusCode != 304 || time.Since(start) != 2*time.Minute {
			t.Errorf("with an ETag, and longer than is allowed: got %d after %s", resp.StatusCode, time.Since(start))
		}
	})
}

// TestWaitForDiscovery: who asks for what is complete isn't answered with what isn't,
// unless the time is up; for whoever else nothing is different.
func TestWaitForDiscovery(t *testing.T) {
	doc := openapitest.Load(t, openapitest.Document(t, server.Service(servertest.New())))
	synctest.Test(t, func(t *testing.T) {
		const complete = "?wait=1m&discovery=complete"
		f := &servertest.Backend{Discovery: snapshot.Discovery{Phase: snapshot.PhasePending, Sources: snapshot.SourceOutcomes{
			{ID: "mcp_server:/w/.mcp.json#a", Name: "a", Outcome: snapshot.OutcomePending},
		}}}
		h := server.New(server.Options{Backend: f})
		early := serve(h, request("GET", snapshotPath, ""))
		doc.Check(t, request("GET", snapshotPath, ""), snapshotPath, early)
		if got := discoveryIn(t, early); !got.Pending() || early.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("before the first snapshot: %+v, Cache-Control %q", got, early.Header.Get("Cache-Control"))
		}
		first := ask(h, request("GET", snapshotPath+"?wait=1m", ""))
		whole := ask(h, request("GET", snapshotPath+complete, ""))
		f.Publish("# One\n")
		if <-first.done; !discoveryIn(t, first.resp).Pending() {
			t.Error("who waits for any snapshot isn't answered with the first")
		}
		if !whole.isWaiting() {
			t.Fatal("what is pending is taken for complete")
		}
		tag := first.resp.Header.Get("ETag")
		next := ask(h, request("GET", snapshotPath+complete, "", "If-None-Match", tag))

		start := time.Now()
		resp := serve(h, request("GET", snapshotPath+"?wait=10s&discovery=complete", ""))
		doc.Check(t, request("GET", snapshotPath+"?wait=10s&discovery=complete", ""), snapshotPath, resp)
		if resp.StatusCode != 200 || !discoveryIn(t, resp).Pending() || time.Since(start) != 10*time.Second {
			t.Errorf("got %d after %s", resp.StatusCode, time.Since(start))
		}
		if resp := serve(h, request("GET", snapshotPath+"?wait=10s&discovery=complete", "", "If-None-Match", tag)); resp.StatusCode != 304 {
			t.Errorf("who has it gets %d", resp.StatusCode)
		}

		f.Publish("# Two\n")
		if !whole.isWaiting() || !next.isWaiting() {
			t.Fatal("a newer one that is pending is taken for complete")
		}
		f.Discovery = snapshot.Discovery{Phase: snapshot.PhaseComplete}
		f.Publish("# Two\n")
		for _, a := range []*asked{whole, next} {
			if <-a.done; a.resp.StatusCode != 200 || discoveryIn(t, a.resp).Pending() {
				t.Errorf("got %d", a.resp.StatusCode)
			}
		}
		start = time.Now()
		if resp := serve(h, request("GET", snapshotPath+complete, "")); resp.StatusCode != 200 || time.Since(start) != 0 {
			t.Errorf("what is complete comes after %s", time.Since(start))
		}
		if resp := serve(h, request("GET", snapshotPath+"?discovery=pending", "")); resp.StatusCode != 400 {
			t.Errorf("another word is answered with %d", resp.StatusCode)
		}
	})
}

func discoveryIn(t *testing.T, resp *http.Response) snapshot.Discovery {
	t.Helper()
	var s snapshot.Snapshot
	data, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		t.Error(err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return s.Discovery
}

// TestWaitKnowsLives: versions and ETags of an agent that was restarted don't
// hold an answer back.
func TestWaitKnowsLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := serve(server.New(server.Options{Backend: servertest.New()}), request("GET", snapshotPath, "")).Header.Get("ETag")
		h := server.New(server.Options{Backend: servertest.New()})
		start := time.Now()
		for _, r := range []*http.Request{
			request("GET", snapshotPath+"?wait=1m", "", "If-None-Match", old), // the same version, of another life
			request("GET", snapshotPath+"?wait=1m&after=1", "", "If-None-Match", old),
			request("GET", snapshotPath+"?wait=1m&after=7", ""),
			request("GET", snapshotPath+"?wait=1m", ""),
		} {
			resp := serve(h, r)
			if resp.StatusCode != 200 || time.Since(start) != 0 || resp.Header.Get("ETag") == old {
				t.Errorf("%s: got %d after %s", r.URL, resp.StatusCode, time.Since(start))
			}
		}

		// While there is no snapshot at all, the first one is waited for.
		f := &servertest.Backend{}
		waiting := ask(server.New(server.Options{Backend: f}), request("GET", snapshotPath+"?wait=1m&after=7", "", "If-None-Match", old))
		if !waiting.isWaiting() {
			t.Fatal("version 0 is taken for news")
		}
		f.Publish("# First\n")
		if <-waiting.done; waiting.resp.StatusCode != 200 {
			t.Errorf("got %d for the first snapshot", waiting.resp.StatusCode)
		}
	})
}

// TestWaitsAreBounded: those over the bound are refused, and the others not
// harmed.
func TestWaitsAreBounded(t *testing.T) {
	doc := openapitest.Load(t, openapitest.Document(t, server.Service(servertest.New())))
	synctest.Test(t, func(t *testing.T) {
		f := servertest.New()
		h := server.New(server.Options{Backend: f, MaxWaits: 3})
		var waiting []*asked
		for range 3 {
			waiting = append(waiting, ask(h, request("GET", snapshotPath+"?wait=1m&after=1", "")))
		}
		synctest.Wait()
		for path, r := range map[string]*http.Request{
			snapshotPath: request("GET", snapshotPath+"?wait=1m&after=1", ""),
			resyncPath:   request("POST", resyncPath, ""),
		} {
			resp := serve(h, r)
			doc.Check(t, r, path, resp)
			if resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" {
				t.Errorf("%s: got %d", path, resp.StatusCode)
			}
		}
		if resp := serve(h, request("GET", snapshotPath, "")); resp.StatusCode != 200 {
			t.Errorf("who doesn't wait gets %d", resp.StatusCode)
		}
		f.Publish("# More\n")
		for _, a := range waiting {
			if <-a.done; a.resp.StatusCode != 200 {
				t.Errorf("a waiting request gets %d", a.resp.StatusCode)
			}
		}
		if resp := serve(h, request("POST", resyncPath, "")); resp.StatusCode != 200 {
			t.Errorf("a place isn't given back: %d", resp.StatusCode)
		}
	})
}

// TestDeadlines: 504 on the caller's deadline, on the agent's own, and when the
// client goes away; 503 when the agent stops in between.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := servertest.New()
		f.Block = true
		h := server.New(server.Options{Backend: f, Timeout: 20 * time.Second})
		for _, c := range []struct {
			r     *http.Request
			after time.Duration
		}{
			{request("POST", resyncPath+"?timeout=10s", ""), 10 * time.Second},
			{request("POST", resyncPath+"?timeout=0s", ""), 0},
			{request("POST", resyncPath, ""), 20 * time.Second},
			{request("POST", readyPath, ""), 20 * time.Second},
			{request("DELETE", encodedSource, ""), 20 * time.Second},
		} {
			start := time.Now()
			resp := serve(h, c.r)
			if resp.StatusCode != 504 || time.Since(start) != c.after {
				t.Errorf("%s: got %d after %s", c.r.URL, resp.StatusCode, time.Since(start))
			}
		}
		for cause, code := range map[error]int{context.Canceled: 504, server.ErrStopping: 503} {
			for _, r := range []*http.Request{
				request("POST", resyncPath, ""), request("GET", snapshotPath+"?wait=1m&after=1", ""), request("POST", retryPath, ""),
			} {
				ctx, cancel := context.WithCancelCause(r.Context())
				a := ask(h, r.WithContext(ctx))
				if !a.isWaiting() {
					t.Fatalf("%s doesn't wait", r.URL)
				}
				cancel(cause)
				if <-a.done; a.resp.StatusCode != code {
					t.Errorf("%s, %v: got %d", r.URL, cause, a.resp.StatusCode)
				}
			}
		}
	})
}

// TestResyncTogether: many at once, while snapshots come and others read. Each
// gets a snapshot not older than the newest before it asked.
func TestResyncTogether(t *testing.T) {
	f := servertest.New()
	var text atomic.Int64
	var publish sync.Mutex
	f.During = func() {
		publish.Lock()
		defer publish.Unlock()
		f.Publish("# " + strconv.FormatInt(text.Add(1), 10) + "\n")
	}
	h := server.New(server.Options{Backend: f})
	var g sync.WaitGroup
	for range 16 {
		g.Go(func() {
			for range 20 {
				before := f.Current().Version
				resp := serve(h, request("POST", resyncPath, ""))
				_, version, _ := strings.Cut(strings.Trim(resp.Header.Get("ETag"), `"`), "-")
				if n, err := strconv.ParseUint(version, 10, 64); err != nil || n <= before || resp.StatusCode != 200 {
					t.Errorf("got %d, ETag %s, after version %d", resp.StatusCode, resp.Header.Get("ETag"), before)
				}
			}
		})
		g.Go(func() {
			for range 20 {
				if resp := serve(h, request("GET", snapshotPath+"?wait=1m&after=0", "")); resp.StatusCode != 200 {
					t.Errorf("snapshot: got %d", resp.StatusCode)
				}
			}
		})
	}
	g.Wait()
	if v := f.Current().Version; v != 16*20+1 {
		t.Errorf("version %d after %d resyncs", v, 16*20)
	}
}

// TestPanic: it costs one request, whatever is thrown, and nothing of it is
// shown to the client.
func TestPanic(t *testing.T) {
	f := servertest.New()
	h := server.New(server.Options{Backend: f})
	for _, p := range []any{"secret", errors.New("secret"), 7} {
		f.Panic = p
		resp := serve(h, request("GET", statusPath, ""))
		if text := body(t, resp); resp.StatusCode != 500 || strings.Contains(text, "secret") || !strings.Contains(text, "message") {
			t.Errorf("got %d %s", resp.StatusCode, text)
		}
	}
	f.Panic = nil
	if resp := serve(h, request("GET", statusPath, "")); resp.StatusCode != 200 {
		t.Errorf("afterwards: got %d", resp.StatusCode)
	}

	// An answer that has begun is cut.
	half := server.New(server.Options{Backend: f, Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half"))
		panic("oops")
	})})
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("got %v, want net/http's way to cut a connection", p)
		}
	}()
	half.ServeHTTP(httptest.NewRecorder(), request("GET", metricsPath, ""))
}
