package push_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"google.golang.org/protobuf/proto"
	"storj.io/drpc"
	"storj.io/drpc/drpcerr"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcserver"

	"waymark/abi"
	"waymark/host/push"
	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/convert"
	"waymark/wire/waymark"
)

// model is what a hub has after a number of pushes.
type model struct {
	version uint64
	head    *waymark.PushRequest
	rows    map[string]*waymark.Resource
}

var errNoBase = errors.New("full needed")

// apply is what the protocol says a push does, word by word.
func (m *model) apply(request *waymark.PushRequest) error {
	rows := map[string]*waymark.Resource{}
	if delta := request.Delta; delta != nil {
		if m.rows == nil || delta.BaseVersion != m.version || request.Initial {
			return errNoBase
		}
		rows = maps.Clone(m.rows)
		for _, id := range delta.Removed {
			if rows[id] == nil {
				return fmt.Errorf("%s is removed, but was never there", id)
			}
			delete(rows, id)
		}
	}
	for _, r := range request.Resources {
		rows[idOf(r)] = r
	}
	m.version, m.rows = request.Version, rows
	m.head = proto.CloneOf(request)
	m.head.Resources, m.head.Delta, m.head.Initial = nil, nil, false
	return nil
}

func idOf(r *waymark.Resource) string {
	id := r.Kind + ":" + r.Source
	if r.Key != "" {
		id += "#" + r.Key
	}
	return id
}

// same reports whether both hold the same.
func (m *model) same(other *model) bool {
	return proto.Equal(m.head, other.head) &&
		maps.EqualFunc(m.rows, other.rows, func(a, b *waymark.Resource) bool { return proto.Equal(a, b) })
}

// deltaPeer is a hub that takes deltas.
type deltaPeer struct {
	waymark.DRPCContextUnimplementedServer

	mu     sync.Mutex // guards the rest
	model  model
	log    []string
	answer func(m *waymark.PushRequest) (*waymark.PushResponse, error) // nil, nil: go on
}

func (p *deltaPeer) Open(context.Context, *waymark.OpenRequest) (*waymark.OpenResponse, error) {
	return &waymark.OpenResponse{}, nil
}

func (p *deltaPeer) Push(_ context.Context, m *waymark.PushRequest) (*waymark.PushResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := fmt.Sprintf("v%d initial=%t %d", m.Version, m.Initial, len(m.Resources))
	if m.Delta != nil {
		line += fmt.Sprintf(" on v%d -%d", m.Delta.BaseVersion, len(m.Delta.Removed))
	}
	p.log = append(p.log, line)
	if p.answer != nil {
		if response, err := p.answer(m); response != nil || err != nil {
			return response, err
		}
	}
	if err := p.model.apply(m); errors.Is(err, errNoBase) {
		return &waymark.PushResponse{FullNeeded: true}, nil
	} else if err != nil {
		return nil, err
	}
	return &waymark.PushResponse{Accepted: true, Deltas: true}, nil
}

// dial connects to p; cut ends all connections.
func (p *deltaPeer) dial(t *testing.T) (dialer push.Dialer, cut func()) {
	mux := drpcmux.New()
	if err := waymark.DRPCRegisterContext(mux, p); err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	cut = func() {
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range conns {
			_ = conn.Close()
		}
	}
	t.Cleanup(func() { cut(); serving.Wait() })
	return push.DialFunc(func(context.Context) (drpc.Conn, error) {
		client, server := net.Pipe()
		mu.Lock()
		defer mu.Unlock()
		conns = append(conns, server)
		serving.Go(func() { _ = drpcserver.New(mux).ServeOne(context.Background(), server) })
		return push.NewConn(client), nil
	}), cut
}

func (p *deltaPeer) expect(t *testing.T, want ...string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.log, want) {
		t.Errorf("the hub received\n%s, want\n%s", strings.Join(p.log, "\n"), strings.Join(want, "\n"))
	}
}

// has requires that the hub holds what s says.
func (p *deltaPeer) has(t *testing.T, s *snapshot.Snapshot) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var want model
	if err := want.apply(convert.ToWaymark(s)); err != nil {
		t.Fatal(err)
	}
	if !p.model.same(&want) {
		t.Errorf("the hub has %v, want %v", p.model, want)
	}
}

// startDelta runs a Pusher against p and ends it with the test.
func startDelta(t *testing.T, p *deltaPeer, opts push.Options) (pusher *push.Pusher, cut func()) {
	opts.Dialer, cut = p.dial(t)
	pusher = push.New(opts)
	done := make(chan error, 1)
	go func() { done <- pusher.Run(t.Context()) }()
	t.Cleanup(func() {
		if err := errors.Join(pusher.Close(), <-done); err != nil {
			t.Error(err)
		}
	})
	return pusher, cut
}

func TestDeltas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &deltaPeer{}
		var attempts []push.Attempt
		pusher, cut := startDelta(t, p, push.Options{Observe: func(a push.Attempt) { attempts = append(attempts, a) }})
		publish := func(s *snapshot.Snapshot) {
			t.Helper()
			pusher.Publish(s)
			accepted(t, pusher, s.Version)
			p.has(t, s)
		}
		publish(snap(1, "/a", "/b", "/c"))
		publish(snap(2, "/a", "/b", "/c", "/d"))
		s := snap(3, "/a", "/b")
		s.Resources[1].Payload = []byte("edited")
		publish(s)
		// Only the head differs.
		s = snap(4, "/a", "/b")
		s.Resources[1].Payload, s.SnapshotError = []byte("edited"), "no inotify"
		s.Plugins = []snapshot.Plugin{{Name: "p"}}
		publish(s)
		// Nothing stays: the whole is as good.
		publish(snap(5, "/x", "/y"))
		publish(snap(6))
		publish(snap(7, "/x", "/y"))
		cut()
		state(t, pusher, push.StateBackingOff)
		publish(snap(8, "/x", "/y"))
		publish(snap(9, "/x"))
		// Only what is still to come differs.
		s = snap(10, "/x")
		s.AggregateHash = snap(9, "/x").AggregateHash
		s.Discovery = snapshot.Discovery{Phase: snapshot.PhasePending, Sources: snapshot.SourceOutcomes{{ID: "mcp_server:/x#a", Name: "a", Outcome: snapshot.OutcomePending}}}
		publish(s)
		p.expect(t, "v1 initial=true 3", "v2 initial=false 1 on v1 -0", "v3 initial=false 1 on v2 -2", "v4 initial=false 0 on v3 -0",
			"v5 initial=false 2", "v6 initial=false 0", "v7 initial=false 2", "v8 initial=true 2", "v9 initial=false 0 on v8 -1", "v10 initial=false 0 on v9 -0")
		if err := pusher.Close(); err != nil { // after it, nobody appends
			t.Error(err)
		}
		var brief []string
		for _, a := range attempts {
			if a.Bytes == 0 || a.Protocol != wire.ProtocolWaymark {
				t.Errorf("attempt %+v", a)
			}
			brief = append(brief, fmt.Sprint(a.Result, " ", a.Delta))
		}
		want := "[accepted false accepted true accepted true accepted true accepted false accepted false accepted false accepted false accepted true accepted true]"
		if fmt.Sprint(brief) != want {
			t.Errorf("attempts are %v", brief)
		}
	})
}

// TestFullNeeded: a hub that has lost the base gets everything, at once and on
// the same connection.
func TestFullNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &deltaPeer{}
		var results []push.Result
		pusher, _ := startDelta(t, p, push.Options{Observe: func(a push.Attempt) { results = append(results, a.Result) }})
		pusher.Publish(snap(1, "/a", "/b"))
		accepted(t, pusher, 1)
		p.mu.Lock()
		p.model = model{}
		p.mu.Unlock()
		pusher.Publish(snap(2, "/a"))
		accepted(t, pusher, 2)
		p.has(t, snap(2, "/a"))
		pusher.Publish(snap(3, "/a", "/b"))
		accepted(t, pusher, 3)
		p.expect(t, "v1 initial=true 2", "v2 initial=false 0 on v1 -1", "v2 initial=false 1", "v3 initial=false 1 on v2 -0")
		if err := pusher.Close(); err != nil {
			t.Error(err)
		}
		if fmt.Sprint(results) != "[accepted full_needed accepted accepted]" {
			t.Errorf("results are %v", results)
		}
	})
}

// TestDeltasOnlyWhereTheyAreKnown: a hub that says nothing of deltas would
// take one for everything.
func TestDeltasOnlyWhereTheyAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &deltaPeer{answer: func(m *waymark.PushRequest) (*waymark.PushResponse, error) {
			// full_needed to what isn't a delta is nonsense, and taken for "no".
			return &waymark.PushResponse{Accepted: m.Version < 3, FullNeeded: m.Version >= 3}, nil
		}}
		pusher, _ := startDelta(t, p, push.Options{})
		for version := range uint64(2) {
			pusher.Publish(snap(version+1, "/a", fmt.Sprint("/", version)))
			accepted(t, pusher, version+1)
		}
		pusher.Publish(snap(3, "/a"))
		state(t, pusher, push.StateConflict)
		p.expect(t, "v1 initial=true 2", "v2 initial=false 2", "v3 initial=false 1")
	})
}

// TestBusy: the peer wants to be asked later, and the connection stays.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusals := 3
		p := &deltaPeer{answer: func(m *waymark.PushRequest) (*waymark.PushResponse, error) {
			if m.Version == 2 && refusals > 0 {
				refusals--
				return nil, drpcerr.WithCode(errors.New("too many requests"), wire.CodeBusy)
			}
			return nil, nil
		}}
		pusher, _ := startDelta(t, p, push.Options{})
		pusher.Publish(snap(1, "/a", "/b"))
		accepted(t, pusher, 1)
		pusher.Publish(snap(2, "/a"))
		if got := state(t, pusher, push.StateBackingOff).LastError; got != "too many requests" {
			t.Errorf("error is %q", got)
		}
		accepted(t, pusher, 2)
		p.expect(t, "v1 initial=true 2", "v2 initial=false 0 on v1 -1", "v2 initial=false 0 on v1 -1",
			"v2 initial=false 0 on v1 -1", "v2 initial=false 0 on v1 -1")
	})
}

// FuzzDelta: a delta applied to the base is the full push, whatever the two
// snapshots hold.
func FuzzDelta(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, seed+1, "/a", "/b", []byte("x"))
	}
	f.Add(uint64(3), uint64(3), "/a#b", "/a", []byte{})
	f.Fuzz(func(t *testing.T, seed1, seed2 uint64, source1, source2 string, payload []byte) {
		before := hostileSnapshot(rand.New(rand.NewPCG(seed1, 1)))
		after := hostileSnapshot(rand.New(rand.NewPCG(seed2, 1)))
		before.Version, after.Version = 1, 2
		for _, r := range before.Resources { // much stays as it is
			if rand.New(rand.NewPCG(seed1, uint64(len(r.Source)))).IntN(4) > 0 {
				after.Resources = append(after.Resources, r)
			}
		}
		before.Resources = append(before.Resources, snapshot.Resource{Kind: abi.KindSkill, Source: source1, Status: snapshot.StatusOK, Payload: payload})
		after.Resources = append(after.Resources, snapshot.Resource{Kind: abi.KindSkill, Source: source2, Key: source1, Status: snapshot.StatusOK, Payload: payload})

		var base, full model
		if err := base.apply(prepared(t, before, nil)); err != nil {
			t.Fatal(err)
		}
		base.version = before.Version
		if err := full.apply(prepared(t, after, nil)); err != nil {
			t.Fatal(err)
		}
		content, err := push.PrepareDelta(before, after)
		if err != nil {
			t.Fatal(err)
		}
		if content == nil {
			return // the whole is better
		}
		delta := &waymark.PushRequest{}
		if err := proto.Unmarshal(content, delta); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(checkWaymark(delta), base.apply(delta)); err != nil {
			t.Fatal(err)
		}
		if !base.same(&full) {
			t.Errorf("the delta makes\n%v, want\n%v", base, full)
		}
	})
}

func prepared(t *testing.T, s *snapshot.Snapshot, takes *waymark.Takes) *waymark.PushRequest {
	t.Helper()
	content, _, _, err := push.PrepareFor(s, wire.ProtocolWaymark, takes)
	if err != nil {
		t.Fatal(err)
	}
	m := &waymark.PushRequest{}
	if err := proto.Unmarshal(content, m); err != nil {
		t.Fatal(err)
	}
	return m
}
