package sqlite_test

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waymark/hub/store"
	"waymark/hub/store/sqlite"
	"waymark/internal/credential"
	"waymark/snapshot"
)

// TestClockJumps: after a jump of the clock nothing is deleted for its age, neither by a push nor
// by pruning, and that is said; until the clock is back, or the database is opened anew. A clock
// that goes on, or is set a little, is no jump.
func TestClockJumps(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		set, runs time.Duration // how far the clock is set, and how long it goes on evenly
		reopened  bool
		left      int // of the three revisions, and the one that comes after all
	}{
		"forward":            {set: 40 * day, left: 4},
		"forward, reopened":  {set: 40 * day, reopened: true, left: 2},
		"back":               {set: -40 * day, left: 4},
		"asleep for 40 days": {runs: 40 * day, left: 2},
		"set a little":       {set: 59 * time.Minute, runs: 40 * day, left: 2},
	} {
		t.Run(name, func(t *testing.T) {
			var set, runs atomic.Int64
			start, path := time.Now(), filepath.Join(t.TempDir(), "hub.db")
			opened := func() *sqlite.DB {
				db, err := sqlite.Open(t.Context(), path, sqlite.Options{
					Now:     func() time.Time { return start.Add(time.Duration(set.Load() + runs.Load())) },
					Steady:  func() time.Duration { return time.Duration(runs.Load()) },
					History: store.Retention{Age: 30 * day},
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = db.Close() })
				return db
			}
			db := opened()
			if _, err := db.CreateToken(t.Context(), store.NewToken{Role: store.RoleAgent, AgentID: "a", Hash: credential.HashOf("a")}); err != nil {
				t.Fatal(err)
			}
			session, _, err := db.BeginSession(t.Context(), "a", "")
			if err != nil {
				t.Fatal(err)
			}
			version := uint64(0)
			change := func() {
				version++
				s := snapshot.Snapshot{Version: version, SnapshotError: strings.Repeat("x", int(version))}
				if result, err := db.Push(t.Context(), "a", session, store.Push{Initial: true, Snapshot: s}); err != nil || !result.Accepted {
					t.Fatal(result, err)
				}
			}
			for range 3 {
				change()
			}
			set.Store(int64(c.set))
			if c.reopened {
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				db = opened()
			}
			if _, err := db.Condition(t.Context()); err != nil { // a hub asks every few seconds
				t.Fatal(err)
			}
			runs.Store(int64(c.runs))
			change()
			if err := db.Prune(t.Context()); err != nil {
				t.Fatal(err)
			}
			if list, err := db.History(t.Context(), "a"); err != nil || len(list) != c.left {
				t.Errorf("%d revisions are left, want %d, %v", len(list), c.left, err)
			}
			want := -c.set
			if c.set.Abs() < time.Hour || c.reopened {
				want = 0
			}
			if got, err := db.Condition(t.Context()); err != nil || got.ClockOff != want {
				t.Errorf("the clock is off by %v, want %v, %v", got.ClockOff, want, err)
			}
			set.Store(0)
			if got, err := db.Condition(t.Context()); err != nil || !c.reopened && got.ClockOff != 0 {
				t.Errorf("it is back, and off by %v, %v", got.ClockOff, err)
			}
		})
	}
}
