package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waymark/agent/server"
	"waymark/agent/server/servertest"
	"waymark/internal/httpapi"
)

// TestLongWait: a request may wait for longer than the deadlines of others, on
// a connection that had some of these, and has time to be read after that.
func TestLongWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := servertest.New()
		r := run(t, f, httpapi.Server{})
		c := r.dial()
		in := bufio.NewReader(c)
		exchange := func(line string) *http.Response {
			send(t, c, line)
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			return resp
		}
		exchange("GET " + statusPath)
		start := time.Now()
		if resp := exchange("GET " + snapshotPath + "?wait=4m&after=1"); resp.StatusCode != 200 || time.Since(start) != 4*time.Minute {
			t.Errorf("got %d after %s", resp.StatusCode, time.Since(start))
		}
		exchange("GET " + statusPath)
		_ = c.Close()
		r.end(t)
	})
}

// TestClientGoes: a request whose client has gone ends at once.
func TestClientGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := servertest.New()
		f.Block = true
		ended := make(chan error, 1)
		h := server.New(server.Options{Backend: f})
		r := run(t, f, httpapi.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(w, r)
			ended <- r.Context().Err()
		})})
		c := r.dial()
		send(t, c, "POST "+resyncPath+"?timeout=4m")
		synctest.Wait()
		start := time.Now()
		_ = c.Close()
		if err := <-ended; err == nil || time.Since(start) > time.Second {
			t.Errorf("the request ends with %v after %s", err, time.Since(start))
		}
		r.end(t)
	})
}

// TestStop: requests that wait are answered at once, and the end doesn't take
// long, whatever clients do.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := servertest.New()
		f.Block = true
		r := run(t, f, httpapi.Server{})
		waiting, resyncing, silent := r.dial(), r.dial(), r.dial()
		send(t, waiting, "GET "+snapshotPath+"?wait=4m&after=1")
		send(t, resyncing, "POST "+resyncPath)
		if _, err := io.WriteString(silent, "GET "); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		r.stop()
		for _, c := range []net.Conn{waiting, resyncing} {
			resp := receive(c)
			if resp == nil || resp.StatusCode != 503 || !resp.Close {
				t.Errorf("got %v", resp)
			}
			_ = c.Close()
		}
		if err := <-r.done; err != nil || time.Since(start) > time.Second {
			t.Errorf("Serve: %v after %s", err, time.Since(start))
		}
		_ = silent.Close()
	})
}

// TestManyConnections: a client that leaks them doesn't take all descriptors.
func TestManyConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t, servertest.New(), httpapi.Server{MaxConns: 2})
		first, second := r.dial(), r.dial()
		third := make(chan net.Conn)
		go func() { third <- r.dial() }()
		synctest.Wait()
		select {
		case <-third:
			t.Fatal("a third connection is taken")
		default:
		}
		_ = first.Close()
		c := <-third
		send(t, c, "GET "+healthPath, "Connection: close\r\n")
		if resp := receive(c); resp == nil || resp.StatusCode != 200 {
			t.Errorf("got %v", resp)
		}
		_, _ = io.Copy(io.Discard, c)
		_, _ = second.Close(), c.Close()
		r.end(t)
	})
}

// TestBigHeader: it is refused before anything is made of it.
func TestBigHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t, servertest.New(), httpapi.Server{})
		c := r.dial()
		go func() { // it is cut off while it writes
			_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: a\r\nX: "+strings.Repeat("x", 64<<10)+"\r\n\r\n")
		}()
		if resp := receive(c); resp == nil || resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("got %v", resp)
		}
		_ = c.Close()
		r.end(t)
	})
}

// TestPanicOverTheWire: the connection of an answer that has begun is cut, and
// the next one served.
func TestPanicOverTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := servertest.New()
		h := server.New(server.Options{Backend: f, Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(strings.Repeat("half", 1<<12)))
			panic("oops")
		})})
		r := run(t, f, httpapi.Server{Handler: h})
		c := r.dial()
		send(t, c, "GET "+metricsPath)
		resp := receive(c)
		if resp == nil || resp.StatusCode != 200 {
			t.Fatalf("got %v", resp)
		}
		if _, err := io.ReadAll(resp.Body); err == nil {
			t.Error("half an answer looks whole")
		}
		c = r.dial()
		send(t, c, "GET "+healthPath)
		if resp := receive(c); resp == nil || resp.StatusCode != 200 {
			t.Errorf("the next one gets %v", resp)
		}
		_ = c.Close()
		r.end(t)
	})
}

// TestServe serves a real socket with everything at its defaults.
func TestServe(t *testing.T) {
	path := socket(t)
	l, err := server.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- (&httpapi.Server{Handler: server.New(server.Options{Backend: servertest.New()})}).Serve(ctx, l)
	}()
	var resp *http.Response
	for try := 0; resp == nil && try < 10; try++ { // a machine that stands still for some seconds is a slow client
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		send(t, c, "GET "+encodedSource)
		resp = receive(c)
		_ = c.Close()
	}
	if resp == nil || resp.StatusCode != 200 {
		t.Errorf("got %v", resp)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	closed, err := server.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	none := httpapi.Server{Handler: http.NotFoundHandler()}
	if err := none.Serve(t.Context(), closed); err == nil {
		t.Error("a listener that is closed can be served")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	again, err := server.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := none.Serve(ended, again); err != nil {
		t.Error(fmt.Errorf("a context that has ended: %w", err))
	}
}
