package storetest

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/abi"
	"waymark/hub/store"
	"waymark/snapshot"
)

var historyTests = map[string]func(*testing.T, Database){
	"AsOf":        testAsOf,
	"HistoryList": testHistoryList,
	"Diff":        testDiff,
	"DiffMissing": testDiffMissing,
	"TextInAsking": func(t *testing.T, db Database) {
		testTextInAsking(t, db.Open(t, Config{}))
	},
}

// clock is a clock that tests move.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)} }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) advance(d time.Duration) time.Time {
	c.now = c.now.Add(d)
	return c.now.Truncate(time.Microsecond)
}

// testAsOf pushes for two agents in turn and then asks for every agent at
// every revision, and for every body.
func testAsOf(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	type state struct {
		version   uint64
		resources []snapshot.Resource
	}
	want := []map[string]state{{}} // by revision
	session := map[string]int64{"a": agent(t, s, "a"), "b": agent(t, s, "b")}
	second := full(2, skill("x", "2"), skill("y", "1"))
	for i, p := range []struct {
		agent string
		push  store.Push
		state []snapshot.Resource
	}{
		{"a", whole(1, skill("x", "1"), skill("y", "1")), []snapshot.Resource{skill("x", "1"), skill("y", "1")}},
		{"b", whole(9, skill("x", "of b")), []snapshot.Resource{skill("x", "of b")}},
		{"a", second, []snapshot.Resource{skill("x", "2"), skill("y", "1")}},
		{"a", delta(second.Update.Name, 3, ids(skill("y", ""))), []snapshot.Resource{skill("x", "2")}},
		{"a", delta(at(3), 4, nil, skill("x", "1"), skill("y", "1")), []snapshot.Resource{skill("x", "1"), skill("y", "1")}},
		{"b", whole(10), nil},
		{"a", whole(5, bare(abi.KindHook, "/h")), []snapshot.Resource{bare(abi.KindHook, "/h")}},
	} {
		result := push(t, s, p.agent, session[p.agent], p.push)
		if result.Revision != int64(i)+1 {
			t.Fatalf("push %d made revision %d", i, result.Revision)
		}
		now := map[string]state{p.agent: {p.push.Snapshot.Version, p.state}}
		for id, st := range want[i] {
			if id != p.agent {
				now[id] = st
			}
		}
		want = append(want, now)
	}
	want = append(want, want[len(want)-1]) // above the newest is the newest
	for revision := 1; revision < len(want); revision++ {
		for _, id := range []string{"a", "b"} {
			q := store.Query{AgentID: id, Revision: int64(revision)}
			got, err := s.Snapshot(t.Context(), q)
			st, exists := want[revision][id]
			if !exists {
				wantErr(t, err, store.ErrNotFound)
				continue
			}
			expected := snapshot.Snapshot{Version: st.version, Resources: sorted(st.resources)}
			for i := range st.resources {
				r := &st.resources[i]
				expected.PayloadBytes += int64(len(r.Payload))
				body, err := s.ResourceBody(t.Context(), q, r.ID())
				if string(body) != string(r.Payload) || (err == nil) != (r.Payload != nil) {
					t.Errorf("%s of %s at revision %d: %q, %v", r.ID(), id, revision, body, err)
				}
			}
			if d := diff(expected, got.Snapshot); err != nil || d != "" {
				t.Errorf("%s at revision %d: %v (-want +got):\n%s", id, revision, err, d)
			}
			q.WithoutPayloads = true
			light, err := s.Snapshot(t.Context(), q)
			for i := range got.Snapshot.Resources {
				got.Snapshot.Resources[i].Payload = nil
			}
			if d := cmp.Diff(got, light); err != nil || d != "" {
				t.Errorf("%s at revision %d without payloads: %v (-want +got):\n%s", id, revision, err, d)
			}
		}
	}
	_, err := s.ResourceBody(t.Context(), store.Query{AgentID: "a", Revision: 4}, ids(skill("y", ""))[0])
	wantErr(t, err, store.ErrNotFound)
}

func testHistoryList(t *testing.T, db Database) {
	c := newClock()
	s := db.Open(t, Config{Now: c.Now})
	_, err := s.History(t.Context(), "a")
	wantErr(t, err, store.ErrNotFound)
	g, other := agent(t, s, "a"), agent(t, s, "b")
	if list, err := s.History(t.Context(), "a"); err != nil || len(list) != 0 {
		t.Errorf("history of an agent that never pushed: %+v, %v", list, err)
	}
	first := c.advance(time.Second)
	p := whole(7, skill("x", "1"))
	p.Snapshot.AggregateHash = snapshot.Hash{1, 2}
	push(t, s, "a", g, p)
	push(t, s, "b", other, whole(1, skill("x", "1")))
	second := c.advance(time.Second)
	push(t, s, "a", g, whole(8))
	c.advance(time.Second)
	push(t, s, "a", g, whole(9)) // the same again: the revision keeps its time and takes the version
	list, err := s.History(t.Context(), "a")
	want := []store.Change{
		{Revision: 3, AgentID: "a", Version: 9, At: second, Removed: 1, Touched: ids(skill("x", "1"))},
		{Revision: 1, AgentID: "a", Version: 7, AggregateHash: snapshot.Hash{1, 2}, Resources: 1, At: first, Added: 1, Touched: ids(skill("x", "1"))},
	}
	if d := cmp.Diff(want, list); err != nil || d != "" {
		t.Errorf("history: %v (-want +got):\n%s", err, d)
	}
	if got := read(t, s, "a"); !got.ReceivedAt.Equal(second.Add(time.Second)) {
		t.Errorf("received at %v, want when it was last confirmed", got.ReceivedAt)
	}
}

func testDiff(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	g := agent(t, s, "a")
	other := agent(t, s, "b")
	states := [][]snapshot.Resource{
		{skill("x", "1"), skill("y", "1"), skill("z", "1")},
		{skill("x", "2"), skill("y", "1"), skill("w", "")},
		{skill("x", "1"), skill("y", "2")}, // x is changed back
		{},
		{skill("w", "new"), bare(abi.KindHook, "/é"), bare(abi.KindHook, "/Z"), skill("y", "2")},
	}
	var revisions []int64
	for i, st := range states {
		push(t, s, "b", other, whole(uint64(i)+1, skill("noise", strconv.Itoa(i))))
		revisions = append(revisions, push(t, s, "a", g, whole(uint64(i)+1, st...)).Revision)
	}
	for i, from := range states {
		for j, to := range states {
			want := compare(from, to)
			got, err := s.Diff(t.Context(), "a", revisions[i], revisions[j])
			if d := cmp.Diff(describe(want), describe(got)); err != nil || d != "" {
				t.Errorf("from %d to %d: %v (-want +got):\n%s", i, j, err, d)
			}
		}
		got, err := s.Diff(t.Context(), "a", revisions[i], 0)
		if d := cmp.Diff(describe(compare(from, states[len(states)-1])), describe(got)); err != nil || d != "" {
			t.Errorf("from %d to now: %v (-want +got):\n%s", i, err, d)
		}
	}
}

// describe returns a list of changes as text that can be compared: a digest stands for
// everything that a resource is.
func describe(changes []store.ResourceChange) (lines []string) {
	one := func(r *snapshot.Resource) string {
		if r == nil {
			return "none"
		}
		row, _ := store.Digests(r)
		return fmt.Sprintf("%q %x", r.Payload, row)
	}
	for _, ch := range changes {
		lines = append(lines, ch.ID+": "+one(ch.Before)+" → "+one(ch.After))
	}
	return lines
}

// compare is what Diff should say, in the plainest way.
func compare(from, to []snapshot.Resource) []store.ResourceChange {
	var changes []store.ResourceChange
	for _, r := range sorted(append(from[:len(from):len(from)], to...)) {
		ch := store.ResourceChange{ID: r.ID(), Before: find(from, r.ID()), After: find(to, r.ID())}
		same := ch.Before != nil && ch.After != nil && sameButFacts(*ch.Before, *ch.After)
		if repeated := len(changes) > 0 && changes[len(changes)-1].ID == ch.ID; !same && !repeated {
			changes = append(changes, ch)
		}
	}
	return changes
}

func find(list []snapshot.Resource, id string) *snapshot.Resource {
	for i := range list {
		if list[i].ID() == id {
			return &list[i]
		}
	}
	return nil
}

func testDiffMissing(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	_, err := s.Diff(t.Context(), "a", 1, 2)
	wantErr(t, err, store.ErrNotFound)
	g := agent(t, s, "b")
	push(t, s, "b", g, whole(1))
	g = agent(t, s, "a")
	_, err = s.Diff(t.Context(), "a", 0, 0)
	wantErr(t, err, store.ErrNotFound)
	push(t, s, "a", g, whole(1))
	_, err = s.Diff(t.Context(), "a", 1, 2) // before the agent's first
	wantErr(t, err, store.ErrNotFound)
	if list, err := s.Diff(t.Context(), "a", 2, 99); err != nil || len(list) != 0 {
		t.Errorf("a revision against itself: %+v, %v", list, err)
	}
}

// testTextInAsking asks with text that no database may be given: that finds
// nothing, like any other unknown name.
func testTextInAsking(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	push(t, s, "a", g, whole(1, skill("x", "1")))
	ctx := t.Context()
	for _, bad := range []string{"a\x00", "\xff", "a\xc3", "\x00"} {
		_, e1 := s.Snapshot(ctx, of(bad))
		_, e2 := s.ResourceBody(ctx, of(bad), "skill:/x")
		_, e3 := s.ResourceBody(ctx, of("a"), bad)
		_, e4 := s.History(ctx, bad)
		_, e5 := s.Diff(ctx, bad, 1, 2)
		_, _, e6 := s.BeginSession(ctx, bad, "")
		_, e7 := s.Push(ctx, bad, 1, whole(2))
		for _, err := range []error{e1, e2, e3, e4, e5, e6, e7, s.RevokeToken(ctx, bad)} {
			wantErr(t, err, store.ErrNotFound)
		}
		if valid, err := s.ValidTokens(ctx, []string{bad}); err != nil || len(valid) != 0 {
			t.Errorf("valid tokens: %q, %v", valid, err)
		}
	}
}
