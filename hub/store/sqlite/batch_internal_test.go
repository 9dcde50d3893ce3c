package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"waymark/hub/store"
	"waymark/hub/store/internal/sqlstore"
	"waymark/internal/credential"
	"waymark/snapshot"
)

// held is a store whose changes wait until the test makes them.
type held struct {
	*DB
	t       *testing.T
	results []chan error
}

func hold(t *testing.T) *held {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "hub.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	db.changes.running = true // so that nobody else makes them
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return &held{DB: db, t: t}
}

// ask asks for a change and returns once it waits.
func (h *held) ask(ctx context.Context, j *job) {
	result, before := make(chan error, 1), len(h.changes.known())
	h.results = append(h.results, result)
	go func() { result <- h.changes.do(ctx, j) }()
	for len(h.changes.known()) == before {
		runtime.Gosched()
	}
}

// add asks for a change that adds a row, and then returns err.
func (h *held) add(name string, err error) *job {
	j := &job{run: func(ctx context.Context, tx *transaction) error {
		_, failed := tx.ExecContext(ctx, "INSERT INTO agents (id, name, created_at) VALUES ($1, '', 0)", name)
		return errors.Join(failed, err)
	}}
	h.ask(h.t.Context(), j)
	return j
}

// want makes a batch and compares what the callers are told, and what is there.
func (h *held) want(rows string, results ...error) {
	h.t.Helper()
	h.changes.batch()
	for i, want := range results {
		if err := <-h.results[i]; !errors.Is(err, want) {
			h.t.Errorf("change %d: %v, want %v", i, err, want)
		}
	}
	h.results = h.results[len(results):]
	var got string
	if err := h.read.QueryRowContext(h.t.Context(), "SELECT coalesce(group_concat(id, ' ' ORDER BY id), '') FROM agents").Scan(&got); err != nil {
		h.t.Fatal(err)
	}
	if got != rows {
		h.t.Errorf("there are %q, want %q", got, rows)
	}
}

// TestBatch makes what waits in one transaction, and remembers it when that is there.
func TestBatch(t *testing.T) {
	h := hold(t)
	seen := make(map[*transaction]int)
	committed := 0
	for i := range maxBatch + 1 {
		h.ask(t.Context(), &job{
			run: func(_ context.Context, tx *transaction) error {
				if seen[tx]++; committed > 0 {
					t.Error("committed before all were made")
				}
				if i%2 == 1 {
					return refusal{store.ErrFullNeeded}
				}
				return nil
			},
			committed: func() { committed++ },
		})
	}
	h.changes.batch()
	for i, result := range h.results[:maxBatch] {
		if err := <-result; (i%2 == 1) != errors.Is(err, store.ErrFullNeeded) {
			t.Errorf("change %d: %v", i, err)
		}
	}
	if len(seen) != 1 || committed != maxBatch/2 || len(h.changes.known()) != 1 {
		t.Errorf("made in %d transactions, %d are remembered, %d wait", len(seen), committed, len(h.changes.known()))
	}
	committed = 0
	h.changes.batch()
	if err := <-h.results[maxBatch]; err != nil || committed != 1 {
		t.Errorf("the last one: %v", err)
	}
}

// TestBatchBytes bounds what is made in one transaction, but for one change.
func TestBatchBytes(t *testing.T) {
	h := hold(t)
	for _, bytes := range []int64{maxBatchBytes + 1, maxBatchBytes / 2, maxBatchBytes / 2, 1} {
		h.ask(t.Context(), &job{bytes: bytes, run: func(context.Context, *transaction) error { return nil }})
	}
	for _, want := range []int{3, 1, 0} {
		h.changes.batch()
		if n := len(h.changes.known()); n != want {
			t.Errorf("%d wait, want %d", n, want)
		}
	}
}

// TestBatchFails: what one has written and given up is gone, and the others are made.
func TestBatchFails(t *testing.T) {
	h, bad := hold(t), errors.New("bad")
	h.add("a", nil)
	h.add("b", bad)
	h.add("c", nil)
	h.want("a c", nil, bad, nil)
	h.add("d", bad)
	h.want("a c", bad)
	h.add("e", nil)
	h.want("a c e", nil)
}

// TestBatchCallers: one who goes before it is begun isn't served, and doesn't keep the
// others from being; what is begun is made, and answered.
func TestBatchCallers(t *testing.T) {
	h := hold(t)
	gone, leave := context.WithCancel(t.Context())
	during, end := context.WithCancel(t.Context())
	never := &job{run: func(context.Context, *transaction) error { t.Error("made for nobody"); return nil }}
	h.add("a", nil)
	h.ask(gone, never)
	leave()
	if err := <-h.results[1]; !errors.Is(err, context.Canceled) || len(h.changes.known()) != 1 {
		t.Errorf("gone: %v", err)
	}
	h.results = h.results[:1]
	if err := h.changes.do(gone, never); !errors.Is(err, context.Canceled) {
		t.Errorf("gone before: %v", err)
	}
	h.ask(during, &job{run: func(ctx context.Context, tx *transaction) error {
		end()
		_, err := tx.ExecContext(ctx, "INSERT INTO agents (id, name, created_at) VALUES ('b', '', 0)")
		return err
	}})
	h.add("c", nil)
	h.want("a b c", nil, nil, nil)
}

// TestBatchPanics: a defect is its caller's, and the others' changes are made.
func TestBatchPanics(t *testing.T) {
	h := hold(t)
	panicked := make(chan any, 1)
	h.add("a", nil)
	go func() {
		defer func() { panicked <- recover() }()
		err := h.changes.do(t.Context(), &job{run: func(ctx context.Context, tx *transaction) error {
			if _, err := tx.ExecContext(ctx, "INSERT INTO agents (id, name, created_at) VALUES ('b', '', 0)"); err != nil {
				t.Error(err)
			}
			panic("defect")
		}})
		t.Errorf("no panic, %v", err)
	}()
	for len(h.changes.known()) < 2 {
		runtime.Gosched()
	}
	h.add("c", nil)
	h.want("a c", nil, nil)
	if p := fmt.Sprint(<-panicked); !strings.HasPrefix(p, "defect\n") || !strings.Contains(p, "TestBatchPanics") {
		t.Errorf("the panic is %s", p)
	}
	h.add("d", nil)
	h.want("a c d", nil)
}

// TestBatchFull: one that has no room on the disk doesn't take it from the others.
func TestBatchFull(t *testing.T) {
	h := hold(t)
	var pages int
	if err := h.read.QueryRowContext(t.Context(), "PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if _, err := h.write.ExecContext(t.Context(), fmt.Sprint("PRAGMA max_page_count = ", pages+20)); err != nil {
		t.Fatal(err)
	}
	h.add("a", nil)
	h.ask(t.Context(), &job{run: func(ctx context.Context, tx *transaction) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO bodies (hash, payload) VALUES (randomblob(32), randomblob(1000000))")
		return err
	}})
	h.add("b", nil)
	h.changes.batch()
	for i, full := range []bool{false, true, false} {
		if err := <-h.results[i]; full != (err != nil && strings.Contains(err.Error(), "disk is full")) {
			t.Errorf("change %d: %v", i, err)
		}
	}
	h.results = nil
	h.want("a b")
}

// TestBatchClose ends with what waits, and refuses what comes after it.
func TestBatchClose(t *testing.T) {
	h := hold(t)
	h.changes.closed = true
	if err := h.changes.do(t.Context(), &job{}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// TestFold: what commits have left in the WAL is in the database soon, without one of
// them having waited for that.
func TestFold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hub.db")
	db, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.CreateToken(t.Context(), store.NewToken{Role: store.RoleAgent, AgentID: "a", Hash: credential.HashOf("a")}); err != nil {
		t.Fatal(err)
	}
	g, _, err := db.BeginSession(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	const pushes, size = 60, 100 << 10 // half of what a commit folds
	for v := range uint64(pushes) {
		r := snapshot.Resource{Kind: "skill", Source: fmt.Sprint("/", v), Status: snapshot.StatusOK, Payload: slices.Repeat([]byte{byte(v)}, size)}
		if _, err := db.Push(t.Context(), "a", g, store.Push{Snapshot: snapshot.Snapshot{Version: v + 1, Resources: []snapshot.Resource{r}}}); err != nil {
			t.Fatal(err)
		}
	}
	db.changes.close()
	db.fold.close()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() < foldPages*4096/2 {
		t.Errorf("the database has %d bytes after pushes of %d", info.Size(), pushes*size)
	}
}

// TestHeads bounds what is remembered.
func TestHeads(t *testing.T) {
	var h heads
	rows := func(n int) map[string]sqlstore.Stored {
		m := make(map[string]sqlstore.Stored, n)
		for i := range n {
			m[fmt.Sprint(i)] = sqlstore.Stored{}
		}
		return m
	}
	put := func(agent string, revision int64, n int) {
		h.put(agent, &head{past: []sqlstore.Past{{Revision: revision}}, rows: rows(n)})
		sum := 0
		for _, known := range h.byAgent {
			sum += len(known.rows)
		}
		if sum != h.rows || sum > maxHeadRows || len(h.byAgent) > maxHeads {
			t.Fatalf("%d agents, %d rows, %d are counted", len(h.byAgent), sum, h.rows)
		}
	}
	put("a", 1, maxHeadRows/2)
	put("a", 2, maxHeadRows/2)
	put("b", 3, maxHeadRows/2)
	if h.get("a", 1) != nil || h.get("a", 2) == nil || h.get("b", 3) == nil {
		t.Error("not what was put last")
	}
	put("c", 4, 1)
	if h.get("a", 2) != nil || h.get("c", 4) == nil {
		t.Error("too much is remembered")
	}
	put("d", 5, maxHeadRows+1)
	if known := h.get("d", 5); known == nil || known.rows != nil {
		t.Error("one agent's rows are more than all may be")
	}
	for i := range maxHeads + 1 {
		put(fmt.Sprint(i), 6, 0)
	}
}
