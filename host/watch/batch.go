package watch

import (
	"context"
	"slices"
	"time"
)

// Batch says who should look again.
type Batch struct {
	// All says that everybody should; Owners is empty then.
	All bool
	// Owners are sorted, and in the watcher at the time of the batch.
	Owners []string
	// Reason is one of the Reason constants, for a person: the weightiest,
	// when several batches were merged.
	Reason string
}

// The reasons of a Batch, the weightiest first.
const (
	// ReasonOverflow: events were lost.
	ReasonOverflow = "overflow"
	// ReasonRecovered: notifications work again.
	ReasonRecovered = "recovered"
	// ReasonEvents: something happened to what an owner asked for.
	ReasonEvents = "events"
	// ReasonAdded: watches or names were added, so something may have
	// happened just before.
	ReasonAdded = "watches added"
	// ReasonPoll: notifications don't work, or not for all directories.
	ReasonPoll = "poll"
	// ReasonRecheck: the safety re-check.
	ReasonRecheck = "recheck"
)

// reasons ranks the reasons.
var reasons = []string{ReasonOverflow, ReasonRecovered, ReasonEvents, ReasonAdded, ReasonPoll, ReasonRecheck}

// pending is a batch in the making. It holds each owner once.
type pending struct {
	all         bool
	owners      map[*subscription]struct{}
	reason      string
	first, last time.Time // when it began, and when something was last added
}

func (p *pending) empty() bool { return !p.all && len(p.owners) == 0 }

func (p *pending) add(o *subscription, reason string) {
	if p.owners == nil {
		p.owners = map[*subscription]struct{}{}
	}
	p.owners[o] = struct{}{}
	p.because(reason)
}

func (p *pending) addAll(reason string) {
	p.all = true
	p.because(reason)
}

func (p *pending) because(reason string) {
	if p.reason == "" || slices.Index(reasons, reason) < slices.Index(reasons, p.reason) {
		p.reason = reason
	}
}

func (p *pending) merge(other *pending) {
	p.all = p.all || other.all
	for o := range other.owners {
		p.add(o, other.reason)
	}
	p.because(other.reason)
}

func (p *pending) forget(o *subscription) {
	delete(p.owners, o)
	if p.empty() {
		p.reason = ""
	}
}

func (p *pending) batch() Batch {
	b := Batch{All: p.all, Reason: p.reason}
	if !p.all {
		for o := range p.owners {
			b.Owners = append(b.Owners, o.name)
		}
		slices.Sort(b.Owners)
	}
	return b
}

// gatherLocked puts an owner into the batch that waits for quiet. The caller holds
// mu.
func (w *Watcher) gatherLocked(o *subscription, reason string) {
	w.touchLocked()
	w.gathering.add(o, reason)
}

// gatherAllLocked is gather for everybody.
func (w *Watcher) gatherAllLocked(reason string) {
	w.touchLocked()
	w.gathering.addAll(reason)
}

func (w *Watcher) touchLocked() {
	now := time.Now()
	if w.gathering.empty() {
		w.gathering.first = now
		signal(w.rearm)
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
		case <-w.rearm:
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
// is taken to be checking everything until it calls Wait again; meanwhile no re-check or
// poll comes due.
func (w *Watcher) Wait(ctx context.Context) (Batch, error) {
	w.endCheck()
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

// endCheck notes that the taker of the last batch is done with it.
func (w *Watcher) endCheck() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checking = false
	if w.postponed {
		w.postponed, w.resumed = false, true
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
