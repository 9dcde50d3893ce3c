package e2e_test

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"waymark/agentapi/status"
	"waymark/host/push"
	"waymark/test/process"
	"waymark/test/testenv"
)

// cutter stands between agent and hub, and cuts each connection when so many
// bytes have gone to the hub; once the list is used up it cuts no more.
type cutter struct {
	listener net.Listener
	backend  string
	runs     sync.WaitGroup

	mu    sync.Mutex // guards the rest
	cuts  []int64
	open  []net.Conn
	ended bool
}

func newCutter(t *testing.T, dir, backend string, cuts ...int64) *cutter {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(dir, "cut.sock"))
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{listener: l, backend: strings.TrimPrefix(backend, "unix:"), cuts: cuts}
	c.runs.Go(c.accept)
	t.Cleanup(c.close)
	return c
}

func (c *cutter) url() string { return "unix:" + c.listener.Addr().String() }

func (c *cutter) close() {
	_ = c.listener.Close()
	c.mu.Lock()
	c.ended = true
	for _, conn := range c.open {
		_ = conn.Close()
	}
	c.mu.Unlock()
	c.runs.Wait()
}

func (c *cutter) accept() {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return
		}
		back, err := net.Dial("unix", c.backend)
		if err != nil {
			_ = conn.Close()
			continue
		}
		c.serve(conn, back)
	}
}

// serve copies in both directions until the budget is used up.
func (c *cutter) serve(conn, back net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		_, _ = conn.Close(), back.Close()
		return
	}
	c.open = append(c.open, conn, back)
	budget := int64(1) << 60
	if len(c.cuts) > 0 {
		budget, c.cuts = c.cuts[0], c.cuts[1:]
	}
	end := func() { _, _ = conn.Close(), back.Close() }
	c.runs.Go(func() {
		defer end()
		_, _ = io.CopyN(back, conn, budget)
	})
	c.runs.Go(func() {
		defer end()
		_, _ = io.Copy(conn, back)
	})
}

// left is how many cuts are still to come.
func (c *cutter) left() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.cuts)
}

// TestConnectionCut: a connection that breaks in the middle of a push stores
// nothing of it, and the next one brings all.
func TestConnectionCut(t *testing.T) {
	t.Parallel()
	w := newWorld(t).withHub()
	r := testenv.Rand(t)
	for i := range 20 { // some 300 KiB, so that a whole push is several writes
		name := strings.Repeat("x", i+1)
		w.put(filepath.Join(w.root, "skills", name, "SKILL.md"), "---\nname: "+name+"\n---\n"+strings.Repeat("text\n", 3000))
	}
	// In the first push twice; after it, in or between the changes; at once.
	c := newCutter(t, w.home.Dir, w.url, int64(1+r.IntN(200_000)), int64(100_000+r.IntN(150_000)),
		int64(330_000+r.IntN(20_000)), 0, int64(310_000+r.IntN(60_000)))
	w.url = c.url()
	agent := w.start()
	e := newEditor(t, r, w.root)
	for deadline := time.Now().Add(timeout); c.left() > 0 || e.n < 100; {
		e.edit()
		w.must(process.Pause(w.ctx, time.Duration(e.IntN(40))*time.Millisecond))
		if time.Now().After(deadline) {
			t.Fatalf("%d cuts are left: nothing is pushed any more", c.left())
		}
	}
	w.settles(w.root)
	w.await("that it is connected", connected)
	metrics, err := agent.Client.Metrics(w.ctx)
	w.must(err)
	if !strings.Contains(string(metrics), `waymark_pushes_total{result="lost"} `) {
		t.Error("no lost push is told of")
	}
	w.stop(agent)
}

// TestNoHub: an agent whose hub was never there says so, and pushes when it
// comes.
func TestNoHub(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(filepath.Join(w.root, "AGENTS.md"), "# One\n")
	w.put(filepath.Join(w.home.Dir, "token"), "wma_none")
	w.url, w.token = "unix:"+filepath.Join(w.home.Dir, "hub.sock"), filepath.Join(w.home.Dir, "token")
	agent := w.start()
	w.await("that there is no hub", func(s *status.Status) bool {
		return s.Version == 1 && s.Push.State == push.StateBackingOff && strings.Contains(s.Push.LastError, "hub.sock")
	})
	w.withHub() // which doesn't know the token
	w.await("that the token is no good", func(s *status.Status) bool { return s.Push.State == push.StateUnauthorized })
	w.stop(agent)
	agent = w.start()
	w.settles(w.root)
	w.stop(agent)
}
