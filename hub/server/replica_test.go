package server_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waymark/host/push"
	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/store/postgres"
	"waymark/snapshot"
	"waymark/test/pgtest"
)

// door is a port that stays open while there is no hub behind it, since another
// program might take it: whoever comes then is turned away.
type door struct {
	listener net.Listener
	room     atomic.Pointer[room] // nil: there is no hub
}

// room is a listener whose connections others bring: that of the hub behind a
// door, for example.
type room struct {
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{} // closed by Close
	once  sync.Once
}

func newRoom(addr net.Addr) *room {
	return &room{addr: addr, conns: make(chan net.Conn), done: make(chan struct{})}
}

func newDoor(t *testing.T) *door {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{listener: listener}
	var open sync.WaitGroup
	open.Go(d.serve)
	t.Cleanup(func() {
		_ = listener.Close()
		open.Wait()
	})
	return d
}

func (d *door) serve() {
	for {
		conn, err := d.listener.Accept()
		if err != nil {
			return
		}
		r := d.room.Load()
		if r == nil {
			_ = conn.Close()
			continue
		}
		select {
		case r.conns <- conn:
		case <-r.done:
			_ = conn.Close()
		}
	}
}

// enter puts a hub behind the door.
func (d *door) enter() *room {
	r := newRoom(d.listener.Addr())
	d.room.Store(r)
	return r
}

// Addr implements net.Listener.
func (r *room) Addr() net.Addr { return r.addr }

// Accept implements net.Listener.
func (r *room) Accept() (net.Conn, error) {
	select {
	case conn := <-r.conns:
		return conn, nil
	case <-r.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (r *room) Close() error {
	r.once.Do(func() { close(r.done) })
	return nil
}

// replica is one of several hubs on one database. It keeps its address over
// restarts.
type replica struct {
	t        *testing.T
	database string
	door     *door
	addr     string
	store    store.Store
	hub      *hub.Hub
	server   *http.Server
	served   chan error
}

func startReplica(t *testing.T, database string) *replica {
	t.Helper()
	r := &replica{t: t, database: database, door: newDoor(t)}
	r.addr = r.door.listener.Addr().String()
	r.start()
	t.Cleanup(r.stop)
	return r
}

func (r *replica) start() {
	r.t.Helper()
	var err error
	if r.store, err = postgres.Open(context.Background(), r.database, postgres.Options{}); err != nil {
		r.t.Fatal(err)
	}
	if r.hub, err = hub.New(hub.Options{Store: r.store}); err != nil {
		r.t.Fatal(err)
	}
	r.server = &http.Server{Handler: r.hub.Handler(), ReadTimeout: timeout, WriteTimeout: timeout} // hub serve has such, too
	r.served = make(chan error, 1)
	server, served, listener := r.server, r.served, r.door.enter()
	go func() { served <- server.Serve(listener) }()
}

func (r *replica) stop() {
	if r.hub == nil {
		return
	}
	r.door.room.Store(nil)
	_ = r.hub.Close()
	_ = r.server.Close()
	if err := <-r.served; !errors.Is(err, http.ErrServerClosed) {
		r.t.Error(err)
	}
	_ = r.store.Close()
	r.hub = nil
}

// TestFollowReplicas has an outsider follow a workspace through a hundred
// edits while its hub is started anew, the agent's hub is, and the outsider
// goes to another replica in the middle of it all. Each revision comes once,
// in order, with its content.
func TestFollowReplicas(t *testing.T) {
	database := pgtest.Database(t)
	one, two := startReplica(t, database), startReplica(t, database)
	agentToken, _, err := hub.CreateToken(t.Context(), one.store, store.NewToken{Role: store.RoleAgent, AgentID: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	readerToken, _, err := hub.CreateToken(t.Context(), two.store, store.NewToken{Role: store.RoleReader})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	a := startAgent(ctx, t, &running, "http://"+one.addr, agentToken)

	// The outsider knows both hubs, and takes the other one when asked to.
	var at atomic.Int64
	o := &outsider{token: readerToken, texts: map[int64]string{}, base: func() string {
		return "http://" + []string{one.addr, two.addr}[at.Load()%2]
	}}
	if err := o.learn(ctx); err != nil {
		t.Fatal(err)
	}
	took := make(chan int64, 1000)
	follow := func() (lose func(), _ <-chan error) {
		ended := make(chan error, 1)
		streamCtx, lose := context.WithCancel(ctx)
		go func() { ended <- o.follow(streamCtx, "dev", func(n int64) { took <- n }) }()
		return lose, ended
	}
	lose, ended := follow()
	for n := 1; n <= 100; n++ {
		a.edit(ctx, uint64(n))
		switch n {
		case 20, 45: // the hub of both
			one.stop()
			one.start()
		case 60: // the consumer loses its line, goes to the other hub
			lose()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			at.Add(1)
			lose, ended = follow()
		case 70: // the agent's hub, not the consumer's
			one.stop()
			one.start()
		case 80: // the consumer's hub is away for a while
			two.stop()
		case 90:
			two.start()
		}
	}
	history, err := one.store.History(ctx, "dev")
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(history) // the oldest first
	newest := history[len(history)-1].Revision
	for revision := int64(0); revision != newest; {
		select {
		case revision = <-took:
		case err := <-ended:
			t.Fatalf("the outsider ended at revision %d of %d: %v", revision, newest, err)
		}
	}
	lose()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	var want []int64
	for i := range history {
		want = append(want, history[i].Revision)
		if text, expect := o.texts[history[i].Revision], fmt.Sprint("edit ", history[i].Version); text != expect {
			t.Errorf("revision %d was read as %q, want %q", history[i].Revision, text, expect)
		}
	}
	if !slices.Equal(o.revisions, want) || len(o.resets) > 0 {
		t.Errorf("revisions came as %v (resets %q), want %v", o.revisions, o.resets, want)
	}
	if len(want) != 100 {
		t.Errorf("%d revisions of 100 edits", len(want))
	}
}

// agent is a workspace with one file.
type agent struct{ pusher *push.Pusher }

func startAgent(ctx context.Context, t *testing.T, running *sync.WaitGroup, url, token string) *agent {
	t.Helper()
	opts, err := push.Remote(url, push.RemoteOptions{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	opts.MinBackoff, opts.MaxBackoff = time.Millisecond, 20*time.Millisecond
	opts.CallTimeout, opts.DialTimeout = timeout, timeout
	a := &agent{push.New(opts)}
	running.Go(func() {
		if err := a.pusher.Run(ctx); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	return a
}

// edit writes the file and waits until a hub has taken it.
func (a *agent) edit(ctx context.Context, version uint64) {
	resources := []snapshot.Resource{text("/w/AGENTS.md", fmt.Sprint("edit ", version))}
	a.pusher.Publish(&snapshot.Snapshot{Version: version, AggregateHash: snapshot.Aggregate(resources), Resources: resources})
	_ = a.pusher.Accepted(ctx, version) // fails when ctx has ended, which the caller notices
}
