package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/hub/store"
)

// follow reads pages of events from a cursor to the end.
func follow(t testing.TB, s store.Store, after store.Cursor, limit int) (list []store.Event, end store.Cursor) {
	t.Helper()
	for {
		page, err := s.Events(t.Context(), after, limit)
		if err != nil || page.Lost {
			t.Fatalf("%+v, %v", page, err)
		}
		list, after = append(list, page.List...), page.Through
		if page.Last {
			return list, after
		}
	}
}

// events are all that are kept, and above a revision.
func events(t testing.TB, s store.Store, above int64) []store.Event {
	t.Helper()
	list, _ := follow(t, s, store.Cursor{}, 1000)
	return slices.DeleteFunc(list, func(e store.Event) bool { return e.Revision <= above })
}

// changes are the pushes among them.
func changes(t testing.TB, s store.Store) (list []store.Change) {
	t.Helper()
	for _, e := range events(t, s, 0) {
		if e.Change != nil {
			list = append(list, *e.Change)
		}
	}
	return list
}

func newest(t testing.TB, s store.Store) store.Cursor {
	t.Helper()
	cursor, err := s.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return cursor
}

// what describes events in short.
func what(events []store.Event) (list []string) {
	for _, e := range events {
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

func wantEvents(t *testing.T, s store.Store, above int64, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, what(events(t, s, above))); d != "" {
		t.Errorf("events above %d (-want +got):\n%s", above, d)
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
	list := events(t, s, 6)
	if !list[0].Deleted.CreatedAt.Equal(one.CreatedAt) || list[1].Pin.ID != two.ID || !list[1].Pin.AgentGone {
		t.Errorf("%+v", list)
	}
}

// testEventsKept: a reader that was away for less than a day misses nothing, however much an
// agent pushes, and another one is told that it does.
func testEventsKept(t *testing.T, db Database) {
	c := newClock()
	s := db.Open(t, Config{Now: c.Now, History: store.Retention{Revisions: 2, Age: 48 * time.Hour}})
	begin := newest(t, s)
	busy, quiet := agent(t, s, "busy"), agent(t, s, "quiet")
	push(t, s, "quiet", quiet, hashed(1, skill("x", "")))
	for v := range uint64(5) {
		push(t, s, "busy", busy, hashed(v+1, skill("x", fmt.Sprint(v))))
	}
	prune := func() {
		t.Helper()
		if err := s.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(name string, after store.Cursor, lost bool, count int) {
		t.Helper()
		page, err := s.Events(t.Context(), after, 100)
		if err != nil || page.Lost != lost || len(page.List) != count {
			t.Errorf("%s: %+v, %v", name, page, err)
		}
	}
	c.advance(store.EventsFor)
	prune()
	wants("a day", begin, false, 6)
	if list := events(t, s, 0); list[1].Change.Version != 1 || list[1].Change.Added != 1 || len(list[1].Change.Touched) != 1 {
		t.Errorf("the first, whose snapshot is gone: %+v", list[1].Change)
	}
	between := events(t, s, 0)[3].At
	wants("the rest of it", between, false, 2)
	c.advance(time.Second)
	push(t, s, "quiet", quiet, hashed(2, skill("x", "2")))
	for range 2 {
		prune()
		wants("longer", begin, true, 0)
		wants("longer, from between", between, true, 0)
		wants("from the beginning", store.Cursor{}, false, 1)
	}
	page, err := s.Events(t.Context(), begin, 1)
	if err != nil || page.Through.Compare(newest(t, s)) > 0 {
		t.Errorf("%+v, %v", page, err)
	}
	push(t, s, "quiet", quiet, hashed(3, skill("x", "3")))
	wants("on from there", page.Through, false, 1)
}

// testEventsLost: a cursor of another life of the database, or from the future, is none.
func testEventsLost(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	push(t, s, "a", agent(t, s, "a"), hashed(1, skill("x", "")))
	end := newest(t, s)
	for name, change := range map[string]func(*store.Cursor){
		"another life": func(c *store.Cursor) { c.Epoch = "other" },
		"the future":   func(c *store.Cursor) { c.Tx, c.N = c.Tx+1000, c.N+1000 },
	} {
		after := end
		change(&after)
		page, err := s.Events(t.Context(), after, 10)
		if err != nil || !page.Lost || page.Through.Compare(end) < 0 || page.Through.Epoch != end.Epoch || len(page.List) != 0 {
			t.Errorf("%s: %+v, %v", name, page, err)
		}
	}
}

// testEventsPages: by pages of any size the same, and also for a reader that only has the
// cursors' texts.
func testEventsPages(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	g := agent(t, s, "a")
	for range 3 {
		createPin(t, s, "a")
	}
	for v := range uint64(4) { // 4 hydrates three pins, 5 makes them drift
		push(t, s, "a", g, hashed(v+1, skill("x", fmt.Sprint(v))))
	}
	all := what(events(t, s, 0))
	for limit := range 8 {
		var got []string
		for after := (store.Cursor{}); ; {
			page, err := s.Events(t.Context(), after, limit)
			if err != nil || page.Lost || len(page.List) > max(limit, 1) {
				t.Fatalf("%+v, %v", page, err)
			}
			got = append(got, what(page.List)...)
			if after, err = store.ParseCursor(page.Through.String()); err != nil {
				t.Fatal(err)
			}
			if page.Last {
				break
			}
		}
		if d := cmp.Diff(all, got); d != "" {
			t.Errorf("by %d (-want +got):\n%s", limit, d)
		}
	}
	for _, e := range events(t, s, 0) { // from each on
		list, _ := follow(t, s, e.At, 2)
		if want := len(events(t, s, 0)); len(list) >= want {
			t.Errorf("%d of %d after %v", len(list), want, e.At)
		}
	}
}
