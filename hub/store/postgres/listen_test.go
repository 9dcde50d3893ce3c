package postgres_test

import (
	"testing"

	"waymark/hub/store"
	"waymark/hub/store/postgres"
	"waymark/test/pgtest"
)

// listening returns when a hub listens on the database.
func listening(t *testing.T, url string) {
	t.Helper()
	const statement = `SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database()
		AND application_name = 'waymark-hub-listen' AND state = 'idle' AND query LIKE 'LISTEN%'`
	until(t, url, "a hub listens", statement, func(n int) bool { return n == 1 })
}

// TestListenAgain cuts a hub off from the database, also while it is told of a
// push, and has another hub push meanwhile: the first one hears of it all the
// same.
func TestListenAgain(t *testing.T) {
	direct := pgtest.Database(t)
	p, url := newProxy(t, direct)
	other, st := open(t, direct, postgres.Options{}), open(t, url, postgres.Options{MaxConns: 2})
	g := session(t, other, "a")
	heard := make(chan uint64)
	for round, trouble := range []func(cut chan<- struct{}){
		func(cut chan<- struct{}) { close(cut) }, // none
		func(cut chan<- struct{}) { p.cutAll(); close(cut) },
		func(cut chan<- struct{}) { // the notification itself is lost
			p.arm(func(kind byte, _ []byte) bool {
				if kind == 'A' {
					close(cut)
				}
				return kind == 'A'
			})
		},
		func(cut chan<- struct{}) { // and new connections fail, some times
			n := 0
			p.arm(func(byte, []byte) bool { n++; return n < 5 })
			p.cutAll()
			close(cut)
		},
	} {
		at, err := other.Newest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		go func() { heard <- hears(t, st, at) }()
		listening(t, direct)
		cut := make(chan struct{})
		trouble(cut)
		if _, err := other.Push(t.Context(), "a", g, state(uint64(round)+1, 1)); err != nil {
			t.Fatal(err)
		}
		<-cut
		if got := <-heard; got != uint64(round)+1 {
			t.Errorf("round %d: heard of version %d", round, got)
		}
		p.done()
	}
}

// hears waits for the next push after a cursor of another hub, and returns its version.
func hears(t *testing.T, st store.Store, at store.Cursor) uint64 {
	for {
		page, err := st.Events(t.Context(), at, 10)
		if err == nil && len(page.List) > 0 {
			return page.List[0].Change.Version
		}
		if err == nil {
			at = page.Through
		}
		if err := st.Wait(t.Context(), at); err != nil {
			t.Error(err)
			return 0
		}
	}
}
