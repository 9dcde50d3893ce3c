package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"waymark/hub/store"
	"waymark/hub/store/postgres"
	"waymark/test/pgtest"
)

// rival is a connection of somebody else, in a transaction.
func rival(t *testing.T, url string, statements ...string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	for _, statement := range append([]string{"BEGIN"}, statements...) {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return conn
}

// lockAgent locks an agent, as a push does.
const lockAgent = "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' agent a', 0))"

// longTimeouts is for stores that must not give up while a slow machine gets
// a test into the state that it wants.
const longTimeouts = "&lock_timeout=10min&statement_timeout=10min"

// waitBlocked returns when somebody waits for a lock of conn.
func waitBlocked(t *testing.T, url string, conn *pgx.Conn) {
	t.Helper()
	statement := fmt.Sprintf("SELECT count(*)::int FROM pg_stat_activity WHERE %d = ANY(pg_blocking_pids(pid))", conn.PgConn().PID())
	until(t, url, "somebody waits for a lock", statement, func(n int) bool { return n > 0 })
}

// TestDeadlock makes a push part of a deadlock of which it is the victim. The
// server looks for one once, some time after somebody has begun to wait: so the
// push has to be the last who does.
func TestDeadlock(t *testing.T) {
	url := pgtest.Database(t)
	// One connection, which knows its statements already when it is held up.
	st := open(t, url+longTimeouts+"&deadlock_timeout=50ms", postgres.Options{MaxConns: 1})
	g := session(t, st, "a")
	if _, err := st.Push(t.Context(), "a", g, state(1, 1)); err != nil {
		t.Fatal(err)
	}
	holdup := rival(t, url, "LOCK TABLE snapshots IN ACCESS EXCLUSIVE MODE")
	conn := rival(t, url, "SET deadlock_timeout = '10min'", "LOCK TABLE events IN EXCLUSIVE MODE")
	done, rivaled := make(chan error, 1), make(chan error, 1)
	go func() {
		result, err := st.Push(t.Context(), "a", g, state(2, 2))
		if err == nil && !result.Accepted {
			err = fmt.Errorf("%+v", result)
		}
		done <- err
	}()
	waitBlocked(t, url, holdup) // it has its agent, and has not told of the push
	go func() {
		_, err := conn.Exec(t.Context(), lockAgent)
		rivaled <- err
	}()
	waiting := fmt.Sprintf("SELECT cardinality(pg_blocking_pids(%d))", conn.PgConn().PID())
	until(t, url, "the rival waits for the agent", waiting, func(n int) bool { return n > 0 })
	if _, err := holdup.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := <-rivaled; err != nil {
		t.Fatal(err) // not the victim
	}
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	wantState(t, st, state(2, 2), store.PushResult{Revision: 3}) // no number comes again
}

// TestHeldUp has somebody hold a lock for longer than a hub waits.
func TestHeldUp(t *testing.T) {
	url := pgtest.Database(t)
	st := open(t, url+"&lock_timeout=100ms", postgres.Options{})
	g := session(t, st, "a")
	conn := rival(t, url, lockAgent)
	_, err := st.Push(t.Context(), "a", g, state(1, 1))
	if err == nil || !strings.Contains(err.Error(), "holds the database up") {
		t.Errorf("error is %v", err)
	}
	if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Push(t.Context(), "a", g, state(1, 1)); err != nil {
		t.Error(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	conn = rival(t, url, lockAgent)
	slow := open(t, url+longTimeouts, postgres.Options{})
	done := make(chan error)
	go func() {
		_, err := slow.Push(ctx, "a", g, state(2, 1))
		done <- err
	}()
	waitBlocked(t, url, conn)
	cancel() // its caller gives up
	if err := <-done; err == nil || ctx.Err() == nil {
		t.Error("a push goes on without its caller")
	}
	if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	// Whether it was stored all the same is open.
	if result, err := slow.Push(t.Context(), "a", g, state(3, 1)); err != nil || !result.Accepted {
		t.Errorf("after it: %+v, %v", result, err)
	}
}

// TestOthersUnderWay has a transaction that has begun to write take long to commit: nobody waits for
// it, readers see what others push meanwhile, and miss nothing whatever comes when.
func TestOthersUnderWay(t *testing.T) {
	url := pgtest.Database(t)
	st := open(t, url+longTimeouts, postgres.Options{})
	g := session(t, st, "a")
	begin, err := st.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn := rival(t, url, "INSERT INTO events (what, revision, agent_id, at) VALUES ('agent', 1, 'slow', 0)")
	read := func(after store.Cursor, want ...string) store.Events {
		t.Helper()
		page, err := st.Events(t.Context(), after, 100)
		var got []string
		for _, e := range page.List {
			if e.Change != nil {
				got = append(got, fmt.Sprint(e.Change.AgentID, e.Change.Version))
			} else {
				got = append(got, e.RemovedAgent)
			}
		}
		if err != nil || page.Lost || !slices.Equal(got, want) {
			t.Errorf("after %v: %v, %v; want %v", after, got, err, want)
		}
		return page
	}
	push := func(version uint64) {
		t.Helper()
		if result, err := st.Push(t.Context(), "a", g, state(version, 1)); err != nil || !result.Accepted {
			t.Fatalf("%+v, %v", result, err)
		}
	}
	text := func(page store.Events) store.Cursor { // what a reader has that connects again
		t.Helper()
		at, err := store.ParseCursor(page.Through.String())
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	push(1)
	first := read(begin, "a1")
	push(2)
	second := read(first.Through, "a2")
	if first.Through.Compare(second.Through) != 0 || first.List[0].At.Compare(first.Through) <= 0 {
		t.Errorf("the reader's cursor went from %v over %v to %v", first.Through, first.List[0].At, second.Through)
	}
	read(text(second), "a1", "a2")
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	third := read(second.Through, "slow")
	read(text(second), "slow", "a1", "a2")
	read(text(third))
	read(third.Through)
	push(3)
	read(third.Through, "a3")
	read(text(third), "a3")
}

// TestManyAtOnce reads more than a page of what came since the last look.
func TestManyAtOnce(t *testing.T) {
	url := pgtest.Database(t)
	st := open(t, url+longTimeouts, postgres.Options{})
	at, err := st.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g := session(t, st, "a")
	for v := range uint64(7) {
		if _, err := st.Push(t.Context(), "a", g, state(v+1, 1)); err != nil {
			t.Fatal(err)
		}
	}
	var got []uint64
	for last := false; !last; {
		page, err := st.Events(t.Context(), at, 3)
		if err != nil || page.Lost || len(page.List) > 3 {
			t.Fatalf("%+v, %v", page, err)
		}
		for _, e := range page.List {
			got = append(got, e.Change.Version)
		}
		at, last = page.Through, page.Last
	}
	if !slices.Equal(got, []uint64{1, 2, 3, 4, 5, 6, 7}) {
		t.Error(got)
	}
}

// TestAnotherServer: where ids of transactions may come again, the cursors of before are
// none.
func TestAnotherServer(t *testing.T) {
	url := pgtest.Database(t)
	st := open(t, url, postgres.Options{})
	g := session(t, st, "a")
	if _, err := st.Push(t.Context(), "a", g, state(1, 1)); err != nil {
		t.Fatal(err)
	}
	before, err := st.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if page, err := open(t, url, postgres.Options{}).Events(t.Context(), before, 10); err != nil || page.Lost {
		t.Errorf("another hub: %+v, %v", page, err)
	}
	pgtest.Exec(t, url, "UPDATE events_kept SET cluster = 'another'")
	if page, err := open(t, url, postgres.Options{}).Events(t.Context(), before, 10); err != nil || !page.Lost {
		t.Errorf("of another server: %+v, %v", page, err)
	}
}

// TestFewConnections has many more calls than connections.
func TestFewConnections(t *testing.T) {
	url := pgtest.Database(t)
	st := open(t, url, postgres.Options{MaxConns: 2})
	var wg sync.WaitGroup
	for i := range 30 {
		id := fmt.Sprint("agent-", i)
		g := session(t, st, id)
		wg.Go(func() {
			if _, err := st.Push(t.Context(), id, g, state(1, 3)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	// The server ends what was closed before, by a migration say, in its own time.
	const others = "SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
	until(t, url, "two connections are open at most", others, func(n int) bool { return n <= 2 })
}

// TestPayloadsInUse drops payloads that another push begins to use at the same
// moment, in all orders that the scheduler comes up with.
func TestPayloadsInUse(t *testing.T) {
	url := pgtest.Database(t)
	st := open(t, url, postgres.Options{History: store.Retention{Revisions: 1}})
	var wg sync.WaitGroup
	for i := range 6 {
		id := fmt.Sprint("agent-", i)
		g := session(t, st, id)
		wg.Go(func() {
			for v := range uint64(40) {
				p := state(v+1, 3)
				// Few contents, which come and go with all agents.
				for j := range p.Snapshot.Resources {
					p.Snapshot.Resources[j].Payload = fmt.Append(nil, (int(v)+i+j)%4)
				}
				if result, err := st.Push(t.Context(), id, g, p); err != nil || !result.Accepted {
					t.Errorf("%s: %+v, %v", id, result, err)
				}
			}
		})
		wg.Go(func() {
			if err := st.Prune(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := st.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := query[int](t, url, "SELECT count(DISTINCT body)::int FROM resources")
	if got := query[int](t, url, "SELECT count(*)::int FROM bodies"); got != want {
		t.Errorf("%d payloads are stored, %d are used", got, want)
	}
}
