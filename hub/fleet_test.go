package hub_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/test/pushtest"
	"waymark/wire/waymark"
)

// TestDescription: what an agent says of itself is shown, whatever it is, and when it
// is gone, since when.
func TestDescription(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	p := f.dial(f.token(store.RoleAgent, "a"))
	says := func(request *waymark.OpenRequest, want func(store.AgentInfo) bool) {
		t.Helper()
		if _, err := waymark.NewDRPCContextClient(p.conn).Open(p.ctx, request); err != nil {
			t.Fatal(err)
		}
		var agent store.AgentInfo
		if !f.eventually(func() bool {
			var err error
			agent, err = f.store.Agent(t.Context(), "a")
			return err == nil && want(agent)
		}) {
			t.Errorf("%+v", agent.AgentDescription)
		}
	}
	const esc = "\x1b[31m"
	said := func(got store.AgentInfo) bool {
		return !strings.ContainsAny(got.Hostname, "\x00\n\x1b") && strings.HasPrefix(got.Hostname, "box") && len(got.Root) > 512 && len(got.Root) <= 1024 &&
			utf8.ValidString(got.Root) && got.AgentVersion == "1.2.3"
	}
	says(&waymark.OpenRequest{Hostname: "box\x00\n" + esc, Root: strings.Repeat("é/", 4000), AgentVersion: "1.2.3"}, said)
	says(&waymark.OpenRequest{}, said) // one that says nothing
	says(&waymark.OpenRequest{Hostname: "other"}, func(got store.AgentInfo) bool {
		return got.AgentDescription == store.AgentDescription{Hostname: "other"}
	})
	p.mustPush(&pushtest.Push{Version: 1}, true)
	before := time.Now()
	_ = p.conn.Close()
	if !f.eventually(func() bool {
		agent, err := f.store.Agent(t.Context(), "a")
		return err == nil && !agent.Connected && !agent.SeenAt.Before(before.Truncate(time.Microsecond))
	}) {
		t.Error("that it is gone is not written down")
	}
}

// TestSeenAtEnd: a hub that ends says of its agents that they were there until then.
func TestSeenAtEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	p := f.dial(f.token(store.RoleAgent, "a"))
	p.mustPush(&pushtest.Push{Version: 1}, true)
	before := time.Now()
	if err := f.hub.Close(); err != nil {
		t.Fatal(err)
	}
	if agent, err := f.store.Agent(t.Context(), "a"); err != nil || agent.SeenAt.Before(before.Truncate(time.Microsecond)) {
		t.Errorf("seen at %s, %v", agent.SeenAt, err)
	}
}

// TestSilentConnectionEndsLast: an agent is gone with its last connection, also if that is one on
// which it never pushed, as with the reverse channel of plain DRPC.
func TestSilentConnectionEndsLast(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	token := f.token(store.RoleAgent, "a")
	p, silent := f.dial(token), f.dial(token)
	p.mustPush(&pushtest.Push{Version: 1}, true)
	if _, err := waymark.NewDRPCContextClient(silent.conn).Upload(silent.ctx, &waymark.UploadRequest{}); err != nil {
		t.Fatal(err)
	}
	before, err := f.store.Agent(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	is := func(connected bool, after time.Time) bool {
		return f.eventually(func() bool {
			agent, err := f.store.Agent(t.Context(), "a")
			return err == nil && agent.Connected == connected && agent.SeenAt.After(after)
		})
	}
	_ = p.conn.Close()
	if !is(true, before.SeenAt) {
		t.Fatal("the end of one of two connections is not stored")
	}
	_ = silent.conn.Close()
	if !is(false, before.SeenAt) {
		t.Error("it is gone, and shown as connected")
	}
}
