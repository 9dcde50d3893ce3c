package push_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"storj.io/drpc"

	"waymark/host/push"
)

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
		served.Go(func() { closeCall(server) })
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

// TestLostWhileWriting: the system has words of its own for a connection that
// ends while a push is being written.
func TestLostWhileWriting(t *testing.T) {
	for _, cause := range []error{syscall.EPIPE, syscall.ECONNRESET, io.ErrClosedPipe} {
		t.Run(cause.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				results := make(chan push.Result, 1)
				pusher := push.New(push.Options{
					Dialer: push.DialFunc(func(context.Context) (drpc.Conn, error) {
						client, server := net.Pipe()
						return push.NewConn(&breaking{Conn: client, far: server, cause: cause}), nil
					}),
					Observe:    func(a push.Attempt) { results <- a.Result },
					MinBackoff: time.Hour, MaxBackoff: time.Hour,
				})
				pusher.Publish(snap(1, "/1"))
				done := make(chan error, 1)
				go func() { done <- pusher.Run(t.Context()) }()
				if got := state(t, pusher, push.StateBackingOff).LastError; got != "the connection was lost" {
					t.Errorf("error %q", got)
				}
				if got := <-results; got != push.ResultLost {
					t.Errorf("result %q", got)
				}
				if err := errors.Join(pusher.Close(), <-done); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// breaking is a connection that breaks at the first write.
type breaking struct {
	net.Conn
	far   net.Conn
	cause error
}

func (b *breaking) Write([]byte) (int, error) {
	_ = b.far.Close()
	return 0, &net.OpError{Op: "write", Net: "unix", Err: b.cause}
}
