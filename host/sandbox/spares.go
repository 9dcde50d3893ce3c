package sandbox

import (
	"context"
	"log/slog"
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

// want asks for one more spare. It is called when a run is over, so that
// preparing doesn't compete with running.
func (m *Module) want() {
	select {
	case m.wanted <- struct{}{}:
	default:
	}
}

// fill prepares spares until the module is closed.
func (m *Module) fill(ctx context.Context) {
	defer close(m.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.wanted:
			m.prepare(ctx)
		case settled := <-m.asked:
			m.prepareAll(ctx)
			close(settled)
		}
	}
}

func (m *Module) prepareAll(ctx context.Context) {
	for {
		select {
		case <-m.wanted:
			m.prepare(ctx)
		default:
			return
		}
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
