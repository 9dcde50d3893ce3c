package watch

import (
	"context"
	"time"
)

// gather puts an owner into the batch that waits for quiet. The caller holds
// mu.
func (w *Watcher) gather(o *owned, reason string) {
	w.gathers()
	w.gathering.add(o, reason)
}

// gatherAll is gather for everybody.
func (w *Watcher) gatherAll(reason string) {
	w.gathers()
	w.gathering.addAll(reason)
}

func (w *Watcher) gathers() {
	now := time.Now()
	if w.gathering.empty() {
		w.gathering.first = now
		signal(w.poke)
	}
	w.gathering.last = now
}

// batch moves what is gathered on to Wait, in time.
func (w *Watcher) batch(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.poke:
		case <-timer.C:
		}
		if d := w.flush(); d > 0 {
			timer.Reset(d)
		}
	}
}

// flush hands out what is gathered when its time has come, else it returns
// how long to wait. While the keeper is at work there is no quiet: what it
// finds belongs to the same batch.
func (w *Watcher) flush() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := &w.gathering
	if g.empty() {
		return 0
	}
	due := g.first.Add(w.opts.MaxWait)
	if quiet := g.last.Add(w.opts.Quiet); !w.busy && quiet.Before(due) {
		due = quiet
	}
	if d := time.Until(due); d > 0 {
		return d
	}
	w.ready.merge(g)
	*g = pending{}
	signal(w.full)
	return 0
}

// Wait returns the next batch; those that came while nobody waited are merged
// into one. When ctx is done it returns its error, and after the end of Run
// or Close ErrClosed. One goroutine may call it. Whoever took a Batch with All
// is taken to be looking until it calls Wait again; meanwhile no re-check or
// poll comes due.
func (w *Watcher) Wait(ctx context.Context) (Batch, error) {
	w.back()
	for {
		if b, ok := w.take(); ok {
			return b, nil
		}
		select {
		case <-w.full:
		case <-ctx.Done():
			return Batch{}, ctx.Err()
		case <-w.done:
			return Batch{}, ErrClosed
		}
	}
}

// back notes that the taker of the last batch is done with it.
func (w *Watcher) back() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checking = false
	if w.owed {
		w.owed, w.resumed = false, true
		signal(w.wake)
	}
}

func (w *Watcher) take() (Batch, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ready.empty() {
		return Batch{}, false
	}
	b := w.ready.batch()
	w.ready = pending{}
	w.checking = b.All
	return b, true
}
