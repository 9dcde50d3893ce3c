// Package notify wakes goroutines when something has changed: any number of them by a Signal,
// and the one that receives from it by a Wake.
//
// # Guarantees
//
// A waiter calls Changed first and reads the state after that, so that no change between the
// two is lost:
//
//	for {
//		changed := signal.Changed()
//		if state := get(); ok(state) {
//			return state
//		}
//		select {
//		case <-changed:
//		case <-ctx.Done():
//			return ctx.Err()
//		}
//	}
//
// Change the state first, and call Notify after that. Several changes may wake a waiter once:
// it sees the newest state, not each one.
//
// # Concurrency
//
// All methods may be called from any goroutine, even under the lock that guards the state.
package notify

import "sync"

// Signal tells its waiters that something has changed. The zero value is ready; a Signal must
// not be copied after its first use.
type Signal struct {
	mu      sync.Mutex    // guards changed
	changed chan struct{} // closed by the next Notify; nil while nobody waits
}

// Changed returns a channel that the next Notify closes.
func (s *Signal) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// Notify wakes everybody who has called Changed since the last Notify.
func (s *Signal) Notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// Wake wakes the one goroutine that receives from it. It holds at most one token, however
// often it is set before the goroutine looks.
type Wake chan struct{}

// NewWake makes a Wake that holds nothing.
func NewWake() Wake { return make(Wake, 1) }

// Set makes the goroutine look, now or when it next receives. It never blocks.
func (w Wake) Set() {
	select {
	case w <- struct{}{}:
	default:
	}
}
