package await

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
