package push_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"storj.io/drpc"
	"storj.io/drpc/drpcerr"

	"waymark/host/push"
	"waymark/test/testenv"
	"waymark/wire"
	"waymark/wire/reverse"
	"waymark/wire/waymark"
)

// reverseState waits until the reverse channel has a state.
func reverseState(t *testing.T, p *push.Pusher, want push.ReverseState) push.ReverseStatus {
	t.Helper()
	deadline := time.After(time.Hour)
	for {
		status, changed := p.Watch()
		if status.Reverse.State == want {
			return status.Reverse
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("the reverse channel is %+v, want %s", status.Reverse, want)
		}
	}
}

// takes is what the agents of these tests serve.
func takes(list chan<- [][]byte) push.Reverse {
	return push.Reverse{SetApprovals: func(_ context.Context, signed [][]byte) error {
		list <- signed
		return nil
	}}
}

// TestPeersWithoutReverse: an agent does without, and asks once on each connection; one
// that serves nothing, or that Coder's server hears, never asks.
func TestPeersWithoutReverse(t *testing.T) {
	for name, tc := range map[string]struct {
		peer  *peer
		opts  push.Reverse
		state push.ReverseState
		asks  int
	}{
		"unknown rpc":    {&peer{waymark: true, unknown: true}, takes(nil), push.ReverseUnimplemented, 1},
		"code 12":        {&peer{waymark: true}, takes(nil), push.ReverseUnimplemented, 1},
		"Coder":          {&peer{coder: true}, takes(nil), push.ReverseClosed, 0},
		"nothing served": {&peer{waymark: true}, push.Reverse{}, push.ReverseOff, 0},
	} {
		check := func(t *testing.T, pusher *push.Pusher, settle func()) {
			pusher.Publish(snap(1, "/a"))
			accepted(t, pusher, 1)
			reverseState(t, pusher, tc.state)
			settle()
			pusher.Publish(snap(2, "/b"))
			accepted(t, pusher, 2)
			settle()
			if got := tc.peer.reversed(); got != tc.asks {
				t.Errorf("asked %d times, want %d", got, tc.asks)
			}
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.peer.t = t
				pusher := start(t, tc.peer, push.Options{Reverse: tc.opts})
				check(t, pusher, func() { time.Sleep(24 * time.Hour) })
				tc.peer.cut()
				pusher.Publish(snap(3, "/c"))
				accepted(t, pusher, 3)
				time.Sleep(time.Hour)
				if got := tc.peer.reversed(); got != 2*tc.asks {
					t.Errorf("asked %d times after another connection, want %d", got, 2*tc.asks)
				}
				if state := pusher.Status(); state.Reverse.State != tc.state || state.LastError != "" {
					t.Errorf("status %+v", state)
				}
			})
		})
		t.Run(name+", WebSocket", func(t *testing.T) {
			p := &peer{waymark: tc.peer.waymark, coder: tc.peer.coder, unknown: tc.peer.unknown}
			tc.peer = p
			server := newBareServer(t, p)
			server.Start()
			opts := remote(t, server.URL, nil)
			opts.Reverse = tc.opts
			check(t, run(t, opts), func() {})
			if server.Connections() != 1 {
				t.Errorf("%d connections", server.Connections())
			}
		})
	}
}

// TestReverse: what the peer sends gets to the handler, one after another, and the
// channel comes back when it is lost; it has the token and the run.
func TestReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		channels := make(chan *reverse.Channel, 1)
		p := &peer{t: t, waymark: true}
		p.reverse = func(stream waymark.DRPCContext_ReverseStream) error {
			c := reverse.New(stream, reverse.Options{End: func(error) { _ = stream.Close() }})
			go func() {
				for c.Peer() == nil {
					time.Sleep(time.Millisecond)
				}
				channels <- c
			}()
			return c.Run()
		}
		list := make(chan [][]byte, 1)
		observed := make(chan reverse.Served, 1)
		serves := takes(list)
		serves.Observe = func(s reverse.Served) { observed <- s }
		pusher := start(t, p, push.Options{Reverse: serves})
		if got := pusher.Status().Reverse; got.State != push.ReverseClosed {
			t.Errorf("before: %+v", got)
		}
		pusher.Publish(snap(1, "/a"))
		for range 3 {
			c := <-channels
			reverseState(t, pusher, push.ReverseOpen)
			if peer := c.Peer(); !bytes.Equal(peer.Run, p.opened()[0].GetRunId()) || !peer.Knows(reverse.KindSetApprovals) {
				t.Errorf("the agent said %+v", peer)
			}
			if _, err := c.Call(t.Context(), reverse.KindSetApprovals, []byte("\x0a\x01a\x0a\x01b")); err != nil {
				t.Error(err)
			}
			if got := <-list; len(got) != 2 || string(got[0]) != "a" || string(got[1]) != "b" {
				t.Errorf("handed over %q", got)
			}
			if got := <-observed; got.Kind != reverse.KindSetApprovals || got.Code != 0 || got.Bytes != 6 {
				t.Errorf("observed %+v", got)
			}
			if _, err := c.Call(t.Context(), reverse.KindSetApprovals, []byte("\xff")); err == nil {
				t.Error("took what isn't a list")
			}
			if got := <-observed; got.Code != reverse.CodeInvalid {
				t.Errorf("observed %+v", got)
			}
			c.End(errors.New("lost"))
			if got := reverseState(t, pusher, push.ReverseClosed); got.LastError == "" {
				t.Error("nothing is said of why it was closed")
			}
		}
		if got := pusher.Status().State; got != push.StateConnected {
			t.Errorf("the push is %s", got)
		}
	})
}

// TestHostileReverse: whatever a peer does with the channel, its pushes are accepted,
// and it is asked ever more slowly.
func TestHostileReverse(t *testing.T) {
	versions := uint64(testenv.Rounds(3, 10, 20)) // a minute apart
	junk := func(stream drpc.Stream, data []byte) error { return stream.MsgSend(data, bytesEncoding{}) }
	for name, serve := range map[string]func(waymark.DRPCContext_ReverseStream) error{
		"ends at once": func(s waymark.DRPCContext_ReverseStream) error { _, err := s.Recv(); return err },
		"says no":      func(waymark.DRPCContext_ReverseStream) error { return errors.New("no") },
		"is busy": func(waymark.DRPCContext_ReverseStream) error {
			return drpcerr.WithCode(errors.New("no"), wire.CodeBusy)
		},
		"says nothing": func(s waymark.DRPCContext_ReverseStream) error { readAll(s); return nil },
		"junk": func(s waymark.DRPCContext_ReverseStream) error {
			_ = junk(s, bytes.Repeat([]byte{0xff}, 1<<10))
			readAll(s)
			return nil
		},
		"megabytes": func(s waymark.DRPCContext_ReverseStream) error {
			for junk(s, make([]byte, 3<<20)) == nil {
			}
			return nil
		},
		"doesn't read, and asks": func(s waymark.DRPCContext_ReverseStream) error {
			_ = s.Send(&waymark.ReverseFrame{Frame: &waymark.ReverseFrame_Hello{Hello: &waymark.ReverseHello{Version: 1}}})
			for i := uint64(1); ; i++ {
				err := s.Send(&waymark.ReverseFrame{Frame: &waymark.ReverseFrame_Request{Request: &waymark.ReverseRequest{Id: i, Kind: "x"}}})
				if err != nil {
					return err
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &peer{t: t, waymark: true, reverse: serve}
				pusher := start(t, p, push.Options{Reverse: takes(nil)})
				for version := uint64(1); version <= versions; version++ {
					pusher.Publish(snap(version, "/"+strings.Repeat("x", int(version))))
					accepted(t, pusher, version)
					time.Sleep(time.Minute)
				}
				if got := len(p.received()); uint64(got) != versions {
					t.Errorf("%d pushes arrived", got)
				}
				if n := p.reversed(); n < 2 || uint64(n) > 20+3*versions {
					t.Errorf("asked for a channel %d times in %d minutes", n, versions)
				}
			})
		})
	}
}

func readAll(s waymark.DRPCContext_ReverseStream) {
	for _, err := s.Recv(); err == nil; _, err = s.Recv() {
	}
}

// bytesEncoding sends bytes.
type bytesEncoding struct{}

func (bytesEncoding) Marshal(m drpc.Message) ([]byte, error) { return m.([]byte), nil }
func (bytesEncoding) Unmarshal([]byte, drpc.Message) error   { return io.EOF }
