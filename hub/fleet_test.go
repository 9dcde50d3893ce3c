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
	open := func(request *waymark.OpenRequest) store.AgentInfo {
		t.Helper()
		if _, err := waymark.NewDRPCContextClient(p.conn).Open(p.ctx, request); err != nil {
			t.Fatal(err)
		}
		agent, err := f.store.Agent(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		return agent
	}
	const esc = "\x1b[31m"
	got := open(&waymark.OpenRequest{Hostname: "box\x00\n" + esc, Root: strings.Repeat("é/", 4000), AgentVersion: "1.2.3"})
	if strings.ContainsAny(got.Hostname, "\x00\n\x1b") || !strings.HasPrefix(got.Hostname, "box") || len(got.Root) > 1024 || !utf8.ValidString(got.Root) || got.AgentVersion != "1.2.3" {
		t.Errorf("%+v", got.AgentDescription)
	}
	if again := open(&waymark.OpenRequest{}); again.AgentDescription != got.AgentDescription {
		t.Errorf("one that says nothing: %+v", again.AgentDescription)
	}
	p.mustPush(&pushtest.Push{Version: 1}, true)
	before := time.Now()
	_ = p.conn.Close()
	if !f.eventually(func() bool {
		agent, err := f.store.Agent(t.Context(), "a")
		return err == nil && !agent.SeenAt.Before(before.Truncate(time.Microsecond))
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
