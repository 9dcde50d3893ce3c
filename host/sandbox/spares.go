package sandbox

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// spares are instances of a module that are prepared for later runs. Making one from an image
// takes a third of a millisecond, mostly for wazero to fill the tables of a Go guest.
// Cleaning up the memory of a past run takes as long again. For a small workspace that is as
// much as the run itself.
type spares struct {
	ready    chan *instance     // ready for one run each
	retired  chan *instance     // instances whose run is over, to be closed by fill
	requests chan struct{}      // one for each spare that fill is to prepare
	pending  int                // requests received and not yet served; only fill uses it
	settling chan chan struct{} // closed by fill when nothing is pending; see Settle
	stop     context.CancelFunc
	done     chan struct{} // closed when fill has returned

	mu     sync.Mutex // guards closed, and sending to retired
	closed bool       // fill has ended, so nothing may be sent to retired
}

// startSpares keeps one spare for each resolver, at most 4.
func (m *Module) startSpares() {
	n := min(len(m.desc.Resolvers), 4)
	ctx, stop := context.WithCancel(context.Background())
	m.spares = spares{
		ready: make(chan *instance, n), retired: make(chan *instance, n), requests: make(chan struct{}, n),
		settling: make(chan chan struct{}), stop: stop, done: make(chan struct{}),
	}
	if m.image != nil {
		m.image.memory.Reuse(n)
	}
	go m.fill(ctx)
}

// closeSpares stops preparing spares and closes existing ones.
func (m *Module) closeSpares() {
	m.stop()
	<-m.done
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	for {
		select {
		case in := <-m.ready:
			in.close()
		case in := <-m.retired:
			in.close()
		default:
			return
		}
	}
}

// take returns a prepared instance, or prepares one.
func (m *Module) take(ctx context.Context) (*instance, error) {
	select {
	case in := <-m.ready:
		return in, nil
	default:
		return m.newInstance(ctx)
	}
}

// retire takes an instance whose run is over, and requests one more spare. Both freeing its
// memory and preparing a spare are deferred, because somebody is waiting for the result of
// the run.
func (m *Module) retire(in *instance) {
	in.fs.unbind()
	if !m.keepRetired(in) {
		m.discard(in)
	}
	m.request()
}

// request asks for one more spare.
func (m *Module) request() {
	select {
	case m.requests <- struct{}{}:
	default:
	}
}

// discard closes an instance whose run is over, and records which pages the next will write.
func (m *Module) discard(in *instance) {
	if m.image != nil && m.image.warm.Load() < warmRuns {
		m.image.warm.Add(1)
		in.memory.Warm()
	}
	in.close()
}

// keepRetired queues an instance to be closed later. It returns false if the queue is full,
// or if fill has ended and would not close it.
func (m *Module) keepRetired(in *instance) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	select {
	case m.retired <- in:
		return true
	default:
		return false
	}
}

// refillDelay is how long after a run its instance is replaced. The work that follows a run,
// up to the push, takes some 5 ms, and edits arrive at most every 15 ms. Meanwhile there are
// other spares.
const refillDelay = 10 * time.Millisecond

// fill closes instances and prepares spares until the module is closed.
func (m *Module) fill(ctx context.Context) {
	defer close(m.done)
	var due <-chan time.Time // nil while there is nothing to do
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.requests:
			m.pending++
			if due == nil {
				due = time.After(refillDelay)
			}
		case <-due:
			due = nil
			m.replace(ctx)
		case settled := <-m.settling:
			due = nil
			m.replace(ctx)
			close(settled)
		}
	}
}

// replace closes the retired instances and prepares the requested spares.
func (m *Module) replace(ctx context.Context) {
	for more := true; more; {
		select {
		case in := <-m.retired:
			m.discard(in)
		case <-m.requests:
			m.pending++
		default:
			more = false
		}
	}
	for ; m.pending > 0; m.pending-- {
		m.prepare(ctx)
	}
	if m.image != nil {
		_ = m.image.memory.Trim()
		m.host.sayFresh()
	}
}

// prepare makes one spare.
func (m *Module) prepare(ctx context.Context) {
	in, err := m.newInstance(ctx)
	if err != nil {
		if ctx.Err() == nil {
			m.log.Warn("spare instance not prepared", slog.String("module", m.desc.Name), slog.Any("error", err))
		}
		return
	}
	select {
	case m.ready <- in:
	default: // enough are ready
		in.close()
	}
}

// Settle waits until the spares that past runs used up are replaced. Runs don't need it,
// because one that finds no spare prepares its own. It is for measurements, and for callers
// that want to be idle afterwards.
func (m *Module) Settle(ctx context.Context) {
	settled := make(chan struct{})
	select {
	case m.settling <- settled:
	case <-m.done:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-settled:
	case <-m.done:
	}
}
