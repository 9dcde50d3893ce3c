package postgres_test

import (
	"context"
	"fmt"
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
	conn := rival(t, url, "SET deadlock_timeout = '10min'", "SELECT * FROM revision FOR UPDATE")
	done, rivaled := make(chan error, 1), make(chan error, 1)
	go func() {
		result, err := st.Push(t.Context(), "a", g, state(2, 2))
		if err == nil && !result.Accepted {
			err = fmt.Errorf("%+v", result)
		}
		done <- err
	}()
	waitBlocked(t, url, holdup) // it has its agent, and not yet the revision
	go func() {
		_, err := conn.Exec(t.Context(), "SELECT * FROM agents FOR UPDATE")
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
	wantState(t, st, state(2, 2), store.PushResult{Revision: 2})
}

// TestHeldUp has somebody hold a lock for longer than a hub waits.
func TestHeldUp(t *testing.T) {
	url := pgtest.Database(t)
	st := open(t, url+"&lock_timeout=100ms", postgres.Options{})
	g := session(t, st, "a")
	conn := rival(t, url, "SELECT * FROM agents FOR UPDATE")
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
	conn = rival(t, url, "SELECT * FROM agents FOR UPDATE")
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
	if result, err := slow.Push(t.Context(), "a", g, state(2, 1)); err != nil || !result.Accepted {
		t.Errorf("after it: %+v, %v", result, err)
	}
}

// TestRevisionsInOrder has a push that has taken its revision take long to
// commit: nobody may see a later revision before.
func TestRevisionsInOrder(t *testing.T) {
	url := pgtest.Database(t)
	st := open(t, url+longTimeouts, postgres.Options{})
	g := session(t, st, "a")
	conn := rival(t, url, "UPDATE revision SET value = value + 1", // revision 1
		"INSERT INTO agents (id, name, created_at) VALUES ('slow', '', 0)",
		`INSERT INTO snapshots (revision, agent_id, step, generation, version, aggregate_hash, snapshot_error, plugins,
		   resources, added, changed, removed, touched, payload_bytes, row_bytes, written_bytes, created_at, received_at, discovery, summary)
		 VALUES (1, 'slow', 1, 1, 1, '', '', '[]', 0, 0, 0, 0, '[]', 0, 0, 0, 0, 0, '{}', '{}')`)
	done := make(chan error)
	go func() {
		_, err := st.Push(t.Context(), "a", g, state(1, 1))
		done <- err
	}()
	waitBlocked(t, url, conn)
	if list, err := st.Changes(t.Context(), 0, 10); err != nil || len(list) != 0 {
		t.Errorf("changes before the first is committed: %+v, %v", list, err)
	}
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	list, err := st.Changes(t.Context(), 0, 10)
	if err != nil || len(list) != 2 || list[0].AgentID != "slow" || list[1].AgentID != "a" || list[1].Revision != 2 {
		t.Errorf("changes: %+v, %v", list, err)
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
