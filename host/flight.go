package host

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// scope is which roots a refresh looks at.
type scope struct {
	all    bool
	owners map[string]bool // of rootSlots
	// near are more owners, with absolute paths: what isn't at one of these needn't be
	// checked. That of all others is, soon after; see unchecked.
	near   map[string][]string
	paths  []string // those in which these lie, near these
	reason string
	// whole waits for all resolvers, slow for those that were postponed before; see
	// patience.
	whole, slow bool
}

// everything is the scope of a full refresh.
func everything(reason string) scope { return scope{all: true, reason: reason} }

func (s scope) covers(slot *rootSlot) bool {
	return s.all || s.owners[slot.owner] || s.near[slot.owner] != nil || slot.touches(s.paths)
}

// nearIn lists the paths near which a slot is to be checked, relative to its root.
// It is nil when everything is.
func (s scope) nearIn(slot *rootSlot) []string {
	if s.all || s.owners[slot.owner] || slot.open == nil {
		return nil
	}
	return slot.below(slices.Concat(s.near[slot.owner], s.paths))
}

// merge makes a scope that covers both.
func (s scope) merge(other scope) scope {
	merged := scope{
		all: s.all || other.all, owners: map[string]bool{}, near: map[string][]string{},
		paths: slices.Concat(s.paths, other.paths), reason: s.reason,
		whole: s.whole || other.whole, slow: s.slow || other.slow,
	}
	if merged.reason == "" || other.all && !s.all {
		merged.reason = other.reason
	}
	for _, owners := range []map[string]bool{s.owners, other.owners} {
		for owner := range owners {
			merged.owners[owner] = true
		}
	}
	for _, near := range []map[string][]string{s.near, other.near} {
		for owner, paths := range near {
			merged.near[owner] = append(merged.near[owner], paths...)
		}
	}
	return merged
}

// flight is one refresh that several callers wait for.
type flight struct {
	ctx     context.Context //nolint:containedctx // that of the work, which no single caller owns
	cancel  context.CancelCauseFunc
	done    chan struct{} // closed when report and err are set
	report  *Report
	err     error
	scope   scope // guarded by flights.mu until the flight departs
	waiting int   // guarded by flights.mu
}

// errNobodyWaits ends a refresh when all who wanted it have gone.
var errNobodyWaits = errors.New("nobody waits for the refresh any more")

// flights lets callers share a refresh, but only one that hasn't begun yet:
// each caller is promised that what it did before the call is seen.
type flights struct {
	work func(*flight) (*Report, error) // calls depart once it has its turn
	life context.Context                //nolint:containedctx // the owner's

	wg   sync.WaitGroup // flights that are going on
	mu   sync.Mutex     // guards next, done and the fields of flights that name it
	next *flight        // the one that can still be joined; nil when there is none
	done bool           // no more flights
}

// join waits for a refresh of a scope that begins after this call.
func (f *flights) join(ctx context.Context, want scope) (*Report, error) {
	f.mu.Lock()
	if f.done {
		f.mu.Unlock()
		return nil, ErrClosed
	}
	if f.next == nil {
		f.next = f.start()
	}
	flight := f.next
	flight.scope = flight.scope.merge(want)
	flight.waiting++
	f.mu.Unlock()

	select {
	case <-flight.done:
		return flight.report, flight.err
	case <-ctx.Done():
		f.leave(flight)
		return nil, context.Cause(ctx)
	}
}

// start begins a flight, which waits for its turn first. The caller holds mu.
func (f *flights) start() *flight {
	flight := &flight{done: make(chan struct{})}
	flight.ctx, flight.cancel = context.WithCancelCause(f.life)
	f.wg.Go(func() {
		defer close(flight.done)
		defer flight.cancel(nil)
		flight.report, flight.err = f.work(flight)
		f.depart(flight) // where work ended before its turn came
	})
	return flight
}

// depart is called when a flight begins to look at files: whoever comes later
// needs another one.
func (f *flights) depart(flight *flight) scope {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == flight {
		f.next = nil
	}
	return flight.scope
}

// leave takes one caller off a flight, which ends with the last.
func (f *flights) leave(flight *flight) {
	f.mu.Lock()
	flight.waiting--
	last := flight.waiting == 0
	if last && f.next == flight {
		f.next = nil
	}
	f.mu.Unlock()
	if last {
		flight.cancel(errNobodyWaits)
	}
}

// close lets no flight begin any more and waits for those that are going on;
// the end of life ends them.
func (f *flights) close() {
	f.mu.Lock()
	f.done = true
	f.mu.Unlock()
	f.wg.Wait()
}
