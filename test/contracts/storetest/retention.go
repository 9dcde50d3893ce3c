package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"waymark/hub/store"
	"waymark/snapshot"
)

var retentionTests = map[string]func(*testing.T, Database){
	"RetentionCount": testRetentionCount,
	"RetentionAge":   testRetentionAge,
	"RetentionBytes": testRetentionBytes,
	"RetentionOne":   testRetentionOne,
	"BodiesOnce":     testBodiesOnce,
	"BodiesPruned":   testBodiesPruned,
}

func revisions(t *testing.T, s store.Store, id string) (list []int64) {
	t.Helper()
	history, err := s.History(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, ch := range history {
		list = append(list, ch.Revision)
	}
	return list
}

func wantRevisions(t *testing.T, s store.Store, id string, want ...int64) {
	t.Helper()
	if got := revisions(t, s, id); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s has revisions %v, want %v", id, got, want)
	}
}

func testRetentionCount(t *testing.T, db Database) {
	s := db.Open(t, Config{History: store.Retention{Revisions: 3, Age: -1, Bytes: -1}})
	g, other := agent(t, s, "a"), agent(t, s, "b")
	push(t, s, "b", other, whole(1, skill("x", "1"), skill("mine", "m")))
	for v := range uint64(6) { // revisions 2 to 7; y is the same in all of them
		push(t, s, "a", g, whole(v+1, skill("x", fmt.Sprint(v)), skill("y", "y"), skill(fmt.Sprint("only-", v), fmt.Sprint("o", v))))
	}
	wantRevisions(t, s, "a", 7, 6, 5)
	wantRevisions(t, s, "b", 1)
	for revision, version := range map[int64]uint64{5: 4, 6: 5, 7: 6} {
		got, err := s.Snapshot(t.Context(), store.Query{AgentID: "a", Revision: revision})
		v := fmt.Sprint(version - 1)
		want := snapshot.Snapshot{Version: version, PayloadBytes: 4, Resources: sorted([]snapshot.Resource{
			skill("x", v), skill("y", "y"), skill("only-"+v, "o"+v),
		})}
		if d := diff(want, got.Snapshot); err != nil || d != "" {
			t.Errorf("revision %d: %v (-want +got):\n%s", revision, err, d)
		}
	}
	for revision := range int64(5) {
		if revision == 0 {
			continue // now
		}
		_, err := s.Snapshot(t.Context(), store.Query{AgentID: "a", Revision: revision})
		wantErr(t, err, store.ErrNotFound)
		_, err = s.Diff(t.Context(), "a", revision, 0)
		wantErr(t, err, store.ErrNotFound)
	}
	// Only what can be seen is left: 3 times x and only, one y; 1 and m of b.
	if n := db.Count(t, "resources"); n != 9 {
		t.Errorf("%d rows are left, want 9", n)
	}
	if n := db.Count(t, "bodies"); n != 9 {
		t.Errorf("%d payloads are left, want 9: x and only of three revisions, y, 1 and m", n)
	}
}

func testRetentionAge(t *testing.T, db Database) {
	c := newClock()
	s := db.Open(t, Config{Now: c.Now, History: store.Retention{Age: time.Hour, Bytes: -1}})
	g, quiet := agent(t, s, "a"), agent(t, s, "quiet")
	push(t, s, "a", g, whole(1, skill("x", "1")))         // revision 1 is the newest for 50 minutes
	push(t, s, "quiet", quiet, whole(1, skill("q", "1"))) // 2
	push(t, s, "quiet", quiet, whole(2, skill("q", "2"))) // 3
	c.advance(50 * time.Minute)
	push(t, s, "a", g, whole(2, skill("x", "2"))) // 4
	c.advance(50 * time.Minute)
	push(t, s, "a", g, whole(3, skill("x", "3"))) // 5
	wantRevisions(t, s, "a", 5, 4, 1)             // 1 was the newest until 50 minutes ago
	c.advance(10*time.Minute + time.Microsecond)
	push(t, s, "a", g, whole(4, skill("x", "4"))) // 6
	wantRevisions(t, s, "a", 6, 5, 4)
	wantRevisions(t, s, "quiet", 3, 2) // nobody has looked yet
	if err := s.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantRevisions(t, s, "quiet", 3)
	wantRevisions(t, s, "a", 6, 5, 4)
	c.advance(1000 * time.Hour)
	for range 2 { // the second time there is nothing to do
		if err := s.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantRevisions(t, s, "quiet", 3)
		wantRevisions(t, s, "a", 6) // the newest stays, however old
	}
	if bodies, rows := db.Count(t, "bodies"), db.Count(t, "resources"); bodies != 2 || rows != 2 {
		t.Errorf("%d payloads and %d rows are left, want 2 of each", bodies, rows)
	}
}

func testRetentionBytes(t *testing.T, db Database) {
	const size = 10_000
	// The past may hold three pushes of one payload, and the little on top.
	s := db.Open(t, Config{History: store.Retention{Bytes: 3*size + size/2}})
	g := agent(t, s, "a")
	text := func(v uint64) string { return strings.Repeat(fmt.Sprint(v%10), size) }
	for v := range uint64(6) {
		push(t, s, "a", g, whole(v+1, skill("x", text(v)), skill("still", text(9))))
	}
	// 1 wrote two payloads, each of the others one: 3, 4 and 5 fit together with 6.
	wantRevisions(t, s, "a", 6, 5, 4, 3)
	push(t, s, "a", g, whole(7, skill("small", "")))
	wantRevisions(t, s, "a", 7, 6, 5, 4)
	if n := db.Count(t, "bodies"); n != 5 { // of 4, 5, 6, still, and the empty one
		t.Errorf("%d payloads are left, want 5", n)
	}
}

// testRetentionOne keeps no past at all.
func testRetentionOne(t *testing.T, db Database) {
	s := db.Open(t, Config{History: store.Retention{Revisions: 1}})
	g := agent(t, s, "a")
	first := full(1, skill("x", "1"), skill("y", "1"), skill("z", "3"))
	push(t, s, "a", g, first)
	push(t, s, "a", g, delta(first.Update.Name, 2, ids(skill("z", "")), skill("x", "2")))
	push(t, s, "a", g, whole(3, skill("x", "2"), skill("y", "2")))
	wantRevisions(t, s, "a", 3)
	wantResources(t, s, "a", 3, skill("x", "2"), skill("y", "2"))
	if bodies, rows := db.Count(t, "bodies"), db.Count(t, "resources"); bodies != 1 || rows != 2 {
		t.Errorf("%d payloads and %d rows are left, want 1 and 2", bodies, rows)
	}
}

func testBodiesOnce(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	a, b := agent(t, s, "a"), agent(t, s, "b")
	var list []snapshot.Resource
	for i := range 20 {
		list = append(list, skill(fmt.Sprint(i), "the same text"))
	}
	lying := skill("lying", "another text")
	lying.ContentHash = list[0].ContentHash // what an agent says counts for nothing
	push(t, s, "a", a, whole(1, append(list, lying)...))
	push(t, s, "b", b, whole(1, list...))
	for v := range uint64(5) {
		push(t, s, "a", a, whole(v+2, append(list, lying, skill("on and off", fmt.Sprint(v%2)))...))
	}
	if n := db.Count(t, "bodies"); n != 4 {
		t.Errorf("%d payloads are stored, want 4", n)
	}
	for id, want := range map[string]string{lying.ID(): "another text", list[0].ID(): "the same text"} {
		if body, err := s.ResourceBody(t.Context(), of("a"), id); err != nil || string(body) != want {
			t.Errorf("%s is %q, %v", id, body, err)
		}
	}
	if body, err := s.ResourceBody(t.Context(), of("b"), list[3].ID()); err != nil || string(body) != "the same text" {
		t.Errorf("of b: %q, %v", body, err)
	}
}
