package host

import (
	"context"
	"errors"
	"sync"
)

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
