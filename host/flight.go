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
	done    chan struct{} // closed once report and err are set
	report  *Report
	err     error
	scope   scope // guarded by flights.mu until the flight departs
	waiting int   // guarded by flights.mu
}

// errNobodyWaits ends a refresh when all callers have given up.
var errNobodyWaits = errors.New("nobody waits for the refresh any more")

// flights lets callers share a refresh, but only one that hasn't begun yet: each caller is
// promised that the refresh sees what happened before the call.
type flights struct {
	work func(*flight) (*Report, error) // calls depart once it holds the host's turn
	life context.Context                //nolint:containedctx // the owner's

	wg   sync.WaitGroup // running flights
	mu   sync.Mutex     // guards next, done and the flight fields that name it
	next *flight        // can still be joined; nil if there is none
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

// start begins a flight, which first waits for the host's turn. The caller holds mu.
func (f *flights) start() *flight {
	flight := &flight{done: make(chan struct{})}
	flight.ctx, flight.cancel = context.WithCancelCause(f.life)
	f.wg.Go(func() {
		defer close(flight.done)
		defer flight.cancel(nil)
		flight.report, flight.err = f.work(flight)
		f.depart(flight) // in case work ended without reaching its turn
	})
	return flight
}

// depart is called when a flight begins to look at files. Later callers need another flight.
func (f *flights) depart(flight *flight) scope {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == flight {
		f.next = nil
	}
	return flight.scope
}

// leave removes one caller from a flight. The flight ends when the last one leaves.
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

// close prevents new flights and waits for running ones, which end with life.
func (f *flights) close() {
	f.mu.Lock()
	f.done = true
	f.mu.Unlock()
	f.wg.Wait()
}
