package sqlstore

import (
	"context"
	"sync"
	"time"

	"waymark/hub/store"
	"waymark/internal/await"
)

// Notices lets any number of goroutines wait for news in a store.
//
// A notice says only that there may be something: readers always read the database itself.
// So a notice that is lost, late or wrong costs time but never an event. All methods are
// safe for concurrent use.
type Notices struct {
	mu     sync.Mutex // guards count
	count  uint64
	more   await.Signal  // when count rises
	own    chan struct{} // has one if there are own ones that Own hasn't told
	closed chan struct{}
	once   sync.Once
}

// NewNotices returns Notices without any.
func NewNotices() *Notices { return &Notices{closed: make(chan struct{}), own: make(chan struct{}, 1)} }

// Give gives a notice of something that was committed here.
func (n *Notices) Give() {
	n.Hear()
	select {
	case n.own <- struct{}{}:
	default:
	}
}

// Own receives after notices of Give: once for several that came meanwhile.
func (n *Notices) Own() <-chan struct{} { return n.own }

// Hear gives a notice that came from elsewhere.
func (n *Notices) Hear() {
	n.mu.Lock()
	n.count++
	n.mu.Unlock()
	n.more.Notify()
}

// Count returns how many there were. To miss nothing, a reader takes it before it reads.
func (n *Notices) Count() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.count
}

// Close ends all waiting. It may be called twice.
func (n *Notices) Close() { n.once.Do(func() { close(n.closed) }) }

// Wait waits for a notice after the first heard ones, but not longer than poll.
func (n *Notices) Wait(ctx context.Context, heard uint64, poll time.Duration) error {
	timer := time.NewTimer(poll)
	defer timer.Stop()
	more := n.more.Changed() // before Count, so that no notice is missed
	for there := n.Count() != heard; ; {
		select { // what has ended counts first
		case <-n.closed:
			return store.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		if there {
			return nil
		}
		select {
		case <-more:
			there = true
		case <-timer.C:
			there = true
		case <-ctx.Done():
		case <-n.closed:
		}
	}
}
