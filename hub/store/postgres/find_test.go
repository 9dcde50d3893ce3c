package postgres_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"waymark/hub/store"
	"waymark/hub/store/postgres"
	"waymark/test/pgtest"
	"waymark/test/testenv"
)

// scan is a node of a plan that was run.
type scan struct {
	Type    string  `json:"Node Type"`
	Rows    float64 `json:"Actual Rows"`
	Loops   float64 `json:"Actual Loops"`
	Removed float64 `json:"Rows Removed by Filter"`
	Recheck float64 `json:"Rows Removed by Index Recheck"`
	Plans   []scan
}

// read is the number of rows that the scans below have read.
func (s *scan) read() (n float64) {
	if len(s.Plans) == 0 {
		n = (s.Rows + s.Removed + s.Recheck) * s.Loops
	}
	for i := range s.Plans {
		n += s.Plans[i].read()
	}
	return n
}

// TestFindReads: a page of 100 agents reads at most 300 rows, however many agents there are.
func TestFindReads(t *testing.T) {
	url := pgtest.Database(t)
	db := open(t, url, postgres.Options{})
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	agents := 10_000
	if testenv.Long() {
		agents = 100_000
	}
	if _, err := db.Lease(t.Context(), store.PresentHub{ID: "h1"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`INSERT INTO agents (id, name, created_at, hub, seen_at, name_key, hostname_key, root_key, version_key, labels_key)
			SELECT 'a' || n, 'n' || n, n, CASE n % 3 WHEN 0 THEN '' WHEN 1 THEN 'away' ELSE 'h1' END, CASE n % 3 WHEN 0 THEN NULL ELSE n END,
			  'n' || n, 'host-' || n % 500, '/w/' || n, n % 3, 'env=' || n % 2 FROM generate_series(1, $1::int) n`,
		`INSERT INTO heads (agent_id, name_key, revision, pushed_at, resources, failing, drifted)
			SELECT 'a' || n, 'n' || n, n, n * 7 % $1, n % 50, CASE WHEN n % 100 = 0 THEN 1 ELSE 0 END, n % 2 FROM generate_series(1, $1::int) n`,
	} {
		if _, err := conn.Exec(t.Context(), statement, agents); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(t.Context(), "ANALYZE"); err != nil {
		t.Fatal(err)
	}
	queries := map[string]store.AgentQuery{
		"connected": {State: store.AgentConnected, Order: "name"}, "away": {State: store.AgentAway, Order: "state"}, "never": {State: store.AgentNeverConnected, Order: "state"},
	}
	for _, order := range store.AgentOrders {
		queries[order], queries[order+" down"] = store.AgentQuery{Order: order}, store.AgentQuery{Order: order, Down: true}
	}
	for name, q := range queries {
		q.Limit = 99 // and one that shows that there is another page
		middle := q
		for range 3 {
			page, err := db.FindAgents(t.Context(), middle)
			if err != nil || page.Total != store.MaxCount && q.State == "" {
				t.Fatal(page.Total, err)
			}
			middle.After = page.Next
		}
		for place, q := range map[string]store.AgentQuery{"first": q, "fourth": middle} {
			list, err := db.Plans(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			var read, most float64
			for _, s := range list {
				var text []byte
				if err := conn.QueryRow(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+s.SQL, s.Args...).Scan(&text); err != nil {
					t.Fatalf("%s: %v", s.SQL, err)
				}
				var plans []struct{ Plan scan }
				if err := json.Unmarshal(text, &plans); err != nil {
					t.Fatal(err)
				}
				read = plans[0].Plan.read()
				if most = max(most, read); read > 300 {
					t.Errorf("%s, %s page: %.0f rows are read:\n%s\n%s", name, place, read, s.SQL, text)
				}
			}
			t.Logf("%s, %s page of %d agents: %.0f rows read", name, place, agents, most)
		}
	}
}
