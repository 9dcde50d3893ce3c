package sandbox

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"waymark/internal/await"
)

// spares are instances of a module that are ready for later runs. An instance whose run is over
// is made ready for the next, if possible, by putting back what the run has changed. That takes
// some 0.1 ms, half of it to learn which pages have changed. A new instance from an image takes
// longer: wazero fills the tables of a Go guest, and the system maps and unmaps its memory.
type spares struct {
	ready    chan *instance     // ready for one run each
	retired  chan *instance     // instances whose run is over
	wake     await.Wake         // set when fill has something to do
	settling chan chan struct{} // closed by fill when nothing is pending; see Settle
	stop     context.CancelFunc
	done     chan struct{} // closed when fill has returned

	mu     sync.Mutex // guards the rest, and sending to retired
	active int        // runs, each of which will retire an instance
	wanted int        // as many spares as there have been runs at a time, 1 at first
	closed bool       // fill has ended, so nothing may be sent to retired
}

// startSpares keeps one spare for each resolver, at most 4.
func (m *Module) startSpares() {
	n := min(len(m.desc.Resolvers), 4)
	ctx, stop := context.WithCancel(context.Background())
	m.spares = spares{
		ready: make(chan *instance, n), retired: make(chan *instance, n), wake: await.NewWake(), wanted: min(1, n),
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

// take returns an instance that is ready, or makes one so.
func (m *Module) take(ctx context.Context) (*instance, error) {
	m.mu.Lock()
	m.active++
	m.wanted = max(m.wanted, min(m.active, cap(m.ready)))
	m.mu.Unlock()
	select {
	case in := <-m.ready:
		return in, nil
	default:
	}
	select {
	case in := <-m.retired:
		if m.rearm(in) {
			return in, nil
		}
		in.close()
	default:
	}
	in, err := m.newInstance(ctx)
	if err != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.active--
	}
	return in, err
}

// retire takes an instance whose run is over. Making it or another ready is deferred, because
// somebody is waiting for the result of the run.
func (m *Module) retire(in *instance) {
	in.fs.unbind()
	if !m.keepRetired(in) {
		m.discard(in)
	}
	m.wake.Set()
}

// discard closes an instance whose run is over, and records which pages the next will write.
func (m *Module) discard(in *instance) {
	m.learn(in)
	in.close()
}

// keepRetired queues an instance for later. It returns false if the queue is full, or if fill
// has ended and would not close it.
func (m *Module) keepRetired(in *instance) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.active--
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
		case <-m.wake:
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

// replace makes spares of the retired instances, and makes as many as are missing.
func (m *Module) replace(ctx context.Context) {
	for more := true; more; {
		select {
		case in := <-m.retired:
			if !m.rearm(in) {
				m.discard(in)
				continue
			}
			select {
			case m.ready <- in:
			default: // enough are ready
				in.close()
			}
		default:
			more = false
		}
	}
	for n := m.missing(); n > 0; n-- {
		m.prepare(ctx)
	}
	if m.image != nil {
		_ = m.image.memory.Trim()
		m.host.sayFresh()
	}
}

// missing returns how many spares to make. Each active run counts as a spare, because it
// will retire its instance.
func (m *Module) missing() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wanted - len(m.ready) - m.active
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
