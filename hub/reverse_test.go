package hub_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waymark/host/push"
	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/store/postgres"
	"waymark/snapshot"
	"waymark/test/pgtest"
	"waymark/test/pushtest"
	"waymark/test/testenv"
	"waymark/wire/approval"
	"waymark/wire/reverse"
	"waymark/wire/waymark"
)

// signer signs approvals.
var signer = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// signed makes an approval for agents, or for all.
func signed(t testing.TB, id string, expires time.Time, agents ...string) store.NewApproval {
	t.Helper()
	a := &approval.Approval{
		ID: id, Name: "server of " + id, Definition: "sha256:" + strings.Repeat("a", 64), Agents: agents,
		Issued: expires.Add(-24 * time.Hour), Expires: expires,
	}
	document, err := approval.Sign(a, signer)
	if err != nil {
		t.Fatal(err)
	}
	return store.NewApproval{ID: id, Signed: document, ExpiresAt: a.Expires}
}

// workspace is an agent's push with a handler for approvals.
type workspace struct {
	t      testing.TB
	pusher *push.Pusher
	served chan reverse.Served

	mu   sync.Mutex // guards the rest
	has  []string   // ids of the approvals; nil until the first set
	sets int
	fail error // what SetApprovals answers
	wake chan struct{}

	handlers map[string]reverse.Handler // of further kinds
}

// run starts the push of an agent.
func (w *workspace) run(opts push.Options) {
	w.wake = make(chan struct{}, 1)
	w.served = make(chan reverse.Served, 1000)
	opts.Reverse = push.Reverse{SetApprovals: w.set, Handlers: w.handlers, Observe: func(s reverse.Served) {
		select {
		case w.served <- s:
		default:
		}
	}}
	opts.DialTimeout, opts.CallTimeout = timeout, timeout
	opts.MinBackoff, opts.MaxBackoff = time.Millisecond, 10*time.Millisecond
	w.pusher = push.New(opts)
	done := make(chan error, 1)
	go func() { done <- w.pusher.Run(context.Background()) }()
	w.t.Cleanup(func() {
		if err := w.pusher.Close(); err != nil {
			w.t.Error(err)
		}
		if err := <-done; err != nil && !errors.Is(err, push.ErrClosed) { // closed before it ran
			w.t.Error(err)
		}
	})
	w.pusher.Publish(snapshotOf(1))
}

func (w *workspace) set(_ context.Context, list [][]byte) error {
	ids := []string{}
	for _, document := range list {
		a, err := approval.Verify(document, []ed25519.PublicKey{signer.Public().(ed25519.PublicKey)})
		if err != nil {
			w.t.Error(err)
			return err
		}
		ids = append(ids, a.ID)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sets++
	if w.fail != nil {
		return w.fail
	}
	w.has = ids
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return nil
}

// wants waits until the agent has exactly these approvals.
func (w *workspace) wants(ids ...string) {
	w.t.Helper()
	slices.Sort(ids)
	deadline := time.After(timeout)
	for {
		w.mu.Lock()
		has := w.has
		w.mu.Unlock()
		if has != nil && slices.Equal(has, ids) {
			return
		}
		select {
		case <-w.wake:
		case <-deadline:
			w.t.Fatalf("the agent has %q, want %q (reverse channel %+v)", has, ids, w.pusher.Status().Reverse)
		}
	}
}

// reverseState waits for a state of the channel.
func (w *workspace) reverseState(want push.ReverseState) push.Status {
	w.t.Helper()
	deadline := time.After(timeout)
	for {
		status, changed := w.pusher.Watch()
		if status.Reverse.State == want {
			return status
		}
		select {
		case <-changed:
		case <-deadline:
			w.t.Fatalf("the reverse channel is %+v, want %s", status.Reverse, want)
		}
	}
}

// ways are all ways in which an agent reaches a hub.
var ways = map[string]func(f *fixture, token string) push.Options{
	"unix": func(f *fixture, token string) push.Options {
		conn := f.mustDial()
		defer func() { _ = conn.Close() }()
		return remoteOptions(f.t, "unix:"+conn.RemoteAddr().String(), token)
	},
	"tcp": func(f *fixture, token string) push.Options {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			f.t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- f.hub.ServeDRPC(context.Background(), listener) }()
		f.t.Cleanup(func() {
			_ = f.hub.Close()
			if err := <-served; err != nil && !errors.Is(err, hub.ErrClosed) {
				f.t.Error(err)
			}
		})
		return remoteOptions(f.t, "tcp:"+listener.Addr().String(), token)
	},
	"WebSocket": func(f *fixture, token string) push.Options {
		server := httptest.NewServer(f.hub.Handler())
		f.t.Cleanup(func() {
			_ = f.hub.Close() // the connections that the server has given away
			server.Close()
		})
		return remoteOptions(f.t, server.URL, token)
	},
}

func remoteOptions(t testing.TB, url, token string) push.Options {
	t.Helper()
	opts, err := push.Remote(url, push.RemoteOptions{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return opts
}

func (f *fixture) addApproval(a store.NewApproval) {
	f.t.Helper()
	if _, err := f.store.AddApproval(context.Background(), a); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) revokeApproval(id string) {
	f.t.Helper()
	if _, err := f.store.RevokeApproval(context.Background(), id); err != nil {
		f.t.Fatal(err)
	}
}

func soon() time.Time { return time.Now().Add(time.Hour).Truncate(time.Second) }

// TestApprovalsReachAgents: an agent has the set that concerns it from the begin, and
// whenever it changes; what it was away for it learns when it is back; a revoked token
// takes the channel with it.
func TestApprovalsReachAgents(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, hub.Options{})
			f.addApproval(signed(t, "for-all", soon()))
			f.addApproval(signed(t, "for-b", soon(), "b", "c"))
			token := f.token(store.RoleAgent, "a")
			a, b := &workspace{t: t}, &workspace{t: t}
			a.run(way(f, token))
			a.wants("for-all")
			b.run(way(f, f.token(store.RoleAgent, "b")))
			b.wants("for-all", "for-b")
			a.reverseState(push.ReverseOpen)
			if got := <-a.served; got.Kind != reverse.KindSetApprovals || got.Code != 0 || got.Bytes == 0 {
				t.Errorf("observed %+v", got)
			}

			f.addApproval(signed(t, "for-a", soon(), "a"))
			a.wants("for-a", "for-all")
			f.revokeApproval("for-all")
			a.wants("for-a")
			b.wants("for-b")
			b.mu.Lock()
			if b.sets != 2 { // nothing that doesn't concern it
				t.Errorf("b was sent %d sets", b.sets)
			}
			b.mu.Unlock()

			// Pushes go on beside the channel.
			a.pusher.Publish(snapshotOf(2))
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			if err := a.pusher.Accepted(ctx, 2); err != nil {
				t.Error(err)
			}

			tokens, err := f.store.Tokens(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range tokens {
				if tokens[i].AgentID == "a" {
					if err := f.store.RevokeToken(t.Context(), tokens[i].ID); err != nil {
						t.Fatal(err)
					}
				}
			}
			a.reverseState(push.ReverseClosed)
			if !f.eventually(func() bool { return f.hub.Stats().Channels == 1 }) {
				t.Errorf("%d channels are open", f.hub.Stats().Channels)
			}
		})
	}
}

// TestApprovalsExpire: an agent loses what has expired without anybody's doing.
func TestApprovalsExpire(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	now := time.Now()
	f.addApproval(signed(t, "long", now.Add(time.Hour)))
	f.addApproval(signed(t, "short", now.Add(2*time.Second)))
	f.addApproval(signed(t, "gone", now.Add(-time.Minute)))
	a := &workspace{t: t}
	a.run(ways["unix"](f, f.token(store.RoleAgent, "a")))
	a.wants("long") // and whatever else until then
}

// TestNewestRunHasTheChannel: of two agents with one token the one that is heard has
// the channel, and the other one gets it back when that one has gone.
func TestNewestRunHasTheChannel(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, hub.Options{})
			opts := way(f, f.token(store.RoleAgent, "a"))
			first, second := &workspace{t: t}, &workspace{t: t}
			first.run(opts)
			first.wants()
			second.run(opts)
			second.wants()
			first.reverseState(push.ReverseClosed)
			f.addApproval(signed(t, "one", soon()))
			second.wants("one")
			if err := second.pusher.Close(); err != nil {
				t.Error(err)
			}
			first.wants("one")
			if n := f.hub.Stats().Channels; n != 1 {
				t.Errorf("%d channels are open", n)
			}
		})
	}
}

// TestAgentThatRefusesApprovals: it is asked again, and its pushes go on.
func TestAgentThatRefusesApprovals(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	a := &workspace{t: t, fail: fmt.Errorf("no room")}
	a.run(ways["unix"](f, f.token(store.RoleAgent, "a")))
	if got := <-a.served; got.Code != reverse.CodeUnknown {
		t.Errorf("observed %+v", got)
	}
	a.mu.Lock()
	a.fail = nil
	a.mu.Unlock()
	a.wants()
	if !strings.Contains(f.log.String(), "approvals not delivered") {
		t.Errorf("the log says\n%s", f.log)
	}
}

// TestDrainDoesNotWaitForChannels: a hub that stops doesn't wait for what never ends by
// itself.
func TestDrainDoesNotWaitForChannels(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, hub.Options{})
			a := &workspace{t: t}
			a.run(way(f, f.token(store.RoleAgent, "a")))
			a.wants()
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			if err := f.hub.Drain(ctx); err != nil {
				t.Fatal(err)
			}
			a.reverseState(push.ReverseClosed)
		})
	}
}

// TestApprovalsOverHubs: what is added at one hub reaches the agents of another one
// over the same database.
func TestApprovalsOverHubs(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	open := func() *fixture {
		st, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return newFixture(t, hub.Options{Store: st})
	}
	one, other := open(), open()
	a := &workspace{t: t}
	a.run(ways["unix"](one, one.token(store.RoleAgent, "a")))
	a.wants()
	other.addApproval(signed(t, "x", soon()))
	a.wants("x")
	other.revokeApproval("x")
	a.wants()
}

// TestRandomApprovals: whatever is added, revoked and cut in whatever order, in the
// end each agent has exactly what concerns it.
func TestRandomApprovals(t *testing.T) {
	t.Parallel()
	rnd := testenv.Rand(t)
	for range testenv.Rounds(1, 2, 50) {
		f := newFixture(t, hub.Options{})
		server := httptest.NewServer(f.hub.Handler())
		t.Cleanup(func() {
			_ = f.hub.Close()
			server.Close()
		})
		agents := []string{"a", "b", "c"}
		spaces := map[string]*workspace{}
		start := func(id string) {
			w := &workspace{t: t}
			url := server.URL
			if rnd.IntN(2) == 0 {
				conn := f.mustDial()
				url = "unix:" + conn.RemoteAddr().String()
				_ = conn.Close()
			}
			w.run(remoteOptions(t, url, f.token(store.RoleAgent, id)))
			spaces[id] = w
		}
		for _, id := range agents {
			start(id)
		}
		want := map[string][]string{} // agents of each live approval; nil: all
		next := 0
		for range 40 {
			switch live := slices.Sorted(func(yield func(string) bool) {
				for id := range want {
					if !yield(id) {
						return
					}
				}
			}); {
			case rnd.IntN(10) < 6 || len(live) == 0:
				id := fmt.Sprintf("p%03d", next)
				next++
				var to []string
				for _, a := range agents {
					if rnd.IntN(3) == 0 {
						to = append(to, a)
					}
				}
				f.addApproval(signed(t, id, soon(), to...))
				want[id] = to
			case rnd.IntN(10) < 7:
				id := live[rnd.IntN(len(live))]
				f.revokeApproval(id)
				delete(want, id)
			default:
				id := agents[rnd.IntN(len(agents))]
				if err := spaces[id].pusher.Close(); err != nil {
					t.Fatal(err)
				}
				start(id)
			}
		}
		for _, a := range agents {
			ids := []string{}
			for id, to := range want {
				if to == nil || slices.Contains(to, a) {
					ids = append(ids, id)
				}
			}
			spaces[a].wants(ids...)
		}
	}
}

func snapshotOf(version uint64) *snapshot.Snapshot {
	return &snapshot.Snapshot{Version: version, AggregateHash: []byte{byte(version)}}
}

// TestHostileChannels: an agent that breaks a rule of the channel loses it, and pushes
// on; nobody else notices.
func TestHostileChannels(t *testing.T) {
	t.Parallel()
	hello := &waymark.ReverseFrame{Frame: &waymark.ReverseFrame_Hello{Hello: &waymark.ReverseHello{Version: 1, Kinds: []string{reverse.KindSetApprovals}}}}
	request := func(id uint64, body int) *waymark.ReverseFrame {
		return &waymark.ReverseFrame{Frame: &waymark.ReverseFrame_Request{Request: &waymark.ReverseRequest{Id: id, Kind: "x", Body: make([]byte, body)}}}
	}
	f := newFixture(t, hub.Options{})
	good := &workspace{t: t}
	good.run(ways["unix"](f, f.token(store.RoleAgent, "good")))
	good.wants()
	for name, frames := range map[string][]*waymark.ReverseFrame{
		"no hello":      {request(1, 1)},
		"two hellos":    {hello, hello},
		"a large frame": {hello, request(1, reverse.MaxToHub+1)},
		"a huge frame":  {hello, request(1, 3<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			token := f.token(store.RoleAgent, "bad")
			p := f.dial(token)
			stream, err := waymark.NewDRPCContextClient(p.conn).Reverse(p.ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, frame := range frames {
				if stream.Send(frame) != nil {
					break
				}
			}
			for err == nil {
				_, err = stream.Recv()
			}
			if errors.Is(err, context.Canceled) && name != "a huge frame" {
				t.Errorf("it isn't told why: %v", err)
			}
			f.dial(token).mustPush(&pushtest.Push{Version: 1}, true)
		})
	}
	f.addApproval(signed(t, "one", soon(), "good"))
	good.wants("one")
	if !f.eventually(func() bool { return f.hub.Stats().Channels == 1 }) {
		t.Errorf("%d channels are open", f.hub.Stats().Channels)
	}
}
