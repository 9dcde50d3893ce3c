package push_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"storj.io/drpc"
	"storj.io/drpc/drpcerr"
	"storj.io/drpc/drpcwire"

	"waymark/host/push"
	"waymark/host/snapshot"
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
		if got := p.received()[1].sources; !slices.Equal(got, []string{"/w/AGENTS.md", "/w/CLAUDE.md"}) {
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

func TestUnimplementedIsLeftAlone(t *testing.T) {
	for name, p := range map[string]*peer{
		"unknown rpc": {}, "code 12": {unimplemented: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &peer{t: t, unimplemented: p.unimplemented}
				pusher := start(t, p, push.Options{})
				pusher.Publish(snap(1, "/a"))
				state(t, pusher, push.StateUnimplemented)
				pusher.Publish(snap(2, "/b"))
				time.Sleep(24 * time.Hour)
				if got := pusher.Status().State; got != push.StateUnimplemented || len(p.dialed()) != 1 {
					t.Fatalf("a day later: state %s, %d connections; want to be left alone", got, len(p.dialed()))
				}
				// The peer is replaced by one that knows us.
				p.set(func(p *peer) { p.waymark, p.unimplemented = true, false })
				p.cut()
				accepted(t, pusher, 2)
				expect(t, p, "waymark.v1 v2 initial=true")
			})
		})
	}
}

func TestDownForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{t: t, waymark: true, down: true}
		pusher := start(t, p, push.Options{})
		for version := range uint64(6) {
			pusher.Publish(snap(version+1, fmt.Sprintf("/%d", version)))
			time.Sleep(10 * time.Second)
		}
		if status := pusher.Status(); status.State != push.StateBackingOff || status.LastError != errDown.Error() {
			t.Errorf("while down: state %s, error %q", status.State, status.LastError)
		}
		p.set(func(p *peer) { p.down = false })
		accepted(t, pusher, 6)
		expect(t, p, "waymark.v1 v6 initial=true")
		if got := pusher.Status().LastError; got != "" {
			t.Errorf("last error after success is %q", got)
		}
		checkBackoff(t, p.dialed())
	})
}

// checkBackoff looks at the delays between attempts that all failed.
func checkBackoff(t *testing.T, dials []time.Time) {
	t.Helper()
	if len(dials) < 5 {
		t.Fatalf("%d attempts", len(dials))
	}
	base := 250 * time.Millisecond
	for i := 1; i < len(dials); i++ {
		delay := dials[i].Sub(dials[i-1])
		low, high := max(base*3/4, 250*time.Millisecond), min(base*5/4, 30*time.Second)
		if delay < low || delay > high+time.Microsecond {
			t.Errorf("delay %d is %s, want %s to %s", i, delay, low, high)
		}
		base = min(2*base, 30*time.Second)
	}
}

func TestBackoffStartsOverAfterSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{t: t, waymark: true, down: true}
		pusher := start(t, p, push.Options{})
		pusher.Publish(snap(1, "/a"))
		time.Sleep(5 * time.Minute)
		p.set(func(p *peer) { p.down = false })
		accepted(t, pusher, 1)
		lost := time.Now()
		p.cut()
		state(t, pusher, push.StateBackingOff)
		state(t, pusher, push.StateConnected)
		if d := time.Since(lost); d > time.Second {
			t.Errorf("connected again after %s", d)
		}
	})
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

// TestCutInMidPush: whether the push was stored can't be known, so the next
// one is initial. DRPC says "context canceled" for this; it must not be taken
// for ours.
func TestCutInMidPush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{t: t, waymark: true}
		p.answer = func(_ context.Context, a arrival) (bool, error) {
			if a.version == 2 && !a.initial {
				p.cut()
			}
			return true, nil
		}
		pusher := start(t, p, push.Options{})
		pusher.Publish(snap(1, "/1"))
		accepted(t, pusher, 1)
		pusher.Publish(snap(2, "/2"))
		accepted(t, pusher, 2)
		expect(t, p, "waymark.v1 v1 initial=true", "waymark.v1 v2 initial=false", "waymark.v1 v2 initial=true")
	})
}

func TestHangingPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{t: t, waymark: true, answer: func(ctx context.Context, _ arrival) (bool, error) {
			<-ctx.Done()
			return false, ctx.Err()
		}}
		pusher := start(t, p, push.Options{})
		begin := time.Now()
		pusher.Publish(snap(1, "/1"))
		status := state(t, pusher, push.StateBackingOff)
		if d := time.Since(begin); d != 10*time.Second || status.LastError != "no answer within 10s" {
			t.Errorf("after %s: %q", d, status.LastError)
		}
		p.set(func(p *peer) { p.answer = nil })
		accepted(t, pusher, 1)
	})
}

// TestPeerThatDoesNotRead blocks the write itself.
func TestPeerThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ends []io.Closer
		dial := push.DialFunc(func(context.Context) (drpc.Conn, error) {
			client, server := net.Pipe()
			ends = append(ends, server)
			return push.NewConn(client), nil
		})
		pusher := push.New(push.Options{Dialer: dial, CallTimeout: 3 * time.Second})
		pusher.Publish(snap(1, "/1"))
		done := make(chan error, 1)
		go func() { done <- pusher.Run(t.Context()) }()
		if got := state(t, pusher, push.StateBackingOff).LastError; got != "no answer within 3s" {
			t.Errorf("error %q", got)
		}
		if err := errors.Join(pusher.Close(), <-done); err != nil {
			t.Error(err)
		}
		for _, end := range ends {
			_ = end.Close()
		}
	})
}

// TestCallClosedByThePeer: DRPC lets a peer end a call without an answer and
// keep the connection.
func TestCallClosedByThePeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		var served sync.WaitGroup
		served.Go(func() {
			packet, err := drpcwire.NewReader(server).ReadPacket()
			if err != nil {
				t.Error(err)
			}
			closes := drpcwire.Frame{ID: drpcwire.ID{Stream: packet.ID.Stream, Message: 1}, Kind: drpcwire.KindClose, Done: true}
			_, _ = server.Write(drpcwire.AppendFrame(nil, closes))
			_, _ = io.Copy(io.Discard, server)
		})
		pusher := push.New(push.Options{Dialer: push.DialFunc(func(context.Context) (drpc.Conn, error) { return push.NewConn(client), nil })})
		pusher.Publish(snap(1, "/1"))
		done := make(chan error, 1)
		go func() { done <- pusher.Run(t.Context()) }()
		if got := state(t, pusher, push.StateBackingOff).LastError; !strings.Contains(got, "without an answer") {
			t.Errorf("error %q", got)
		}
		if err := errors.Join(pusher.Close(), <-done); err != nil {
			t.Error(err)
		}
		_ = server.Close()
		served.Wait()
	})
}

func TestErrorOfThePeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := true
		p := &peer{t: t, waymark: true, answer: func(context.Context, arrival) (bool, error) {
			if fail {
				fail = false
				return false, errors.New("database is locked")
			}
			return true, nil
		}}
		pusher := start(t, p, push.Options{})
		pusher.Publish(snap(1, "/1"))
		if got := state(t, pusher, push.StateBackingOff).LastError; got != "database is locked" {
			t.Errorf("error %q", got)
		}
		accepted(t, pusher, 1)
		expect(t, p, "waymark.v1 v1 initial=true", "waymark.v1 v1 initial=true")
	})
}

func TestConflict(t *testing.T) {
	superseded := drpcerr.WithCode(errors.New("a newer session has taken over"), wire.CodeSuperseded)
	for name, err := range map[string]error{"not accepted": nil, "superseded": superseded} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &peer{t: t, waymark: true, answer: func(_ context.Context, a arrival) (bool, error) {
					if a.initial || a.version >= 4 {
						return true, nil
					}
					return false, err
				}}
				pusher := start(t, p, push.Options{})
				pusher.Publish(snap(1, "/1"))
				accepted(t, pusher, 1)
				pusher.Publish(snap(2, "/2"))
				if got := state(t, pusher, push.StateConflict).LastError; got == "" {
					t.Error("no error is shown")
				}
				refused := time.Now()
				pusher.Publish(snap(3, "/3"))
				time.Sleep(24 * time.Hour) // nothing new: nothing more
				pusher.Publish(snap(4, "/4"))
				accepted(t, pusher, 4)
				expect(t, p, "waymark.v1 v1 initial=true", "waymark.v1 v2 initial=false",
					"waymark.v1 v3 initial=false", "waymark.v1 v4 initial=false")
				if d := p.received()[2].at.Sub(refused); d < 20*time.Second {
					t.Errorf("next attempt after %s", d)
				}
				if got := pusher.Status(); got.State != push.StateConnected || got.LastError != "" || len(p.dialed()) != 1 {
					t.Errorf("afterwards: state %s, error %q, %d connections", got.State, got.LastError, len(p.dialed()))
				}
			})
		})
	}
}

// TestConflictIsNotFoughtByReconnecting: a peer that closes the session it
// has refused isn't dialed at once.
func TestConflictIsNotFoughtByReconnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{t: t, waymark: true, answer: func(_ context.Context, a arrival) (bool, error) { return a.initial, nil }}
		pusher := start(t, p, push.Options{})
		pusher.Publish(snap(1, "/1"))
		accepted(t, pusher, 1)
		pusher.Publish(snap(2, "/2"))
		state(t, pusher, push.StateConflict)
		refused := time.Now()
		p.cut()
		accepted(t, pusher, 2)
		if d := time.Since(refused); d < 20*time.Second {
			t.Errorf("connected again after %s", d)
		}
	})
}

func TestUnauthorized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{t: t, waymark: true, answer: func(context.Context, arrival) (bool, error) {
			return false, drpcerr.WithCode(errors.New("the token is unknown"), wire.CodeUnauthorized)
		}}
		pusher := start(t, p, push.Options{Token: "secret-token"})
		pusher.Publish(snap(1, "/1"))
		if got := state(t, pusher, push.StateUnauthorized).LastError; got != "the token is unknown" {
			t.Errorf("error %q", got)
		}
		time.Sleep(time.Hour)
		if n := len(p.received()); n < 100 || n > 180 {
			t.Errorf("%d attempts in an hour, want one each half minute", n)
		}
		p.set(func(p *peer) { p.answer = nil })
		accepted(t, pusher, 1)
	})
}

func TestDialerRefused(t *testing.T) {
	for want, err := range map[push.State]error{
		push.StateUnauthorized: push.ErrUnauthorized, push.StateVersionRefused: push.ErrVersionRefused,
	} {
		t.Run(string(want), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dials := 0
				pusher := push.New(push.Options{Dialer: push.DialFunc(func(context.Context) (drpc.Conn, error) {
					dials++
					return nil, fmt.Errorf("hub: %w", err)
				})})
				done := make(chan error, 1)
				go func() { done <- pusher.Run(t.Context()) }()
				state(t, pusher, want)
				time.Sleep(10 * time.Minute)
				if err := errors.Join(pusher.Close(), <-done); err != nil {
					t.Error(err)
				}
				if dials < 15 || dials > 30 {
					t.Errorf("%d attempts in ten minutes, want one each half minute", dials)
				}
			})
		})
	}
}

func TestDialTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pusher := push.New(push.Options{Dialer: push.DialFunc(func(ctx context.Context) (drpc.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})})
		done := make(chan error, 1)
		go func() { done <- pusher.Run(t.Context()) }()
		if got := state(t, pusher, push.StateBackingOff).LastError; !strings.Contains(got, "no connection within 10s") {
			t.Errorf("error %q", got)
		}
		if err := errors.Join(pusher.Close(), <-done); err != nil {
			t.Error(err)
		}
	})
}

// TestHostilePeerText: a peer's error is shown without the token, without
// terminal escapes, and cut.
func TestHostilePeerText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{t: t, waymark: true, answer: func(context.Context, arrival) (bool, error) {
			return false, errors.New("you are secret-token\x1b[2J\n" + strings.Repeat("ä", 5000))
		}}
		var log logBuffer
		pusher := start(t, p, push.Options{Token: "secret-token", Logger: log.logger()})
		s := snap(1, "/1")
		s.Resources[0].Payload = []byte("the payload itself")
		pusher.Publish(s)
		got := state(t, pusher, push.StateBackingOff).LastError
		if !strings.HasPrefix(got, "you are [token] [2J ") || len(got) > 512 || strings.ContainsAny(got, "\x1b\n") {
			t.Errorf("error is %q", got)
		}
		for _, secret := range []string{"secret-token", "the payload itself"} {
			if strings.Contains(log.String(), secret) {
				t.Errorf("%q is in the log:\n%s", secret, log.String())
			}
		}
	})
}

func TestStatusTransitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{t: t, waymark: true, down: true}
		var log logBuffer
		pusher := start(t, p, push.Options{Logger: log.logger()})
		state(t, pusher, push.StateBackingOff)
		p.set(func(p *peer) { p.down = false })
		pusher.Publish(snap(1, "/1"))
		accepted(t, pusher, 1)
		if err := pusher.Close(); err != nil {
			t.Error(err)
		}
		if got := pusher.Status().State; got != push.StateIdle {
			t.Errorf("state after Close is %s", got)
		}
		for _, line := range []string{
			`"state":"connecting","before":"idle"`, `"state":"backing_off","before":"connecting","error":"connection refused"`,
			`"state":"connected","before":"connecting"`, `"state":"idle","before":"connected"`,
		} {
			if !strings.Contains(log.String(), line) {
				t.Errorf("log lacks %s:\n%s", line, log.String())
			}
		}
	})
}

func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := push.New(push.Options{})
		if err := errors.Join(closed.Close(), closed.Close()); err != nil {
			t.Error(err)
		}
		if err := closed.Run(t.Context()); !errors.Is(err, push.ErrClosed) {
			t.Errorf("Run after Close: %v", err)
		}
		if err := closed.Accepted(t.Context(), 1); !errors.Is(err, push.ErrClosed) {
			t.Errorf("Accepted after Close: %v", err)
		}

		idle := push.New(push.Options{})
		idle.Publish(snap(1, "/a"))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- idle.Run(ctx) }()
		synctest.Wait()
		if err := idle.Run(ctx); err == nil {
			t.Error("a second Run was let in")
		}
		if got := idle.Status().State; got != push.StateIdle {
			t.Errorf("without a dialer the state is %s", got)
		}
		cancel()
		if err := errors.Join(<-done, idle.Close(), idle.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestCloseCutsAPush: Close doesn't wait for a peer that hangs.
func TestCloseCutsAPush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		arrived := make(chan struct{})
		p := &peer{t: t, waymark: true, answer: func(ctx context.Context, _ arrival) (bool, error) {
			close(arrived)
			<-ctx.Done()
			return false, ctx.Err()
		}}
		pusher := start(t, p, push.Options{})
		pusher.Publish(snap(1, "/1"))
		<-arrived
		begin := time.Now()
		if err := pusher.Close(); err != nil {
			t.Error(err)
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("Close took %s", d)
		}
		if got := pusher.Status(); got.LastError != "" {
			t.Errorf("closing is shown as the error %q", got.LastError)
		}
	})
}

func TestAcceptedGivesUpWithTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{t: t, down: true}
		pusher := start(t, p, push.Options{})
		pusher.Publish(snap(7, "/1"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := pusher.Accepted(ctx, 7)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "version 7 hasn't been accepted") {
			t.Errorf("Accepted: %v", err)
		}
	})
}

func TestHeldBackIsInTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{t: t, coder: true}
		var log logBuffer
		pusher := start(t, p, push.Options{Logger: log.logger()})
		s := snap(1, "/a", "/b", "/c\xff")
		s.Resources[0].Kind = "hook"
		pusher.Publish(s)
		accepted(t, pusher, 1)
		status := pusher.Status()
		if status.HeldBack.Count != 1 || status.HeldBack.Reasons[push.ReasonKind] != 1 || status.Mended != 1 {
			t.Errorf("held back %+v, mended %d", status.HeldBack, status.Mended)
		}
		if !strings.Contains(log.String(), `"held_back":1,"reasons":{"kind":1},"mended":1`) {
			t.Errorf("the log doesn't say so:\n%s", log.String())
		}
		if got := p.received()[0].sources; !slices.Equal(got, []string{"/b", "/c\uFFFD"}) {
			t.Errorf("sent %q", got)
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
