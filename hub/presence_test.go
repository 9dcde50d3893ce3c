package hub_test

import (
	"testing"
	"time"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/store/postgres"
	"waymark/test/pgtest"
	"waymark/test/pushtest"
)

// TestPresenceElsewhere: an agent that is connected to one hub is so for all
// that share its database, until it, or that hub, goes.
func TestPresenceElsewhere(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	opts := func() hub.Options {
		st, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return hub.Options{Store: st, Presence: 5 * time.Millisecond}
	}
	here, there := newFixture(t, opts()), newFixture(t, opts())
	reader := here.token(store.RoleReader, "")
	agent := here.token(store.RoleAgent, "a")
	shown := func(f *fixture, want bool) {
		t.Helper()
		f.web()
		if !f.eventually(func() bool {
			agents, _ := decode(t, f.do("GET", "/api/v0/agents", reader, "")).([]any) // or it says that the database is busy
			return len(agents) == 1 && agents[0].(map[string]any)["connected"] == want
		}) {
			t.Fatalf("connected never is %v", want)
		}
	}
	shown(here, false)
	shown(there, false)
	p := here.dial(agent)
	p.mustPush(&pushtest.Push{Version: 1}, true)
	shown(here, true)
	shown(there, true)
	if err := here.hub.Close(); err != nil {
		t.Fatal(err)
	}
	shown(there, false)
	again := there.dial(agent)
	again.mustPush(&pushtest.Push{Version: 1}, true)
	shown(there, true)
}
