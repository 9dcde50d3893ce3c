package hub_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waymark/abi"
	"waymark/host/push"
	"waymark/hub"
	"waymark/hub/store"
	"waymark/snapshot"
	"waymark/test/testenv"
)

// callTimeout is the agents': short, so that a line can be silent for longer,
// and long for a push on a busy machine.
const callTimeout = time.Second

// chaos is a line between agents and a hub that delays, splits, holds back,
// cuts and resets, for as long as it is on. All of it follows from the seed,
// as far as the scheduler lets it.
type chaos struct {
	t        *testing.T
	target   string // where the hub listens
	listener net.Listener
	on       atomic.Bool
	ctx      context.Context //nolint:containedctx // ends with the test
	faults   [5]atomic.Int64

	mu    sync.Mutex // guards rnd
	rnd   *rand.Rand
	lines sync.WaitGroup
}

func newChaos(t *testing.T, seed uint64, target string) *chaos {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &chaos{t: t, target: target, listener: listener, ctx: ctx, rnd: testenv.RandOf(seed, 1000)}
	c.on.Store(true)
	c.lines.Go(c.serve)
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		c.lines.Wait()
	})
	return c
}

func (c *chaos) draw(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rnd.IntN(n)
}

func (c *chaos) serve() {
	for {
		near, err := c.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", c.target)
		if err != nil {
			_ = near.Close()
			continue
		}
		stop := context.AfterFunc(c.ctx, func() { _, _ = near.Close(), far.Close() })
		var both sync.WaitGroup
		both.Go(func() { c.carry(near, far) })
		both.Go(func() { c.carry(far, near) })
		c.lines.Go(func() { both.Wait(); stop() })
	}
}

// carry brings bytes from one end to the other, or doesn't.
func (c *chaos) carry(from, to net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		for data := buf[:n]; len(data) > 0; {
			size := len(data)
			if c.on.Load() {
				size = 1 + c.draw(size)
				if !c.fault(from, to) {
					return
				}
			}
			if _, err := to.Write(data[:size]); err != nil {
				return
			}
			data = data[size:]
		}
		if err != nil {
			return
		}
	}
}

// fault does what is drawn, and reports whether the line still stands.
func (c *chaos) fault(from, to net.Conn) bool {
	switch kind := c.draw(1000); {
	case kind < 200:
		c.faults[0].Add(1)
		c.pause(time.Duration(c.draw(3000)) * time.Microsecond)
	case kind < 208: // long enough for the agent to have given up
		c.faults[1].Add(1)
		c.pause(callTimeout/2 + time.Duration(c.draw(int(callTimeout))))
	case kind < 216:
		c.faults[2].Add(1)
		return false
	case kind < 224:
		c.faults[3].Add(1)
		for _, conn := range []net.Conn{from, to} {
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}
		return false
	case kind < 227: // half open: nothing comes through, and nobody says so
		c.faults[4].Add(1)
		c.pause(3 * callTimeout)
		return false
	}
	return true
}

func (c *chaos) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ctx.Done():
	}
}

// counts returns how often what was done.
func (c *chaos) counts() (list []int64) {
	for i := range c.faults {
		list = append(list, c.faults[i].Load())
	}
	return list
}

// seen reports whether each fault has been done n times, but for the last,
// which is rare.
func (c *chaos) seen(n int64) bool { return slices.Min(c.counts()[:4]) >= n }

// recorder is a store that checks every push that it accepts: it must be what
// the agent of that name has published, and nothing older than the last.
type recorder struct {
	store.Store
	t *testing.T

	mu        sync.Mutex // guards the rest; held over a push, so that it can be read back
	published map[string]map[uint64]*snapshot.Snapshot
	newest    map[string]uint64
	accepted  int
	deltas    int
}

func (r *recorder) publish(agent string, s *snapshot.Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.published[agent] == nil {
		r.published[agent] = map[uint64]*snapshot.Snapshot{}
	}
	r.published[agent][s.Version] = s
}

// seen reports whether n pushes were stored, and of each kind one.
func (r *recorder) seen(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accepted >= n && r.deltas > 0 && r.deltas < r.accepted
}

func (r *recorder) Push(ctx context.Context, agent string, generation int64, p store.Push) (store.PushResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	result, err := r.Store.Push(ctx, agent, generation, p)
	if err != nil || !result.Accepted {
		return result, err
	}
	r.accepted++
	if p.Partial() {
		r.deltas++
	}
	version := p.Snapshot.Version
	if version < r.newest[agent] {
		r.t.Errorf("%s: version %d has replaced version %d", agent, version, r.newest[agent])
	}
	r.newest[agent] = version
	got, err := r.Snapshot(context.Background(), store.Query{AgentID: agent})
	if err != nil {
		r.t.Error(err)
		return result, nil
	}
	want := r.published[agent][version]
	if want == nil || !snapshot.SameContent(want, &got.Snapshot) || len(got.Snapshot.Resources) != len(want.Resources) {
		r.t.Errorf("%s: what is stored as version %d isn't what was published", agent, version)
	}
	return result, nil
}

// grow makes the next snapshot: a few resources change, come or go.
func grow(agent string, before *snapshot.Snapshot, rnd *rand.Rand) *snapshot.Snapshot {
	next := &snapshot.Snapshot{Version: before.Version + 1, Plugins: []snapshot.Plugin{}}
	for _, r := range before.Resources {
		switch rnd.IntN(12) {
		case 0:
			continue
		case 1:
			r.Payload = fmt.Append(nil, agent, next.Version, long(rnd.IntN(4000)))
		}
		next.Resources = append(next.Resources, r)
	}
	if n := len(next.Resources); n < 20 {
		r := snapshot.Resource{Kind: abi.KindSkill, Source: fmt.Sprintf("/w/%09d", next.Version), Status: snapshot.StatusOK}
		r.Payload = fmt.Append(nil, agent, next.Version, long(rnd.IntN(4000)))
		next.Resources = append(next.Resources, r)
	}
	next.SnapshotError = fmt.Sprint(agent, next.Version) // no two are equal
	return next
}

// TestChaos has agents publish all the time over lines that fail in every
// way. Soon after that ends each agent's newest state is stored; nothing older
// ever replaced something newer, and no agent touched another's rows.
func TestChaos(t *testing.T) {
	t.Parallel()
	seed, enough := testenv.Seed(t), int64(testenv.Rounds(1, 3, 30))
	f := newFixture(t, hub.Options{})
	r := &recorder{Store: f.store, t: t, published: map[string]map[uint64]*snapshot.Snapshot{}, newest: map[string]uint64{}}
	server := listen(t, hub.ListenOptions{
		HTTP: "127.0.0.1:0", DRPC: []string{"tcp:127.0.0.1:0"}, DB: "sqlite:recorder",
		Databases: hub.Databases{
			Check: func(string) error { return nil },
			Open:  func(context.Context, string, hub.StoreOptions) (store.Store, error) { return r, nil },
		},
	})
	stop := run(t, server)
	web := newChaos(t, seed, server.HTTPURL()[len("http://"):])
	plain := newChaos(t, seed+1, server.DRPC()[0][len("tcp:"):])

	var agents sync.WaitGroup
	finals := make([]chan time.Duration, 8)
	ended := make(chan struct{})
	for i := range finals {
		finals[i] = make(chan time.Duration, 1)
		agent := fmt.Sprint("agent-", i)
		url := "http://" + web.listener.Addr().String()
		if i%3 == 0 {
			url = "tcp:" + plain.listener.Addr().String()
		}
		opts, err := push.Remote(url, push.RemoteOptions{Token: f.token(store.RoleAgent, agent)})
		if err != nil {
			t.Fatal(err)
		}
		opts.MinBackoff, opts.MaxBackoff = 5*time.Millisecond, time.Second
		opts.CallTimeout, opts.DialTimeout = callTimeout, callTimeout
		agents.Go(func() { finals[i] <- chaoticAgent(t, r, agent, opts, testenv.RandOf(seed, uint64(i)), ended) })
	}
	if !f.eventually(func() bool { return web.seen(enough) && plain.seen(enough) && r.seen(100) }) {
		t.Errorf("not everything has happened")
	}
	web.on.Store(false)
	plain.on.Store(false)
	close(ended)
	for i := range finals {
		t.Logf("agent-%d: its newest state was stored %s after the last fault", i, <-finals[i])
	}
	agents.Wait()
	if err := stop(); err != nil {
		t.Error(err)
	}
	t.Logf("%d pushes were stored, %d of them deltas; delays, holds, cuts, resets, half open: %v and %v",
		r.accepted, r.deltas, web.counts(), plain.counts())
}

// chaoticAgent publishes until ended, and returns how long it took after that
// to have its newest state stored.
func chaoticAgent(t *testing.T, r *recorder, agent string, opts push.Options, rnd *rand.Rand, ended <-chan struct{}) time.Duration {
	pusher := push.New(opts)
	done := make(chan error, 1)
	go func() { done <- pusher.Run(context.Background()) }()
	defer func() {
		if err := pusher.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	tick := time.NewTicker(7 * time.Millisecond)
	defer tick.Stop()
	s := &snapshot.Snapshot{}
	for running := true; running; {
		select {
		case <-tick.C:
		case <-ended:
			running = false
		}
		s = grow(agent, s, rnd)
		r.publish(agent, s)
		pusher.Publish(s)
	}
	begin := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := pusher.Accepted(ctx, s.Version); err != nil {
		t.Errorf("%s: %v; %s", agent, err, pusher.Status().LastError)
		return 0
	}
	got, err := r.Snapshot(ctx, store.Query{AgentID: agent})
	if err != nil || got.Snapshot.Version != s.Version || !snapshot.SameContent(s, &got.Snapshot) {
		t.Errorf("%s: version %d is stored, want %d (%v)", agent, got.Snapshot.Version, s.Version, err)
	}
	return time.Since(begin)
}
