package postgres_test

import (
	"testing"

	"waymark/hub/store/postgres"
	"waymark/test/pgtest"
)

// listening returns when a hub listens on the database.
func listening(t *testing.T, url string) {
	t.Helper()
	const statement = `SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database()
		AND application_name = 'waymark-hub-listen' AND state = 'idle' AND query = 'SELECT value FROM revision'`
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
	heard := make(chan int64)
	revision := int64(0)
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
		go func() {
			got, err := st.Wait(t.Context(), revision)
			if err != nil {
				t.Error(err)
			}
			heard <- got
		}()
		listening(t, direct)
		cut := make(chan struct{})
		trouble(cut)
		result, err := other.Push(t.Context(), "a", g, state(uint64(round)+1, 1))
		if err != nil {
			t.Fatal(err)
		}
		<-cut
		if got := <-heard; got != result.Revision {
			t.Errorf("round %d: heard of revision %d, want %d", round, got, result.Revision)
		}
		revision = result.Revision
		p.done()
	}
}

// TestSetBack has a database be restored from a backup while hubs are there.
func TestSetBack(t *testing.T) {
	url := pgtest.Database(t)
	st := open(t, url, postgres.Options{})
	g := session(t, st, "a")
	var revision int64
	for v := range uint64(3) {
		result, err := st.Push(t.Context(), "a", g, state(v+1, 1))
		if err != nil {
			t.Fatal(err)
		}
		revision = result.Revision
	}
	heard := make(chan int64)
	go func() {
		got, err := st.Wait(t.Context(), revision)
		if err != nil {
			t.Error(err)
		}
		heard <- got
	}()
	pgtest.Exec(t, url, "DELETE FROM snapshots WHERE revision > 1", "UPDATE revision SET value = 1", "NOTIFY waymark_revision")
	if got := <-heard; got != 1 {
		t.Errorf("heard of revision %d, want 1", got)
	}
}
