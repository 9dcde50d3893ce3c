package storetest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/hub/store"
)

// approvalTests are about signed approvals.
var approvalTests = map[string]func(*testing.T, Database){
	"ApprovalLife":      testApprovalLife,
	"ApprovalsRefused":  testApprovalsRefused,
	"ApprovalsAreFew":   testApprovalsAreFew,
	"ApprovalsTogether": testApprovalsTogether,
}

func newApproval(id string, expires time.Time) store.NewApproval {
	return store.NewApproval{ID: id, Signed: []byte("signed " + id), ExpiresAt: expires.Truncate(time.Second).UTC(), AddedBy: "token"}
}

func add(t *testing.T, s store.Store, na store.NewApproval) store.Approval {
	t.Helper()
	a, err := s.AddApproval(t.Context(), na)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func approvals(t *testing.T, s store.Store) (list []store.Approval, revision int64) {
	t.Helper()
	list, revision, err := s.Approvals(t.Context(), -1)
	if err != nil {
		t.Fatal(err)
	}
	return list, revision
}

// testApprovalLife: an approval is there for all hubs, in order, until it is long
// gone; each change is told by Wait.
func testApprovalLife(t *testing.T, db Database) {
	c := newClock()
	s, other := db.Open(t, Config{Now: c.Now}), db.Open(t, Config{Now: c.Now})
	list, none := approvals(t, s)
	if list == nil || len(list) != 0 {
		t.Errorf("an empty store has %v", list)
	}
	if list, revision, err := s.Approvals(t.Context(), none); err != nil || list != nil || revision != none {
		t.Errorf("nothing has changed: %v, %d, %v", list, revision, err)
	}
	woken := make(chan error, 1)
	at := newest(t, other)
	go func() { woken <- other.Wait(context.WithoutCancel(t.Context()), at) }()
	b := add(t, s, newApproval("b", c.Now().Add(time.Hour)))
	if err := <-woken; err != nil {
		t.Fatal(err)
	}
	if b.AddedAt.IsZero() || !b.Live(c.Now()) || b.Live(c.Now().Add(time.Hour)) {
		t.Errorf("added %+v", b)
	}
	again := add(t, other, newApproval("b", c.Now().Add(time.Hour)))
	if d := cmp.Diff(b, again); d != "" {
		t.Errorf("added again (-first +again):\n%s", d)
	}
	a := add(t, other, newApproval("a", c.Now().Add(2*time.Hour)))
	list, revision := approvals(t, s)
	if d := cmp.Diff([]store.Approval{a, b}, list); d != "" {
		t.Errorf("listed (-want +got):\n%s", d)
	}

	revoked, err := s.RevokeApproval(t.Context(), "b")
	if err != nil || revoked.RevokedAt.IsZero() || revoked.Live(c.Now()) {
		t.Fatalf("revoked %+v, %v", revoked, err)
	}
	c.advance(time.Minute)
	if again, err := other.RevokeApproval(t.Context(), "b"); err != nil || cmp.Diff(revoked, again) != "" {
		t.Errorf("revoked again: %+v, %v; was %+v", again, err, revoked)
	}
	if _, err := s.AddApproval(t.Context(), newApproval("b", c.Now().Add(time.Hour))); err == nil {
		t.Error("a revoked approval was added again")
	} else {
		wantErr(t, err, store.ErrApprovalExists)
	}
	list, now := approvals(t, other)
	if d := cmp.Diff([]store.Approval{a, revoked}, list); d != "" || now <= revision {
		t.Errorf("listed at %d, before %d (-want +got):\n%s", now, revision, d)
	}

	c.advance(40 * 24 * time.Hour)
	add(t, s, newApproval("c", c.Now().Add(time.Hour)))
	list, _ = approvals(t, s)
	if len(list) != 1 || list[0].ID != "c" {
		t.Errorf("long after: %+v", list)
	}
}

func testApprovalsRefused(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	later := time.Now().Add(time.Hour)
	add(t, s, newApproval("there", later))
	_, before := approvals(t, s)
	for name, change := range map[string]func(*store.NewApproval){
		"no id":          func(a *store.NewApproval) { a.ID = "" },
		"a path":         func(a *store.NewApproval) { a.ID = "../x" },
		"a long id":      func(a *store.NewApproval) { a.ID = strings.Repeat("x", 65) },
		"nothing signed": func(a *store.NewApproval) { a.Signed = nil },
		"long":           func(a *store.NewApproval) { a.Signed = make([]byte, store.MaxApproval+1) },
		"no end":         func(a *store.NewApproval) { a.ExpiresAt = time.Time{} },
		"NUL":            func(a *store.NewApproval) { a.AddedBy = "\x00" },
	} {
		na := newApproval("x", later)
		change(&na)
		_, err := s.AddApproval(t.Context(), na)
		if err == nil {
			t.Errorf("%s: added", name)
		}
		wantErr(t, err, store.ErrInvalid)
	}
	other := newApproval("there", later)
	other.Signed = []byte("another document")
	_, err := s.AddApproval(t.Context(), other)
	wantErr(t, err, store.ErrApprovalExists)
	for _, id := range []string{"x", "", "\x00", "\xff"} {
		_, err := s.RevokeApproval(t.Context(), id)
		wantErr(t, err, store.ErrNotFound)
	}
	if list, after := approvals(t, s); len(list) != 1 || after != before {
		t.Errorf("%d are there at %d, before %d", len(list), after, before)
	}
}

// testApprovalsAreFew: what agents get is bounded, and what they don't get doesn't
// count.
func testApprovalsAreFew(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	later := time.Now().Add(time.Hour)
	large := func(i int) store.NewApproval {
		na := newApproval(fmt.Sprintf("a%03d", i), later)
		na.Signed = bytes.Repeat([]byte{'x'}, store.MaxApproval)
		return na
	}
	expired := newApproval("expired", time.Now().Add(-time.Hour))
	expired.Signed = large(0).Signed
	add(t, s, expired)
	n := store.MaxApprovals / store.MaxApproval
	for i := range n {
		add(t, s, large(i))
	}
	_, err := s.AddApproval(t.Context(), large(n))
	wantErr(t, err, store.ErrTooManyApprovals)
	if _, err := s.RevokeApproval(t.Context(), "a000"); err != nil {
		t.Fatal(err)
	}
	add(t, s, large(n))
}

// testApprovalsTogether: two hubs change approvals at the same time.
func testApprovalsTogether(t *testing.T, db Database) {
	s, other := db.Open(t, Config{}), db.Open(t, Config{})
	later := time.Now().Add(time.Hour)
	var work sync.WaitGroup
	for n, st := range []store.Store{s, other, s, other} {
		work.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(n), 1))
			for i := range 10 {
				id := fmt.Sprintf("%d-%d", n, i)
				if _, err := st.AddApproval(t.Context(), newApproval(id, later)); err != nil {
					t.Error(err)
				}
				if _, err := st.AddApproval(t.Context(), newApproval("shared", later)); err != nil {
					t.Error(err)
				}
				if rnd.IntN(2) == 0 || i == 0 {
					if _, err := st.RevokeApproval(t.Context(), id); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	work.Wait()
	list, revision := approvals(t, s)
	others, at := approvals(t, other)
	if d := cmp.Diff(list, others); d != "" || len(list) != 41 || revision != at {
		t.Errorf("%d approvals at %d and %d (-one +other):\n%s", len(list), revision, at, d)
	}
	if i := slices.IndexFunc(list, func(a store.Approval) bool { return a.ID == "0-0" }); i < 0 || list[i].RevokedAt.IsZero() {
		t.Errorf("the first isn't revoked: %+v", list)
	}
}
