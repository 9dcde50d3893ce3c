package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/hub/store"
)

var presenceTests = map[string]func(*testing.T, Database){
	"Lease":     testLease,
	"Contested": testContested,
	"Moved":     testMoved,
}

func lease(t *testing.T, s store.Store, hub string, ttl time.Duration) (begun bool) {
	t.Helper()
	begun, err := s.Lease(t.Context(), store.PresentHub{ID: hub, URL: "http://" + hub, Secret: "of " + hub}, ttl)
	if err != nil {
		t.Fatal(err)
	}
	return begun
}

func begin(t *testing.T, s store.Store, id, hub string) (generation int64, elsewhere store.Writer) {
	t.Helper()
	generation, found, err := s.BeginSession(t.Context(), id, hub)
	if err != nil {
		t.Fatal(err)
	}
	return generation, found.Elsewhere
}

// testLease: agents are connected as long as their hub says that it is there.
func testLease(t *testing.T, database Database) {
	clock := newClock()
	one, two := database.Open(t, Config{Now: clock.Now}), database.Open(t, Config{Now: clock.Now})
	for _, id := range []string{"a", "b", "c"} {
		agent(t, one, id)
	}
	connected := func(want ...string) {
		t.Helper()
		var got []string
		for _, a := range agents(t, two) {
			if a.Connected {
				got = append(got, a.ID)
			}
		}
		counts, err := two.CountAgents(t.Context())
		if !slices.Equal(got, want) || err != nil || counts.Connected != len(want) {
			t.Errorf("connected are %s, and counted %d; want %s", got, counts.Connected, want)
		}
		for _, id := range []string{"a", "b", "c"} {
			at, err := two.HubOf(t.Context(), id)
			if is := slices.Contains(want, id); is != (err == nil) || is && at.Secret != "of "+at.ID || !is && !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s is at %+v, %v", id, at, err)
			}
		}
	}
	begin(t, one, "a", "h1")
	connected() // a hub without a lease has no agents
	if !lease(t, one, "h1", time.Minute) || lease(t, one, "h1", time.Minute) || !lease(t, two, "h2", time.Hour) {
		t.Error("which leases began isn't known")
	}
	connected()
	ga, _ := begin(t, one, "a", "h1")
	gb, _ := begin(t, one, "b", "h1")
	begin(t, one, "c", "h2")
	connected("a", "b", "c")
	// The end of a session counts if it is the last one of its hub, and no other hub's.
	end := func(hub string, ended ...store.EndedSession) {
		t.Helper()
		if err := one.EndSessions(t.Context(), hub, ended); err != nil {
			t.Fatal(err)
		}
	}
	end("h1", store.EndedSession{AgentID: "a", Generation: ga - 1, Last: true}, store.EndedSession{AgentID: "b", Generation: gb})
	end("h2", store.EndedSession{AgentID: "a", Generation: ga, Last: true})
	connected("a", "b", "c")
	end("h1", store.EndedSession{AgentID: "b", Generation: gb, Last: true})
	connected("a", "c")
	// A lease that isn't renewed ends, at once for readers, and later in the rows.
	clock.now = clock.now.Add(time.Minute)
	connected("c")
	if !lease(t, one, "h1", time.Minute) {
		t.Error("a lease that had ended was renewed")
	}
	connected("a", "c")
	clock.now = clock.now.Add(2 * time.Minute)
	lease(t, two, "h2", time.Hour)
	if n := database.Count(t, "hubs"); n != 1 {
		t.Errorf("%d hubs, want one", n)
	}
	lease(t, one, "h1", time.Minute)
	connected("c")
	if err := one.KeepAgents(t.Context(), "h1", []string{"a", "c", "gone"}); err != nil {
		t.Fatal(err)
	}
	connected("a", "c")
	if at, err := one.HubOf(t.Context(), "c"); err != nil || at.ID != "h2" {
		t.Errorf("c is at %s, %v", at.ID, err)
	}
	if err := two.EndLease(t.Context(), "h2"); err != nil {
		t.Fatal(err)
	}
	connected("a")
	if show(t, one, "c").SeenAt != clock.now.Truncate(time.Microsecond) {
		t.Error("away since another time")
	}
}

// testContested: of agents at two hubs both learn which connection counts.
func testContested(t *testing.T, database Database) {
	clock := newClock()
	s := database.Open(t, Config{Now: clock.Now})
	agent(t, s, "a")
	lease(t, s, "h1", time.Hour)
	lease(t, s, "h2", time.Hour)
	check := func(hub string, want ...store.Contested) {
		t.Helper()
		got, err := s.Contested(t.Context(), hub)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %s %v", hub, d, err)
		}
	}
	pushed := func(generation int64, hub, run string, version uint64) {
		t.Helper()
		p := whole(version)
		p.Initial, p.Hub, p.Run = true, hub, run
		push(t, s, "a", generation, p)
	}
	g1, elsewhere := begin(t, s, "a", "h1")
	if elsewhere != (store.Writer{}) {
		t.Errorf("elsewhere: %+v", elsewhere)
	}
	check("h1")
	pushed(g1, "h1", "r1", 1)
	if _, elsewhere = begin(t, s, "a", "h1"); elsewhere != (store.Writer{}) { // it is at this hub
		t.Errorf("elsewhere: %+v", elsewhere)
	}
	check("h1")
	g2, elsewhere := begin(t, s, "a", "h2")
	if elsewhere != (store.Writer{Generation: g1, Run: "r1"}) {
		t.Errorf("elsewhere: %+v", elsewhere)
	}
	check("h1", store.Contested{AgentID: "a", Hub: "h2"})
	check("h2", store.Contested{AgentID: "a", Hub: "h2", Elsewhere: elsewhere})
	pushed(g2, "h2", "r2", 1) // nothing new, and it takes over all the same
	check("h1", store.Contested{AgentID: "a", Hub: "h2", Elsewhere: store.Writer{Generation: g2, Run: "r2"}})
	check("h2", store.Contested{AgentID: "a", Hub: "h2"})
	if err := s.SetNotHeard(t.Context(), "h1", map[string]int{"a": 2, "gone": 1}); err != nil {
		t.Fatal(err)
	}
	if got := show(t, s, "a").NotHeard; got != 2 {
		t.Errorf("not heard are %d", got)
	}
	if err := s.EndSessions(t.Context(), "h2", []store.EndedSession{{AgentID: "a", Generation: g2, Last: true}}); err != nil {
		t.Fatal(err)
	}
	check("h1", store.Contested{AgentID: "a", NotHeard: 2})
	if err := s.SetNotHeard(t.Context(), "h1", map[string]int{"a": -1}); err != nil {
		t.Fatal(err)
	}
	check("h1")
	// A writer whose hub has ended is none.
	g3, _ := begin(t, s, "a", "h2")
	pushed(g3, "h2", "r3", 1)
	clock.now = clock.now.Add(2 * time.Hour)
	lease(t, s, "h1", time.Hour)
	if _, elsewhere := begin(t, s, "a", "h1"); elsewhere != (store.Writer{}) {
		t.Errorf("elsewhere: %+v", elsewhere)
	}
	check("h1")
}

// testMoved: who connects and goes is listed without the others.
func testMoved(t *testing.T, database Database) {
	clock := newClock()
	s := database.Open(t, Config{Now: clock.Now})
	lease(t, s, "h", time.Hour)
	for i := range 5 {
		agent(t, s, fmt.Sprint("a", i))
	}
	clock.now = clock.now.Add(time.Second)
	g, _ := begin(t, s, "a1", "h")
	if err := s.SetNotHeard(t.Context(), "h", map[string]int{"a3": 1}); err != nil {
		t.Fatal(err)
	}
	moved := func(within time.Duration, want string) {
		t.Helper()
		list, err := s.MovedAgents(t.Context(), within)
		slices.SortFunc(list, func(a, b store.AgentInfo) int { return strings.Compare(a.ID, b.ID) })
		got := ""
		for _, a := range list {
			got += fmt.Sprintf("%s %t %d; ", a.ID, a.Connected, a.NotHeard)
		}
		if got != want || err != nil {
			t.Errorf("moved: %s, %v; want %s", got, err, want)
		}
	}
	moved(time.Millisecond, "a1 true 0; a3 false 1; ")
	clock.now = clock.now.Add(time.Second)
	if err := s.EndSessions(t.Context(), "h", []store.EndedSession{{AgentID: "a1", Generation: g, Last: true}}); err != nil {
		t.Fatal(err)
	}
	moved(time.Millisecond, "a1 false 0; ")
	clock.now = clock.now.Add(time.Second)
	moved(time.Millisecond, "")
}
