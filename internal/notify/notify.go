// Package notify wakes any number of goroutines when something has changed.
//
// # Guarantees
//
// A waiter takes the channel of Changed first and reads the state after that;
// then no change between the two is lost:
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
// Who changes the state does so first and calls Notify after that. Several
// changes may wake a waiter once: what it gets is the newest state, not each.
//
// # Concurrency
//
// All methods may be called from any goroutine, also under the lock that guards
// the state.
package notify

import "sync"

// Signal tells its waiters that something has changed. The zero value is ready;
// a Signal must not be copied after its first use.
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
