package transport

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// minAdmitted and maxAdmitted limit the handshakes that ask the store at a time.
	minAdmitted, maxAdmitted = 4, 256
	// goodTime is how long the store may take for a handshake. Agents hang up after 10 s.
	goodTime = time.Second
	// admissionWait is how long a handshake may have to wait for its turn, as far as that is
	// known. Those that would wait longer are told when to come again.
	admissionWait = 3 * time.Second
	// maxRetry limits that time, in seconds: what draining takes is guessed at the worst moment,
	// and refusing an agent twice costs less than leaving it out after the storm.
	maxRetry = 30
)

// admission lets handshakes ask the store as fast as it answers them in good time. What is
// beyond isn't left waiting: a store that has more to do than it can would do everything for
// agents that have hung up.
type admission struct {
	mu    sync.Mutex // guards the rest
	limit int        // of those inside
	// inside have been let in and aren't answered. waiting are in order.
	inside  int
	waiting []chan struct{}
	// took is how long handshakes took lately.
	took time.Duration
	// refused is the number of those refused lately, who come again; it shrinks with those
	// that are let in.
	refused int
}

func newAdmission() *admission { return &admission{limit: minAdmitted * 4} }

// enter waits until a handshake may ask the store; leave must follow. If it may not, again is
// when to come again, in seconds.
func (a *admission) enter(ctx context.Context) (again int, ok bool) {
	a.mu.Lock()
	if a.inside < a.limit {
		a.inside++
		a.mu.Unlock()
		return 0, true
	}
	if a.drains(len(a.waiting)+1) > admissionWait {
		a.refused++
		// All that were refused are spread over the time that letting them in takes.
		spread := a.drains(len(a.waiting) + a.refused)
		a.mu.Unlock()
		return min(maxRetry, 1+int(rand.Float64()*spread.Seconds())), false //nolint:gosec // not a secret
	}
	turn := make(chan struct{})
	a.waiting = append(a.waiting, turn)
	a.mu.Unlock()
	select {
	case <-turn:
		return 0, true
	case <-ctx.Done():
		a.mu.Lock()
		defer a.mu.Unlock()
		for i, other := range a.waiting {
			if other == turn {
				a.waiting = append(a.waiting[:i], a.waiting[i+1:]...)
				return 1, false
			}
		}
		a.next() // its turn came at the same time
		return 1, false
	}
}

// drains is how long it takes to let in n more. The caller holds a.mu.
func (a *admission) drains(n int) time.Duration {
	return a.took * time.Duration(n) / time.Duration(a.limit)
}

// leave says that the store has answered a handshake.
func (a *admission) leave(took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.took += (took - a.took) / 8
	switch {
	case took > goodTime:
		a.limit = max(minAdmitted, a.limit-max(1, a.limit/8))
	case a.inside >= a.limit && took < goodTime/4:
		a.limit = min(maxAdmitted, a.limit+1)
	}
	a.refused = max(0, a.refused-1)
	a.next()
}

// next gives a place inside to those who wait. The caller holds a.mu.
func (a *admission) next() {
	a.inside--
	for len(a.waiting) > 0 && a.inside < a.limit {
		a.inside++
		close(a.waiting[0])
		a.waiting = a.waiting[1:]
	}
}
