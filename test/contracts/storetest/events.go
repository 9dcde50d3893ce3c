package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/hub/store"
)

func events(t *testing.T, s store.Store, after int64, limit int) store.Events {
	t.Helper()
	page, err := s.Events(t.Context(), after, limit)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// what describes events in short.
func what(page store.Events) (list []string) {
	for _, e := range page.List {
		switch {
		case e.Change != nil:
			list = append(list, fmt.Sprint(e.Revision, " push ", e.Change.AgentID))
		case e.Pin != nil:
			list = append(list, fmt.Sprint(e.Revision, " pin ", e.Pin.Name, e.Pin.AgentID))
		case e.Deleted != nil:
			list = append(list, fmt.Sprint(e.Revision, " deleted ", e.Deleted.Name, e.Deleted.AgentID))
		default:
			list = append(list, fmt.Sprint(e.Revision, " removed ", e.RemovedAgent))
		}
	}
	return list
}

func wantEvents(t *testing.T, s store.Store, after int64, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, what(events(t, s, after, 1000))); d != "" {
		t.Errorf("events after %d (-want +got):\n%s", after, d)
	}
}

// testPinEvents follows pins and pushes in one order.
func testPinEvents(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	g := agent(t, s, "a")
	one := createPin(t, s, "a")                   // 1
	push(t, s, "a", g, hashed(1, skill("x", ""))) // 2: hydrates
	wantEvents(t, s, 0, "2 pin a", "2 push a")
	push(t, s, "a", g, hashed(2, skill("x", "2"))) // 3: drifts
	wantEvents(t, s, 0, "2 push a", "3 pin a", "3 push a")
	push(t, s, "a", g, hashed(3, skill("x", "3"))) // 4: no more than that
	wantEvents(t, s, 3, "4 push a")
	if _, err := s.RefreshPin(t.Context(), one.ID); err != nil { // 5
		t.Fatal(err)
	}
	wantEvents(t, s, 3, "4 push a", "5 pin a")
	two := createPin(t, s, "a")                              // 6
	if err := s.DeletePin(t.Context(), one.ID); err != nil { // 7
		t.Fatal(err)
	}
	wantEvents(t, s, 4, "6 pin a", "7 deleted a")
	if err := s.RemoveAgent(t.Context(), "a"); err != nil { // 8
		t.Fatal(err)
	}
	wantEvents(t, s, 6, "7 deleted a", "8 pin a", "8 removed a")
	page := events(t, s, 0, 1000)
	if page.Newest != 8 || page.Through != 8 || !page.List[0].Deleted.CreatedAt.Equal(one.CreatedAt) {
		t.Errorf("%+v", page)
	}
	if pin := events(t, s, 7, 10).List[0].Pin; pin.ID != two.ID || !pin.AgentGone {
		t.Errorf("%+v", pin)
	}
	if newest, err := s.Wait(t.Context(), 7); err != nil || newest != 8 {
		t.Errorf("newest is %d, %v", newest, err)
	}
}

// testEventsFloor looks from where nobody can follow without a gap.
func testEventsFloor(t *testing.T, db Database) {
	c := newClock()
	s := db.Open(t, Config{Now: c.Now, History: store.Retention{Revisions: 3, Age: time.Hour}})
	g, other := agent(t, s, "a"), agent(t, s, "b")
	push(t, s, "b", other, hashed(1, skill("x", "")))
	push(t, s, "b", other, hashed(2, skill("x", "2")))
	for v := range uint64(3) {
		push(t, s, "a", g, hashed(v+1, skill("x", fmt.Sprint(v))))
	}
	for _, step := range []struct {
		name  string
		do    func()
		floor int64
	}{
		{"nothing is dropped", func() {}, 0},
		{"a push drops", func() { push(t, s, "a", g, hashed(4, skill("x", "4"))) }, 3},
		{"old ones are dropped", func() {
			c.advance(2 * time.Hour)
			if err := s.Prune(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, 5},
		{"again", func() {
			if err := s.Prune(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, 5},
	} {
		step.do()
		if page := events(t, s, 0, 1); page.Floor != step.floor {
			t.Errorf("%s: the floor is %d, want %d", step.name, page.Floor, step.floor)
		}
	}
}

func testEventsPages(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	g := agent(t, s, "a")
	for range 3 {
		createPin(t, s, "a")
	}
	for v := range uint64(4) { // 4 hydrates three pins, 5 makes them drift
		push(t, s, "a", g, hashed(v+1, skill("x", fmt.Sprint(v))))
	}
	all := what(events(t, s, 0, 1000))
	for limit := range 8 {
		var got []string
		for after := int64(0); ; {
			page := events(t, s, after, limit)
			got = append(got, what(page)...)
			if page.Through == after {
				break
			}
			after = page.Through
		}
		if d := cmp.Diff(all, got); d != "" {
			t.Errorf("by %d (-want +got):\n%s", limit, d)
		}
	}
	if page := events(t, s, 99, 10); page.Through != 99 || page.Newest != 7 || len(page.List) != 0 {
		t.Errorf("from the future: %+v", page)
	}
}

func testRemovalsGone(t *testing.T, db Database) {
	c := newClock()
	s := db.Open(t, Config{Now: c.Now, History: store.Retention{Age: time.Hour}})
	agent(t, s, "a")
	pin := createPin(t, s, "a")
	if err := s.DeletePin(t.Context(), pin.ID); err != nil {
		t.Fatal(err)
	}
	for _, age := range []time.Duration{time.Minute, time.Hour} {
		c.advance(age)
		if err := s.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		page := events(t, s, 0, 10)
		if kept := len(page.List) == 1; kept != (age == time.Minute) || kept != (page.Floor == 0) {
			t.Errorf("after %v: %+v", age, page)
		}
	}
}
