package sandbox

import (
	"context"
	"log/slog"
	"time"
)

// take gets a prepared instance, or prepares one.
func (m *Module) take(ctx context.Context) (*instance, error) {
	select {
	case in := <-m.spares:
		return in, nil
	default:
		in, _, err := m.newInstance(ctx)
		return in, err
	}
}

// retire takes an instance whose run is over, and asks for one more spare.
// Neither giving its memory back nor preparing another is done at once: the
// result is on its way to somebody who waits for it.
func (m *Module) retire(in *instance) {
	in.fs.unbind()
	if !m.keepRetired(in) {
		in.close()
	}
	select {
	case m.wanted <- struct{}{}:
	default:
	}
}

// keepRetired puts an instance aside, to be closed later. It reports false when
// enough are waiting, or nobody is left to close it.
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

// pause is how long after a run its instance is replaced: what comes after a
// run, up to the push, takes some 5 ms, and edits don't follow each other
// faster than every 15 ms. There are other spares meanwhile.
const pause = 10 * time.Millisecond

// fill closes instances and prepares spares until the module is closed.
func (m *Module) fill(ctx context.Context) {
	defer close(m.done)
	var due <-chan time.Time // nil while nothing is to be done
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.wanted:
			m.owed++
			if due == nil {
				due = time.After(pause)
			}
		case <-due:
			due = nil
			m.replace(ctx)
		case settled := <-m.asked:
			due = nil
			m.replace(ctx)
			close(settled)
		}
	}
}

// replace closes what is retired and prepares what is owed.
func (m *Module) replace(ctx context.Context) {
	for more := true; more; {
		select {
		case in := <-m.retired:
			in.close()
		case <-m.wanted:
			m.owed++
		default:
			more = false
		}
	}
	for ; m.owed > 0; m.owed-- {
		m.prepare(ctx)
	}
}

// prepare makes one spare.
func (m *Module) prepare(ctx context.Context) {
	in, _, err := m.newInstance(ctx)
	if err != nil {
		if ctx.Err() == nil {
			m.log.Warn("spare instance not prepared", slog.String("module", m.desc.Name), slog.Any("error", err))
		}
		return
	}
	select {
	case m.spares <- in:
	default: // enough are ready
		in.close()
	}
}

// Settle waits until the spares that past runs used up are prepared again. Only
// measurements need it: a run that finds no spare prepares its own.
func (m *Module) Settle(ctx context.Context) {
	settled := make(chan struct{})
	select {
	case m.asked <- settled:
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
