package push_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"storj.io/drpc"
	"storj.io/drpc/drpcerr"

	"waymark/host/push"
	"waymark/wire"
)

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
	synctest.Test(t, func(t *testing.T) {
		p := &peer{t: t, waymark: true, answer: func(_ context.Context, a arrival) (bool, error) {
			return a.initial || a.version >= 4, nil
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
}

// TestSuperseded: an agent in whose place a hub hears another one says so within
// seconds, with nothing to push, sends nothing, and is heard again as soon as the
// hub has ended the connection on which it waits.
func TestSuperseded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{t: t, waymark: true}
		log := new(logBuffer)
		pusher := start(t, p, push.Options{Logger: log.logger()})
		pusher.Publish(snap(1, "/1"))
		accepted(t, pusher, 1)
		taken := time.Now()
		p.set(func(p *peer) { p.superseded = true })
		p.cut()
		told := state(t, pusher, push.StateConflict)
		if d := time.Since(taken); d > 5*time.Second || !strings.Contains(told.LastError, "another agent with the same token") {
			t.Errorf("told after %s: %q", d, told.LastError)
		}
		if !strings.Contains(log.String(), "another agent with the same token") {
			t.Errorf("the log says\n%s", log)
		}
		pusher.Publish(snap(2, "/2"))
		time.Sleep(time.Hour)
		expect(t, p, "waymark.v1 v1 initial=true")
		if opens, dials := len(p.opened()), len(p.dialed()); opens < 60 || opens > 300 || dials != 2 {
			t.Errorf("asked %d times in an hour on %d connections", opens, dials)
		}
		gone := time.Now()
		p.set(func(p *peer) { p.superseded = false })
		p.cut()
		accepted(t, pusher, 2)
		if d := time.Since(gone); d > 5*time.Second {
			t.Errorf("heard again after %s", d)
		}
		expect(t, p, "waymark.v1 v1 initial=true", "waymark.v1 v2 initial=true")
		opens := p.opened()
		for i, o := range opens {
			if len(o.RunId) < 16 || !bytes.Equal(o.RunId, opens[0].RunId) || o.Yields != (i > 0) {
				t.Errorf("open %d says run %x, yields %t", i, o.RunId, o.Yields)
			}
		}
	})
}

// TestSupersededPush: a push that a hub refuses for a newer connection's isn't
// repeated on this one, and the next one asks first. Where the other agent is
// gone without the hub's having said so, it is heard again within a minute.
func TestSupersededPush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{t: t, waymark: true, answer: func(context.Context, arrival) (bool, error) {
			return false, drpcerr.WithCode(errors.New("a newer session has taken over"), wire.CodeSuperseded)
		}}
		pusher := start(t, p, push.Options{})
		pusher.Publish(snap(1, "/1"))
		told := state(t, pusher, push.StateConflict)
		if !strings.Contains(told.LastError, "another agent with the same token") {
			t.Errorf("told %q", told.LastError)
		}
		refused := time.Now()
		p.set(func(p *peer) { p.superseded, p.answer = true, nil })
		time.Sleep(time.Hour)
		state(t, pusher, push.StateConflict)
		expect(t, p, "waymark.v1 v1 initial=true")
		if dials := p.dialed(); len(dials) != 2 || dials[1].Sub(refused) < 4*time.Second {
			t.Errorf("connections at %v, refused at %s", dials, refused)
		}
		if opens := p.opened(); opens[0].Yields || !opens[1].Yields {
			t.Errorf("yields %t, then %t", opens[0].Yields, opens[1].Yields)
		}
		p.set(func(p *peer) { p.superseded = false })
		gone := time.Now()
		accepted(t, pusher, 1)
		if d := time.Since(gone); d > time.Minute {
			t.Errorf("heard again after %s", d)
		}
	})
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
