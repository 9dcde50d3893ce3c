package push_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"storj.io/drpc"

	"waymark/host/push"
)

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

// TestComesWhenTold: an agent that is told when to come again does, neither earlier nor much
// later, whatever its own pauses would be; but it believes no peer for ever.
func TestComesWhenTold(t *testing.T) {
	for after, want := range map[time.Duration]time.Duration{
		0: 250 * time.Millisecond, 3 * time.Second: 3 * time.Second, 2 * time.Minute: 2 * time.Minute, 18 * time.Hour: 5 * time.Minute,
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &peer{t: t, waymark: true, refuse: &push.LaterError{After: after, Err: errDown}}
			pusher := start(t, p, push.Options{})
			pusher.Publish(snap(1, "/a"))
			time.Sleep(5*want + 7*time.Second)
			dials := p.dialed()
			if len(dials) < 5 {
				t.Fatalf("%s: %d attempts", after, len(dials))
			}
			for i := 1; i < len(dials); i++ {
				if pause := dials[i].Sub(dials[i-1]); pause < want || pause > want+time.Second {
					t.Errorf("told %s it came after %s", after, pause)
				}
			}
			p.set(func(p *peer) { p.refuse = nil })
			accepted(t, pusher, 1)
		})
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
