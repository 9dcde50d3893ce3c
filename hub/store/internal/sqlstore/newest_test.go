package sqlstore_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waymark/hub/store"
	"waymark/hub/store/internal/sqlstore"
)

var errDown = errors.New("the database is down")

type result struct {
	revision int64
	err      error
}

// TestWait has somebody wait for what comes after 5, with a database that
// says what each step says.
func TestWait(t *testing.T) {
	for name, tc := range map[string]struct {
		database func() (int64, error)
		poll     time.Duration
		steps    func(r *sqlstore.Revision, database *atomic.Int64)
		want     result
	}{
		"there is more": {steps: func(_ *sqlstore.Revision, db *atomic.Int64) {}, database: func() (int64, error) { return 9, nil }, want: result{9, nil}},
		"set back":      {steps: func(_ *sqlstore.Revision, db *atomic.Int64) {}, database: func() (int64, error) { return 2, nil }, want: result{2, nil}},
		"announced":     {steps: func(r *sqlstore.Revision, db *atomic.Int64) { db.Store(7); r.Announce(7) }, want: result{7, nil}},
		"announced late": {steps: func(r *sqlstore.Revision, db *atomic.Int64) {
			r.Announce(4) // an older one is no news
			db.Store(8)
			r.Announce(6) // and what counts is what the database says
		}, want: result{8, nil}},
		"nothing said": {poll: time.Second, steps: func(_ *sqlstore.Revision, db *atomic.Int64) { db.Store(6); time.Sleep(time.Second) }, want: result{6, nil}},
		"reset":        {steps: func(r *sqlstore.Revision, db *atomic.Int64) { db.Store(3); r.Reset(3) }, want: result{3, nil}},
		"database down": {database: func() (int64, error) { return 0, errDown }, steps: func(r *sqlstore.Revision, _ *atomic.Int64) {
			r.Announce(6)
		}, want: result{6, nil}},
		"closed": {steps: func(r *sqlstore.Revision, _ *atomic.Int64) { r.Close(); r.Close() }, want: result{0, store.ErrClosed}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, database := sqlstore.NewRevision(), new(atomic.Int64)
				database.Store(5)
				r.Announce(5)
				got := make(chan result, 1)
				go func() {
					revision, err := r.Wait(t.Context(), 5, tc.poll, func(context.Context) (int64, error) {
						if tc.database != nil {
							return tc.database()
						}
						return database.Load(), nil
					})
					got <- result{revision, err}
				}()
				synctest.Wait()
				tc.steps(r, database)
				if g := <-got; g.revision != tc.want.revision || !errors.Is(g.err, tc.want.err) {
					t.Errorf("got %+v, want %+v", g, tc.want)
				}
			})
		})
	}
}

// TestAskedAgain: somebody who comes from a future that was lost is told so,
// also when the database doesn't answer at first and nothing is announced.
func TestAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sqlstore.NewRevision()
		r.Announce(5)
		failures := 2
		revision, err := r.Wait(t.Context(), 9, 0, func(context.Context) (int64, error) {
			if failures > 0 {
				failures--
				return 0, errDown
			}
			return 5, nil
		})
		if err != nil || revision != 5 {
			t.Errorf("got %d, %v", revision, err)
		}
	})
}

// TestWaitOn goes on waiting when there is nothing new.
func TestWaitOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sqlstore.NewRevision()
		ctx, cancel := context.WithCancel(t.Context())
		reads := 0
		ended := make(chan error, 1)
		go func() {
			_, err := r.Wait(ctx, 5, time.Second, func(context.Context) (int64, error) {
				reads++
				if reads%2 == 0 {
					return 0, errDown
				}
				return 5, nil
			})
			ended <- err
		}()
		r.Announce(5)
		r.Reset(2) // from somebody who knows less than the database
		time.Sleep(time.Minute)
		synctest.Wait()
		if reads < 60 || len(ended) > 0 {
			t.Errorf("asked %d times in a minute, ended %d times", reads, len(ended))
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}
