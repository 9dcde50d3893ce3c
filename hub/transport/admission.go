package transport

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	// minAdmitted and maxAdmitted limit the agents that are being let in at a time.
	minAdmitted, maxAdmitted = 4, 256
	// goodTime is how long the store may take for all that an agent wants until it is current.
	// Agents hang up after 10 s.
	goodTime = time.Second
	// After firstWait an agent that waits for its turn is told to come again if it would wait for
	// more than moreWait. Until then it is known how fast the store is in this storm.
	firstWait, moreWait = 4 * time.Second, 4 * time.Second
	// maxRetry limits when that is, in seconds: refusing an agent twice costs less than leaving it
	// out after the storm.
	maxRetry = 10
	// rateOver is how far back the rate goes by which that is guessed.
	rateOver = 2 * time.Second
	// patience is how much time an agent that has been let in may take for itself, while the
	// store waits for it: more than a push takes on most lines. It keeps its connection.
	patience = 2 * time.Second
)

// admission lets agents in as fast as the store makes them current in good time: a place
// inside is for a handshake and the first push, which the store has most work with. What is
// beyond isn't left waiting: a store that has more to do than it can would do everything for
// agents that have hung up.
type admission struct {
	mu    sync.Mutex // guards the rest
	limit int        // of those inside
	// inside have a place. waiting are in order.
	inside  int
	waiting []chan struct{}
	// rate is how many places were given back per second lately, last when the last one was.
	rate float64
	last time.Time
	// cut is when limit was last lowered: once for all that were inside then.
	cut time.Time
	// refused is the number of those refused lately, who come again; it shrinks with those
	// that are let in.
	refused int
}

func newAdmission() *admission { return &admission{limit: minAdmitted * 4} }

// enter waits until an agent may ask the store. If it may not, there is no place, and again
// is when to come again, in seconds.
func (a *admission) enter(ctx context.Context) (p *place, again int) {
	a.mu.Lock()
	if a.inside < a.limit {
		a.inside++
		a.mu.Unlock()
		return a.place(), 0
	}
	turn := make(chan struct{})
	a.waiting = append(a.waiting, turn)
	a.mu.Unlock()
	first := time.NewTimer(firstWait)
	defer first.Stop()
	for {
		select {
		case <-turn:
			return a.place(), 0
		case <-first.C:
			if again = a.far(turn); again > 0 {
				return nil, again
			}
		case <-ctx.Done():
			a.mu.Lock()
			defer a.mu.Unlock()
			if i := slices.Index(a.waiting, turn); i >= 0 {
				a.waiting = slices.Delete(a.waiting, i, i+1)
			} else {
				a.next() // its turn came at the same time
			}
			return nil, 1
		}
	}
}

// far refuses the agent whose turn is too far away. All that are refused are spread over half of
// the time that letting them in is expected to take: a storm's rate rises. 0 says that it may
// wait on.
func (a *admission) far(turn chan struct{}) (again int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.waiting, turn)
	if i < 0 || a.drains(i+1) <= moreWait {
		return 0
	}
	a.waiting = slices.Delete(a.waiting, i, i+1)
	a.refused++
	spread := min(maxRetry, a.drains(len(a.waiting)+a.refused).Seconds()/2)
	return 1 + int(rand.Float64()*spread) //nolint:gosec // not a secret
}

// drains is how long it takes to let in n more. The caller holds a.mu.
func (a *admission) drains(n int) time.Duration {
	return time.Duration(float64(n) / max(1, a.decayed(time.Now())) * float64(time.Second))
}

// decayed is the rate at that time. The caller holds a.mu.
func (a *admission) decayed(now time.Time) float64 {
	return a.rate * math.Exp(-float64(now.Sub(a.last))/float64(rateOver))
}

// leave gives back a place that was taken since begun, while the store worked for the agent for
// as long as asked; done says that this made it current.
func (a *admission) leave(begun time.Time, asked time.Duration, done bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.rate, a.last = a.decayed(now)+1/rateOver.Seconds(), now
	switch {
	case asked > goodTime && begun.After(a.cut):
		a.limit, a.cut = max(minAdmitted, a.limit*3/4), now
	case done && a.inside >= a.limit && asked < goodTime/2:
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

// place is that of an agent inside. It ends with the first push that is decided, with the
// connection, or when the agent's own time is over. nil is that of a connection that needs
// none.
type place struct {
	admission *admission
	begun     time.Time

	mu    sync.Mutex // guards the rest
	calls int        // of the agent, that the store is asked for
	since time.Time  // when the first of them began, or the last one ended
	asked time.Duration
	// own ends the place when the agent has had its own time; rest is what it has left.
	own  *time.Timer
	rest time.Duration
	left bool
}

// place takes a place, with a call.
func (a *admission) place() *place {
	now := time.Now()
	return &place{admission: a, begun: now, since: now, calls: 1, rest: patience}
}

// ask and answered say that the store is asked for the agent, and has answered.
func (p *place) ask() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls++; p.calls == 1 && !p.left {
		p.own.Stop()
		p.rest -= p.turn()
	}
}

func (p *place) answered() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls--; p.calls == 0 && !p.left {
		p.asked += p.turn()
		p.own = time.AfterFunc(p.rest, func() { p.leave(false) })
	}
}

// turn returns how long it was the agent's or the store's turn, and begins the other's. The
// caller holds p.mu.
func (p *place) turn() time.Duration {
	now := time.Now()
	took := now.Sub(p.since)
	p.since = now
	return took
}

// leave gives the place back, once; done says that the agent's push is decided.
func (p *place) leave(done bool) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left {
		return
	}
	p.left = true
	if p.own != nil {
		p.own.Stop()
	}
	if p.calls > 0 {
		p.asked += p.turn()
	}
	p.admission.leave(p.begun, p.asked, done)
}
