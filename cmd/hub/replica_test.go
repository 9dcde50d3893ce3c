package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"waymark/host/push"
	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/store/drivers"
	"waymark/snapshot"
	"waymark/test/pgtest"
)

// balancer spreads connections over those hubs that take them.
type balancer struct {
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex // guards the rest
	targets []string
	next    int
	open    []net.Conn
	ended   bool
}

func newBalancer(t *testing.T, targets ...string) *balancer {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{listener: listener, targets: targets}
	b.running.Go(b.serve)
	t.Cleanup(func() {
		_ = listener.Close()
		b.mu.Lock()
		b.ended = true
		for _, conn := range b.open {
			_ = conn.Close()
		}
		b.mu.Unlock()
		b.running.Wait()
	})
	return b
}

func (b *balancer) serve() {
	for {
		near, err := b.listener.Accept()
		if err != nil {
			return
		}
		far := b.dial()
		if far == nil {
			_ = near.Close()
			continue
		}
		b.mu.Lock()
		b.open = append(b.open, near, far)
		if b.ended { // and nobody closes them any more
			_, _ = near.Close(), far.Close()
		}
		b.mu.Unlock()
		for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
			b.running.Go(func() {
				_, _ = io.Copy(pair[0], pair[1])
				_, _ = near.Close(), far.Close()
			})
		}
	}
}

func (b *balancer) dial() net.Conn {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.targets {
		b.next = (b.next + 1) % len(b.targets)
		if conn, err := net.Dial("tcp", b.targets[b.next]); err == nil {
			return conn
		}
	}
	return nil
}

func (b *balancer) set(i int, target string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.targets[i] = target
}

// TestReplicaKilled kills one of two hubs over one PostgreSQL, again and again
// while agents push: they go on with the other one, where everything that was
// acknowledged is, and nothing older replaces it.
func TestReplicaKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs PostgreSQL")
	}
	db, dir := pgtest.Start(t, pgtest.Options{}).URL("postgres"), t.TempDir()
	st, err := drivers.Open(t.Context(), db, drivers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var replicas [2]*hubProcess
	start := func(i int) string {
		replicas[i] = startHub(t, db, "127.0.0.1:0", filepath.Join(dir, fmt.Sprint(i)))
		return strings.TrimPrefix(replicas[i].http, "http://")
	}
	both := newBalancer(t, start(0), start(1))
	defer func() { replicas[0].kill(); replicas[1].kill() }()

	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	accepted := make(chan struct{})
	var agents []*busyAgent
	for i := range 4 {
		a := &busyAgent{id: fmt.Sprint("agent-", i), published: map[uint64]*snapshot.Snapshot{}}
		token, _, err := hub.CreateToken(t.Context(), st, store.NewToken{Role: store.RoleAgent, AgentID: a.id})
		if err != nil {
			t.Fatal(err)
		}
		opts, err := push.Remote("http://"+both.listener.Addr().String(), push.RemoteOptions{Token: token})
		if err != nil {
			t.Fatal(err)
		}
		opts.MinBackoff, opts.MaxBackoff = 5*time.Millisecond, 50*time.Millisecond
		a.pusher = push.New(opts)
		running.Go(func() { _ = a.pusher.Run(ctx) })
		running.Go(func() { a.run(ctx, accepted) })
		agents = append(agents, a)
	}
	for round := range 6 {
		awaitPushes(t, accepted, agents, 20)
		replicas[round%2].kill()
		awaitPushes(t, accepted, agents, 20) // by the other one
		for _, a := range agents {
			a.check(t, st)
		}
		both.set(round%2, start(round%2))
	}
}

// awaitPushes waits for so many pushes.
func awaitPushes(t *testing.T, accepted <-chan struct{}, agents []*busyAgent, n int) {
	t.Helper()
	timeout := time.NewTimer(4 * time.Minute)
	defer timeout.Stop()
	for range n {
		select {
		case <-accepted:
		case <-timeout.C:
			t.Fatalf("nothing is accepted any more; the agents say %q and %q",
				agents[0].pusher.Status().LastError, agents[1].pusher.Status().LastError)
		}
	}
}
