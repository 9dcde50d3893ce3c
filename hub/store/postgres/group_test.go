package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"waymark/hub/store"
	"waymark/hub/store/postgres"
	"waymark/internal/credential"
	"waymark/test/pgtest"
)

// together pushes for many agents while the database is held up, so that most pushes meet in
// groups, and returns what each was told.
func together(t *testing.T, url string, st store.Store, generations []int64, push func(i int) store.Push) []error {
	t.Helper()
	conn := rival(t, url, "LOCK TABLE snapshots IN ACCESS EXCLUSIVE MODE")
	errs := make([]error, len(generations))
	var all sync.WaitGroup
	for i, g := range generations {
		all.Go(func() {
			result, err := st.Push(t.Context(), fmt.Sprint("agent-", i), g, push(i))
			if err == nil && !result.Accepted {
				err = fmt.Errorf("%+v", result)
			}
			errs[i] = err
		})
	}
	waitBlocked(t, url, conn)
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	return errs
}

// TestTogether: pushes that come at the same time share transactions, and each has what it
// brought.
func TestTogether(t *testing.T) {
	url := pgtest.Database(t)
	st := open(t, url+longTimeouts, postgres.Options{History: store.Retention{Revisions: 2}})
	generations := make([]int64, 40)
	for i := range generations {
		generations[i] = session(t, st, fmt.Sprint("agent-", i))
	}
	for version := uint64(1); version <= 5; version++ { // more than is kept
		for i, err := range together(t, url, st, generations, func(i int) store.Push { return state(version, i%5) }) {
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
		}
	}
	if n := query[int](t, url, "SELECT count(DISTINCT xid)::int FROM events"); n > 100 {
		t.Errorf("200 pushes took %d transactions", n)
	}
	for i := range generations {
		got, err := st.Snapshot(t.Context(), store.Query{AgentID: fmt.Sprint("agent-", i)})
		if err != nil || got.Snapshot.Version != 5 && i%5 > 0 || len(got.Snapshot.Resources) != i%5 {
			t.Errorf("%d: %+v, %v", i, got, err)
		}
		for _, r := range got.Snapshot.Resources {
			if !strings.HasPrefix(string(r.Payload), "5 of ") {
				t.Errorf("%d: %s is %q", i, r.ID(), r.Payload)
			}
		}
	}
	if n := query[int](t, url, "SELECT count(*)::int FROM (SELECT FROM snapshots GROUP BY agent_id HAVING count(*) > 2) AS s"); n > 0 {
		t.Errorf("%d agents have more history than is kept", n)
	}
}

// TestOneOfSeveralFails: what the database refuses for one agent fails alone.
func TestOneOfSeveralFails(t *testing.T) {
	url := pgtest.Database(t)
	st := open(t, url+longTimeouts, postgres.Options{})
	generations := make([]int64, 20)
	for i := range generations {
		generations[i] = session(t, st, fmt.Sprint("agent-", i))
	}
	pgtest.Exec(t, url, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not this one'; END $$`,
		"CREATE TRIGGER refuse BEFORE INSERT ON snapshots FOR EACH ROW WHEN (NEW.agent_id IN ('agent-7', 'agent-13')) EXECUTE FUNCTION refuse()")
	t.Cleanup(func() { pgtest.Exec(t, url, "DROP FUNCTION refuse CASCADE") })
	for version := range uint64(3) {
		for i, err := range together(t, url, st, generations, func(int) store.Push { return state(version+1, 2) }) {
			if bad := i == 7 || i == 13; bad != (err != nil) || bad && !strings.Contains(err.Error(), "not this one") {
				t.Errorf("%d: %v", i, err)
			}
		}
	}
	if n := query[int](t, url, "SELECT count(*)::int FROM events"); n != 3*18 {
		t.Errorf("%d events of %d pushes", n, 3*18)
	}
}

// TestGroupNotAnswered loses the connection after several pushes were committed together:
// all are stored, once, and their callers are told so.
func TestGroupNotAnswered(t *testing.T) {
	direct := pgtest.Database(t)
	p, url := newProxy(t, direct)
	st := open(t, url+longTimeouts, postgres.Options{})
	generations := make([]int64, 20)
	for i := range generations {
		generations[i] = session(t, st, fmt.Sprint("agent-", i))
	}
	for version := range uint64(3) {
		p.arm(atCommit())
		for i, err := range together(t, direct, st, generations, func(int) store.Push { return state(version+1, 2) }) {
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
		}
		if cuts := p.done(); cuts != 1 {
			t.Errorf("cut %d times", cuts)
		}
	}
	if n := query[int](t, direct, "SELECT count(*)::int FROM events"); n != 3*20 {
		t.Errorf("%d events of %d pushes", n, 3*20)
	}
}

// TestBeginTogether: sessions that begin at the same time share transactions; each gets a
// generation of its own, and an agent that isn't there is refused alone.
func TestBeginTogether(t *testing.T) {
	url := pgtest.Database(t)
	st := open(t, url+longTimeouts, postgres.Options{})
	const agents, each = 30, 3
	for i := range agents {
		session(t, st, fmt.Sprint("agent-", i))
	}
	conn := rival(t, url, "LOCK TABLE agents IN ACCESS EXCLUSIVE MODE")
	var mu sync.Mutex
	got := make(map[string][]int64)
	var all sync.WaitGroup
	for i := range (agents + 1) * each {
		all.Go(func() {
			id := fmt.Sprint("agent-", i%(agents+1))
			g, _, err := st.BeginSession(t.Context(), id, "")
			if missing := i%(agents+1) == agents; missing != errors.Is(err, store.ErrNotFound) || !missing && err != nil {
				t.Errorf("%s: %v", id, err)
			}
			mu.Lock()
			defer mu.Unlock()
			got[id] = append(got[id], g)
		})
	}
	waitBlocked(t, url, conn)
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	for i := range agents {
		list := got[fmt.Sprint("agent-", i)]
		if slices.Sort(list); !slices.Equal(list, []int64{2, 3, 4}) {
			t.Errorf("agent-%d has generations %v", i, list)
		}
	}
	if n := query[int](t, url, "SELECT count(DISTINCT xmin::text)::int FROM agents"); n > agents/2 {
		t.Errorf("%d agents were changed last by %d transactions", agents, n)
	}
}

// TestLookUpTogether: tokens that are looked up at the same time each find their own, or none,
// and one whose scope can't be read fails alone.
func TestLookUpTogether(t *testing.T) {
	url := pgtest.Database(t)
	st := open(t, url+longTimeouts, postgres.Options{})
	ids := make([]string, 30)
	hash := func(i int) credential.Hash { return credential.HashOf(fmt.Sprint("token-", i)) }
	for i := range ids {
		token, err := st.CreateToken(t.Context(), store.NewToken{Role: store.RoleReader, Hash: hash(i), Scope: []string{"a"}})
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = token.ID
	}
	pgtest.Exec(t, url, "UPDATE tokens SET scope_labels = 'null' WHERE id = '"+ids[7]+"'")
	conn := rival(t, url, "LOCK TABLE tokens IN ACCESS EXCLUSIVE MODE")
	var all sync.WaitGroup
	for i := range len(ids) + 1 {
		all.Go(func() {
			switch token, err := st.TokenByHash(t.Context(), hash(i)); {
			case i == 7:
				if !errors.Is(err, store.ErrCorrupt) {
					t.Errorf("the one with a bad scope: %+v, %v", token, err)
				}
			case i == len(ids):
				if !errors.Is(err, store.ErrNotFound) {
					t.Errorf("an unknown one: %+v, %v", token, err)
				}
			case err != nil || token.ID != ids[i]:
				t.Errorf("%d: %+v, %v", i, token, err)
			}
		})
	}
	waitBlocked(t, url, conn)
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	all.Wait()
}
