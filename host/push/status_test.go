package push_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waymark/host/push"
)

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
		if !strings.HasPrefix(got, "you are [token][2J ") || len(got) > 512 || strings.ContainsAny(got, "\x1b\n") {
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
