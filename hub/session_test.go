package hub_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/transport"
	"waymark/internal/credential"
	"waymark/test/pushtest"
	"waymark/wire"
	"waymark/wire/coder"
	"waymark/wire/waymark"
)

// TestNewestSessionWins: a WebSocket is a session, and so is a connection of
// plain DRPC; the one that began to push last is the one that may.
func TestNewestSessionWins(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	endpoint, token := f.web(), f.token(store.RoleAgent, "a")
	older, newer, plain := dialBare(t, endpoint, token), dialBare(t, endpoint, token), f.dial(token)
	older.mustPush(&pushtest.Push{Version: 5}, true)
	newer.mustPush(&pushtest.Push{Version: 1}, true)
	for _, initial := range []bool{false, true} {
		if _, err := older.push(&pushtest.Push{Version: 9}); !wire.IsSuperseded(err) {
			t.Errorf("initial %v: %v", initial, err)
		}
		if _, err := older.pushCoder(&coder.PushContextStateRequest{Version: 9, Initial: initial}); !wire.IsSuperseded(err) {
			t.Errorf("coder, initial %v: %v", initial, err)
		}
	}
	newer.mustPush(&pushtest.Push{Version: 2}, true)
	plain.mustPush(&pushtest.Push{Version: 1}, true)
	if _, err := newer.push(&pushtest.Push{Version: 3}); !wire.IsSuperseded(err) {
		t.Errorf("after plain DRPC: %v", err)
	}
	if got := f.snapshot("a").Snapshot.Version; got != 1 {
		t.Errorf("stored version is %d", got)
	}
}

// TestLatePush: a push that was sent first and arrives last overwrites
// nothing, though it says that it is the first of its connection; and a
// connection on which nothing was pushed keeps nobody from pushing.
func TestLatePush(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	endpoint, token := f.web(), f.token(store.RoleAgent, "a")
	late := &pushtest.Push{Version: 9}
	for name, connect := range map[string]func() func(*pushtest.Push) error{
		"WebSocket": func() func(*pushtest.Push) error {
			a := dialBare(t, endpoint, token)
			return func(r *pushtest.Push) error { _, err := a.push(r); return err }
		},
		"plain DRPC": func() func(*pushtest.Push) error {
			p := f.dial(token)
			if _, err := waymark.NewDRPCContextClient(p.conn).Open(p.ctx, &waymark.OpenRequest{}); err != nil {
				t.Fatal(err)
			}
			return func(r *pushtest.Push) error { _, err := p.push(r); return err }
		},
	} {
		heldUp, used, silent := connect(), connect(), connect()
		for version := range uint64(3) {
			if err := used(&pushtest.Push{Version: version + 1}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := heldUp(late); !wire.IsSuperseded(err) {
			t.Errorf("%s: a push that was held up: %v", name, err)
		}
		if got := f.snapshot("a").Snapshot.Version; got != 3 {
			t.Errorf("%s: version %d is stored, want 3", name, got)
		}
		if err := silent(&pushtest.Push{Version: 1}); err != nil {
			t.Errorf("%s: a newer connection: %v", name, err)
		}
	}
	// Open is known by its code where the token isn't good.
	p := f.dial(credential.AgentToken.New())
	if _, err := waymark.NewDRPCContextClient(p.conn).Open(p.ctx, &waymark.OpenRequest{}); !wire.IsUnauthorized(err) {
		t.Errorf("open with a wrong token: %v", err)
	}
}

// TestPushesInStepWithADeadline: pushes that come as often as a write may take
// must not meet the deadline of the one before. Under synctest they come at the
// very moment.
func TestPushesInStepWithADeadline(t *testing.T) {
	t.Parallel()
	const step = 100 * time.Millisecond
	inSynctest(t, hub.Options{Limits: transport.Limits{Write: step}}, func(t *testing.T, f *fixture, endpoint string) {
		var agents sync.WaitGroup
		for i := range 24 {
			a := f.bare(endpoint, f.token(store.RoleAgent, fmt.Sprint(i)))
			agents.Go(func() {
				for version := range uint64(25) {
					if _, err := a.push(&pushtest.Push{Version: version + 1}); err != nil {
						t.Error(err)
						return
					}
					wait(t, step)
				}
			})
		}
		agents.Wait()
	})
}

// TestOldestSessionIsDropped: an agent that comes back again and again, and
// leaves dead connections behind, is never locked out.
func TestOldestSessionIsDropped(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{Limits: transport.Limits{SessionsPerToken: 3}})
	endpoint, token := f.web(), f.token(store.RoleAgent, "a")
	other := dialBare(t, endpoint, f.token(store.RoleAgent, "b"))
	var list []*bareAgent
	for i := range 5 {
		a := dialBare(t, endpoint, token)
		a.mustPush(&pushtest.Push{Version: uint64(i + 1)}, true)
		list = append(list, a)
		if i >= 3 {
			list[i-3].gone()
		}
	}
	for i, a := range list[2:] {
		if a.session.IsClosed() {
			t.Errorf("connection %d is closed", i+2)
		}
	}
	if !f.hub.Connected("a") {
		t.Error("not connected")
	}
	other.mustPush(&pushtest.Push{Version: 1}, true)
	// Who is dropped is told why.
	ws := dialWS(t, endpoint, token)
	dialWS(t, endpoint, token)
	dialWS(t, endpoint, token)
	dialWS(t, endpoint, token)
	err := readFrames(ws, timeout)
	if websocket.CloseStatus(err) != websocket.StatusPolicyViolation || !strings.Contains(err.Error(), "more connections") {
		t.Errorf("dropped with %v", err)
	}
}

// TestRevokedTokens: connections of a revoked token end soon, also where
// nothing is said on them.
func TestRevokedTokens(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{Limits: transport.Limits{Recheck: 20 * time.Millisecond}})
	endpoint := f.web()
	stop := f.bystander(endpoint)
	revoke := func(text string) {
		t.Helper()
		token, err := f.store.TokenByHash(t.Context(), credential.HashOf(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.store.RevokeToken(t.Context(), token.ID); err != nil {
			t.Fatal(err)
		}
	}
	token := f.token(store.RoleAgent, "a")
	web, plain := dialBare(t, endpoint, token), f.dial(token)
	plain.mustPush(&pushtest.Push{Version: 1}, true)
	revoke(token)
	web.gone()
	select {
	case <-plain.conn.Closed():
	case <-time.After(timeout):
		t.Error("plain DRPC: still connected")
	}
	if _, _, err := websocket.Dial(t.Context(), endpoint+"?version=2.10", &websocket.DialOptions{
		HTTPHeader: http.Header{"Coder-Session-Token": {token}},
	}); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("connected again: %v", err)
	}
	ws := dialWS(t, endpoint, f.token(store.RoleAgent, "b"))
	provisioned := f.store.SyncProvisioned(t.Context(), nil) // removes nothing of ours
	if err := readFrames(ws, 100*time.Millisecond); err != nil || provisioned != nil {
		t.Errorf("a good token's connection ended: %v, %v", err, provisioned)
	}
	stop()
}

// never is a rate at which nothing more comes while a test runs.
const never = 1e-6

// TestRates: an agent that calls too often is slowed down and then refused;
// the others aren't.
func TestRates(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{Limits: transport.Limits{Rate: never, Burst: 10}})
	endpoint, token := f.web(), f.token(store.RoleAgent, "a")
	a := dialBare(t, endpoint, token) // the first of ten
	for version := range uint64(9) {
		a.mustPush(&pushtest.Push{Version: version + 1}, true)
	}
	before := f.snapshot("a")
	for range 5 {
		if _, err := a.push(&pushtest.Push{Version: 100}); !wire.IsBusy(err) {
			t.Errorf("too many: %v", err)
		}
	}
	if _, err := f.dial(token).pushCoder(&coder.PushContextStateRequest{Version: 100}); !wire.IsBusy(err) {
		t.Errorf("too many, on another connection: %v", err)
	}
	_, response, err := websocket.Dial(t.Context(), endpoint+"?version=2.10", &websocket.DialOptions{
		HTTPHeader: http.Header{"Coder-Session-Token": {token}},
	})
	if err == nil || response.StatusCode != 429 || response.Header.Get("Retry-After") == "" {
		t.Errorf("one more connection: %v", err)
	}
	if after := f.snapshot("a"); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("a refused push was stored")
	}
	other := dialBare(t, endpoint, f.token(store.RoleAgent, "b"))
	other.mustPush(&pushtest.Push{Version: 1}, true)

	all := newFixture(t, hub.Options{Limits: transport.Limits{TotalRate: never, TotalBurst: 3}})
	one, two := all.dial(all.token(store.RoleAgent, "a")), all.dial(all.token(store.RoleAgent, "b"))
	one.mustPush(&pushtest.Push{Version: 1}, true)
	two.mustPush(&pushtest.Push{Version: 1}, true)
	one.mustPush(&pushtest.Push{Version: 2}, true)
	if _, err := two.push(&pushtest.Push{Version: 2}); !wire.IsBusy(err) {
		t.Errorf("too many in all: %v", err)
	}
}

// TestThrottled: what comes a little too fast is slowed down, not refused.
func TestThrottled(t *testing.T) {
	t.Parallel()
	inSynctest(t, hub.Options{Limits: transport.Limits{Rate: 50, Burst: 1}}, func(t *testing.T, f *fixture, _ string) {
		p := f.dial(f.token(store.RoleAgent, "a"))
		begin := time.Now()
		for version := range uint64(6) {
			p.mustPush(&pushtest.Push{Version: version + 1}, true)
		}
		if d := time.Since(begin).Round(time.Millisecond); d != 100*time.Millisecond {
			t.Errorf("6 pushes at 50 per second took %s", d)
		}
	})
}

func TestTooManyWebSockets(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{Limits: transport.Limits{Connections: 1}})
	endpoint, token := f.web(), f.token(store.RoleAgent, "a")
	a := dialBare(t, endpoint, token)
	a.mustPush(&pushtest.Push{Version: 1}, true)
	_, response, err := websocket.Dial(t.Context(), endpoint+"?version=2.10", &websocket.DialOptions{
		HTTPHeader: http.Header{"Coder-Session-Token": {token}},
	})
	if err == nil || response.StatusCode != 503 {
		t.Errorf("one too many: %v", err)
	}
	a.mustPush(&pushtest.Push{Version: 2}, true)
	if err := f.hub.Close(); err != nil {
		t.Error(err)
	}
	a.gone()
	if _, response, err = websocket.Dial(t.Context(), endpoint+"?version=2.10", &websocket.DialOptions{
		HTTPHeader: http.Header{"Coder-Session-Token": {token}},
	}); err == nil || response.StatusCode != 503 {
		t.Errorf("a closed hub: %v", errors.Join(err))
	}
}

// TestRevokedFromTheCache: a token that another hub, or an operator at the database, has revoked
// is refused within two seconds, though it was looked up a moment before and is checked by
// nobody else; one that is expired is at once.
func TestRevokedFromTheCache(t *testing.T) {
	t.Parallel()
	inSynctest(t, hub.Options{Limits: transport.Limits{Recheck: time.Hour}}, func(t *testing.T, f *fixture, _ string) {
		text := f.token(store.RoleAgent, "a")
		p := f.dial(text)
		p.mustPush(&pushtest.Push{Version: 1}, true)
		token, err := f.store.TokenByHash(t.Context(), credential.HashOf(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.store.RevokeToken(t.Context(), token.ID); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		for version := uint64(2); ; version++ {
			_, err := p.push(&pushtest.Push{Version: version})
			if wire.IsUnauthorized(err) {
				break
			}
			if took := time.Since(begin); err != nil || took >= 2*time.Second {
				t.Fatalf("after %s: %v", took, err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
}
