package process_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waymark/agent/server"
	"waymark/agent/server/servertest"
	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/workspace/access"
	"waymark/workspace/process"
	"waymark/workspace/supervisor"
)

// double is a supervisor with one process, whose time is the bubble's.
type double struct {
	supervisor.Client // nil: what a test doesn't expect
	mu                sync.Mutex
	output            []byte
	over              bool
	changed           chan struct{} // closed and replaced at each change
	waiting           int
}

func newDouble() *double { return &double{changed: make(chan struct{})} }

// write has the process write; end ends it.
func (d *double) write(text string, end bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.output, d.over = append(d.output, text...), end
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *double) now() (supervisor.Info, []byte, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	info := supervisor.Info{Length: int64(len(d.output))}
	info.ID, info.Running = "1", !d.over
	if code := 0; d.over {
		info.ExitCode = &code
	}
	return info, d.output[:len(d.output):len(d.output)], d.changed
}

func (d *double) count(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting += n
}

func (d *double) Get(context.Context, string) (supervisor.Info, error) {
	info, _, _ := d.now()
	return info, nil
}

func (d *double) Wait(ctx context.Context, _ string) (supervisor.Info, error) {
	d.count(1)
	defer d.count(-1)
	for {
		info, _, changed := d.now()
		if !info.Running {
			return info, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return info, ctx.Err()
		}
	}
}

func (d *double) Read(ctx context.Context, _ string, offset int64, limit int, wait time.Duration) (supervisor.Page, error) {
	d.count(1)
	defer d.count(-1)
	over := time.After(wait)
	for {
		info, output, changed := d.now()
		page := supervisor.Page{Info: info, Offset: offset, Length: info.Length}
		if offset < info.Length {
			page.Data = output[offset:min(info.Length, offset+int64(limit))]
		}
		if len(page.Data) > 0 || !info.Running || wait <= 0 {
			return page, nil
		}
		select {
		case <-changed:
		case <-over:
			wait = 0
		case <-ctx.Done():
			return page, ctx.Err()
		}
	}
}

// memory is a listener whose connections are in memory.
type memory struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}
func (m *memory) Close() error   { m.once.Do(func() { close(m.closed) }); return nil }
func (m *memory) Addr() net.Addr { return &net.UnixAddr{Name: "a.sock", Net: "unix"} }

// unix is an end in memory that looks like one of a socket.
type unix struct{ net.Conn }

func (unix) LocalAddr() net.Addr { return &net.UnixAddr{Name: "a.sock", Net: "unix"} }

// served serves a service as the agent does, until stop.
type served struct {
	t    *testing.T
	l    *memory
	stop func()
	done chan error
}

func serve(t *testing.T, d *double) *served {
	t.Helper()
	service := process.New(process.Options{Supervisor: d})
	ctx, cancel := context.WithCancel(context.Background())
	s := &served{t: t, l: &memory{conns: make(chan net.Conn), closed: make(chan struct{})}, stop: cancel, done: make(chan error, 1)}
	handler := server.New(server.Options{Backend: servertest.New(), Guard: access.Guard, Services: []httpapi.Service{service.Service()}})
	go func() { s.done <- (&httpapi.Server{Handler: handler}).Serve(ctx, s.l) }()
	return s
}

func (s *served) end() {
	s.stop()
	if err := <-s.done; err != nil {
		s.t.Error(err)
	}
}

// ask sends a request on a connection of its own.
func (s *served) ask(query string) net.Conn {
	here, there := net.Pipe()
	s.l.conns <- unix{there}
	_, err := fmt.Fprintf(here, "GET %s/1/output?%s HTTP/1.1\r\nHost: agent\r\n\r\n", agentapi.PathProcesses, query)
	if err != nil {
		s.t.Fatal(err)
	}
	return here
}

// answer reads the answer to a request.
func (s *served) answer(conn net.Conn) (int, agentapi.ProcessOutput) {
	s.t.Helper()
	defer func() { _ = conn.Close() }()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var out agentapi.ProcessOutput
	if err := json.Unmarshal(data, &out); err != nil {
		s.t.Fatalf("%s: %v", data, err)
	}
	return resp.StatusCode, out
}

// TestWaits: a wait lasts until the end, or for 5 minutes, longer than the server
// gives other answers.
func TestWaits(t *testing.T) {
	for _, c := range []struct {
		query   string
		ends    time.Duration // after which the process ends; it has written then
		want    time.Duration
		running bool
	}{
		{"wait=true", 4 * time.Minute, 4 * time.Minute, false},
		{"wait=true", 10 * time.Minute, 5 * time.Minute, true},
		{"wait=true&wait_ms=60000", 10 * time.Minute, time.Minute, true},
		{"wait=true&wait_ms=3600000", 10 * time.Minute, 5 * time.Minute, true},
		{"offset=0&wait_ms=240000", 3 * time.Minute, 3 * time.Minute, false},
		{"offset=0&wait_ms=240000", 10 * time.Minute, 4 * time.Minute, true},
		{"offset=0&wait=true", 3 * time.Minute, 3 * time.Minute, false},
		{"offset=0", 3 * time.Minute, 0, true},
		{"wait_ms=0", 3 * time.Minute, 0, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newDouble()
			s := serve(t, d)
			begun := time.Now()
			timer := time.AfterFunc(c.ends, func() { d.write("end\n", true) })
			code, out := s.answer(s.ask(c.query))
			if took := time.Since(begun); code != 200 || took != c.want || out.Running != c.running || !c.running && out.Output != "end\n" {
				t.Errorf("%s, ending after %s: %d %+v after %s", c.query, c.ends, code, out, took)
			}
			timer.Stop()
			s.end()
		})
	}
}

// TestWaitersWake: all who wait for the same are told.
func TestWaitersWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDouble()
		s := serve(t, d)
		one, two, three := s.ask("wait=true"), s.ask("wait=true"), s.ask("offset=0&wait_ms=300000")
		synctest.Wait()
		d.write("x", true)
		for _, conn := range []net.Conn{one, two, three} {
			if code, out := s.answer(conn); code != 200 || out.Running || out.Output != "x" {
				t.Errorf("%d %+v", code, out)
			}
		}
		s.end()
	})
}

// TestWaiterGoes: nothing waits for a client that is gone, and a server that stops
// says so.
func TestWaiterGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDouble()
		s := serve(t, d)
		gone, stays := s.ask("wait=true"), s.ask("offset=0&wait_ms=300000")
		synctest.Wait()
		_ = gone.Close()
		synctest.Wait()
		if d.waiting != 1 {
			t.Errorf("%d wait", d.waiting)
		}
		s.stop()
		if code, _ := s.answer(stays); code != 503 {
			t.Errorf("when the server stops: %d", code)
		}
		s.end()
	})
}

// TestTooManyWait: more than can wait are refused, and the others aren't.
func TestTooManyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDouble()
		s := serve(t, d)
		var conns []net.Conn
		for range 160 {
			conns = append(conns, s.ask("wait=true"))
		}
		synctest.Wait()
		if code, _ := s.answer(s.ask("wait=true")); code != 429 {
			t.Errorf("one more: %d", code)
		}
		if code, _ := s.answer(s.ask("")); code != 200 {
			t.Errorf("one that doesn't wait: %d", code)
		}
		d.write("", true)
		for _, conn := range conns {
			if code, _ := s.answer(conn); code != 200 {
				t.Errorf("one that waited: %d", code)
			}
		}
		s.end()
	})
}

// TestHalfRune: a page waits for the other half of a rune, and shows what it has
// when that doesn't come.
func TestHalfRune(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDouble()
		s := serve(t, d)
		d.write("\xe2\x82", false)
		if _, out := s.answer(s.ask("offset=0")); out.Output != "" || *out.NextOffset != 0 {
			t.Errorf("at once: %+v", out)
		}
		begun := time.Now()
		if _, out := s.answer(s.ask("offset=0&wait_ms=1000")); out.Output != "" || *out.NextOffset != 0 || time.Since(begun) != time.Second {
			t.Errorf("after a second: %+v", out)
		}
		time.AfterFunc(time.Second, func() { d.write("\xac!", false) })
		if _, out := s.answer(s.ask("offset=0&wait_ms=5000&limit=1")); out.Output != "€" || *out.NextOffset != 3 {
			t.Errorf("when the rest comes: %+v", out)
		}
		d.write("\xf0\x9f", false)
		if _, out := s.answer(s.ask("offset=3")); out.Output != "!" || *out.NextOffset != 4 {
			t.Errorf("before the next: %+v", out)
		}
		d.write("", true)
		if _, out := s.answer(s.ask("offset=4&wait_ms=5000")); out.Output != "\uFFFD\uFFFD" || *out.NextOffset != 6 {
			t.Errorf("at the end: %+v", out)
		}
		if _, out := s.answer(s.ask("")); !strings.HasPrefix(out.Output, "€!") || out.Truncated != nil {
			t.Errorf("all: %+v", out)
		}
		s.end()
	})
}
