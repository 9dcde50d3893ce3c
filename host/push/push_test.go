package push_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"storj.io/drpc/drpcerr"

	"waymark/host/push"
	"waymark/snapshot"
	"waymark/wire"
)

// brief is what most tests want to know of an arrival.
func brief(arrivals []arrival) []string {
	list := []string{}
	for _, a := range arrivals {
		list = append(list, fmt.Sprintf("%s v%d initial=%t", a.protocol, a.version, a.initial))
	}
	return list
}

func expect(t *testing.T, p *peer, want ...string) {
	t.Helper()
	if got := brief(p.received()); !slices.Equal(got, want) {
		t.Errorf("the peer received\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestPushToHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{t: t, waymark: true, coder: true}
		pusher := start(t, p, push.Options{Peer: "unix:/hub.sock", Token: "secret-token"})
		state(t, pusher, push.StateConnected)
		pusher.Publish(snap(1, "/w/AGENTS.md"))
		accepted(t, pusher, 1)
		pusher.Publish(snap(2, "/w/AGENTS.md", "/w/CLAUDE.md"))
		accepted(t, pusher, 2)
		expect(t, p, "waymark.v1 v1 initial=true", "waymark.v1 v2 initial=false")
		if got := p.received()[1].sources; !slices.Equal(got, []string{"/w/CLAUDE.md"}) {
			t.Errorf("second push has %v", got)
		}
		if got := p.received()[1].token; got != "secret-token" {
			t.Errorf("token in the metadata is %q", got)
		}
		status := pusher.Status()
		if status.State != push.StateConnected || status.Protocol != wire.ProtocolWaymark ||
			status.LastAccepted.Version != 2 || !bytes.Equal(status.LastAccepted.Hash, []byte{2}) || !status.LastAccepted.At.Equal(time.Now()) {
			t.Errorf("status is %+v, last accepted %+v", status, status.LastAccepted)
		}
	})
}

// TestEqualContent: a version that says nothing new isn't sent, but counts as
// accepted.
func TestEqualContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{t: t, waymark: true}
		pusher := start(t, p, push.Options{})
		first, second := snap(1, "/a"), snap(2, "/a")
		second.AggregateHash = first.AggregateHash
		pusher.Publish(first)
		accepted(t, pusher, 1)
		pusher.Publish(second)
		accepted(t, pusher, 2)
		expect(t, p, "waymark.v1 v1 initial=true")
		if got := pusher.Status().LastAccepted.Version; got != 1 {
			t.Errorf("last accepted is version %d, want what was sent", got)
		}
	})
}

// TestFallback also sends more than one frame: the mux answers "unknown rpc"
// before it has read the request, and that answer must not get lost.
func TestFallback(t *testing.T) {
	for _, size := range []int{10, 300 << 10} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &peer{t: t, coder: true}
				pusher := start(t, p, push.Options{})
				s := snap(1, "/a", "/b", "/c")
				for i := range s.Resources {
					s.Resources[i].Payload = make([]byte, size/3)
				}
				pusher.Publish(s)
				accepted(t, pusher, 1)
				pusher.Publish(snap(2, "/b"))
				accepted(t, pusher, 2)
				expect(t, p, "coder.agent.v2 v1 initial=true", "coder.agent.v2 v2 initial=false")
				if n := len(p.dialed()); n != 1 {
					t.Errorf("%d connections, want the fallback on the first", n)
				}
				if got := pusher.Status().Protocol; got != wire.ProtocolCoder {
					t.Errorf("protocol is %q", got)
				}
			})
		})
	}
}

// TestNewestWins publishes while a push is under way: only the last of them
// follows.
func TestNewestWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		arrived, proceed := make(chan struct{}), make(chan struct{})
		p := &peer{t: t, waymark: true, answer: func(_ context.Context, a arrival) (bool, error) {
			if a.version == 1 {
				close(arrived)
				<-proceed
			}
			return true, nil
		}}
		pusher := start(t, p, push.Options{})
		pusher.Publish(snap(1, "/1"))
		<-arrived
		for version := uint64(2); version <= 9; version++ {
			pusher.Publish(snap(version, fmt.Sprint("/", version)))
		}
		pusher.Publish(snap(3, "/late")) // older work that ends late
		pusher.Publish(snap(0, "/never"))
		pusher.Publish(nil)
		close(proceed)
		accepted(t, pusher, 9)
		expect(t, p, "waymark.v1 v1 initial=true", "waymark.v1 v9 initial=false")
	})
}

func TestVersionZeroIsNeverPushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{t: t, waymark: true}
		pusher := start(t, p, push.Options{})
		pusher.Publish(snap(0, "/a"))
		time.Sleep(time.Hour)
		expect(t, p)
		if got := pusher.Status().State; got != push.StateConnected {
			t.Errorf("state is %s", got)
		}
	})
}

// TestProtocolTakenAway: a peer may switch a method off at any time. What
// follows in the other protocol is a first push.
func TestProtocolTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{t: t, waymark: true, coder: true, answer: func(_ context.Context, a arrival) (bool, error) {
			if a.version == 2 && a.protocol == wire.ProtocolWaymark {
				return false, drpcerr.WithCode(errors.New("switched off"), wire.CodeUnimplemented)
			}
			return true, nil
		}}
		pusher := start(t, p, push.Options{})
		pusher.Publish(snap(1, "/1"))
		accepted(t, pusher, 1)
		pusher.Publish(snap(2, "/2"))
		accepted(t, pusher, 2)
		expect(t, p, "waymark.v1 v1 initial=true", "waymark.v1 v2 initial=false", "coder.agent.v2 v2 initial=true")
	})
}

// TestFullMessage fills a message to its limit, which the peer's buffer must
// still take.
func TestFullMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{t: t, waymark: true}
		pusher := start(t, p, push.Options{})
		s := &snapshot.Snapshot{Version: 1}
		for i := range 500 {
			s.Resources = append(s.Resources, file(fmt.Sprintf("/%04d", i), func(r *snapshot.Resource) {
				r.Attributes = snapshot.Attributes{"x": {Text: strings.Repeat("x", 15<<10)}}
			}))
		}
		pusher.Publish(s)
		accepted(t, pusher, 1)
		if held := pusher.Status().HeldBack; held.Reasons[push.ReasonTooLarge] == 0 || len(p.received()) != 1 {
			t.Errorf("held back %+v after %d pushes; want one push, with what fits", held, len(p.received()))
		}
	})
}
