// Package newest lets many goroutines wait for the newest revision of a store.
//
// It knows the newest revision announced to it, which may be behind the database. Readers
// always read the database itself, so an announcement that is lost, late or wrong costs
// time but never a revision.
//
// All methods are safe for concurrent use.

package sqlstore

import (
	"context"
	"sync"
	"time"

	"waymark/hub/store"
	"waymark/internal/notify"
)

// Revision is the newest known revision. New makes one.
type Revision struct {
	mu      sync.Mutex // guards value
	value   int64
	changed notify.Signal // when value changes
	closed  chan struct{}
	once    sync.Once
}

// NewRevision returns a Revision that knows nothing yet.
func NewRevision() *Revision {
	return &Revision{value: -1, closed: make(chan struct{})}
}

// Announce makes a committed revision known. It ignores a revision older than the known
// one.
func (r *Revision) Announce(revision int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if revision > r.value {
		r.set(revision)
	}
}

// Reset sets the known revision to the database's. It may be lower than before, if the
// database was set back.
func (r *Revision) Reset(revision int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if revision != r.value {
		r.set(revision)
	}
}

func (r *Revision) set(revision int64) {
	r.value = revision
	r.changed.Notify()
}

// Known returns the newest known revision, -1 for none.
func (r *Revision) Known() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value
}

// Close ends all waiting. It may be called twice.
func (r *Revision) Close() { r.once.Do(func() { close(r.closed) }) }

// again is how soon a database that hasn't answered is asked once more.
const again = time.Second

// Wait implements store.Store.Wait. read asks the database; when it fails,
// Wait goes on with what is announced, and soon asks again. It also does so
// after each announcement, and every poll, for stores to which not everything
// is announced; 0 means never.
func (r *Revision) Wait(ctx context.Context, after int64, poll time.Duration, read func(context.Context) (int64, error)) (int64, error) {
	var tick <-chan time.Time
	if poll > 0 {
		ticker := time.NewTicker(poll)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-r.closed:
			return 0, store.ErrClosed
		default:
		}
		changed := r.changed.Changed() // before Known, so that no change is lost
		known := r.Known()
		// What is known may be old: a caller that comes from another hub may
		// know more, and here only wakes up.
		now, err := read(ctx)
		if ctx.Err() != nil {
			return 0, ctx.Err() // also when something newer is known: who waits in a loop ends
		}
		var failed <-chan time.Time
		if err != nil {
			now, failed = max(known, after), time.After(again)
		}
		if now != after {
			return now, nil
		}
		select {
		case <-changed:
		case <-tick:
		case <-failed:
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-r.closed:
			return 0, store.ErrClosed
		}
	}
}
