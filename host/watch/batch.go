package watch

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Batch says which owners should look again.
type Batch struct {
	// All says that all owners should; Owners is then empty.
	All bool
	// Owners are sorted, and in the watcher at the time of the batch.
	Owners []string
	// Reason is one of the Reason constants, for a person: the most important one if several
	// batches were merged.
	Reason string
	// Paths are the absolute paths of the events, sorted. The path of a directory stands for
	// everything below it. Paths is empty if something else may have happened or there are
	// too many paths; the owners must then check everything that they asked for.
	Paths []string
}

// maxPaths is how many paths a batch names. With more, looking at everything is cheaper than
// comparing them.
const maxPaths = 64

// The reasons of a Batch, most important first.
const (
	// ReasonOverflow: events were lost.
	ReasonOverflow = "overflow"
	// ReasonRecovered: notifications work again.
	ReasonRecovered = "recovered"
	// ReasonEvents: something happened to what an owner asked for.
	ReasonEvents = "events"
	// ReasonAdded: watches or names were added, so something may have happened just before.
	ReasonAdded = "watches added"
	// ReasonPoll: notifications don't work, or not for all directories.
	ReasonPoll = "poll"
	// ReasonRecheck: the safety recheck.
	ReasonRecheck = "recheck"
)

// reasons ranks the reasons.
var reasons = []string{ReasonOverflow, ReasonRecovered, ReasonEvents, ReasonAdded, ReasonPoll, ReasonRecheck}

// pending is a batch that is being gathered. It holds each owner once.
type pending struct {
	all         bool
	owners      map[*subscription]struct{}
	reason      string
	first, last time.Time           // when it began, and when something was last added
	paths       map[string]progress // of the events
	half        int                 // how many of paths may be incomplete
	vague       bool                // it is not only for events of known paths; paths is then empty
}

// progress is what the events of a path say about it.
type progress struct {
	born bool // it didn't exist when the batch began
	half bool // more events may follow
}

func (p *pending) empty() bool { return !p.all && len(p.owners) == 0 }

// finished reports whether all changes in the batch are complete.
func (p *pending) finished() bool { return len(p.paths) > 0 && p.half == 0 }

// event records an event of a path; named says that an owner asked for exactly this name. It
// is idempotent.
func (p *pending) event(path string, op Op, named bool) {
	if p.vague {
		return
	}
	s, known := p.paths[path]
	was := s.half
	switch {
	case op&OpFinish != 0:
		// A new file whose name nobody asked for may be about to be renamed.
		s.half = op&OpCreate == 0 && s.born && !named
	case op&OpCreate != 0:
		s.born, s.half = s.born || !known, true
	case op&(OpRemove|OpRename) != 0:
		s.half = !s.born // an old path may be created again
	default:
		s.half = true
	}
	switch {
	case s.half && !was:
		p.half++
	case was && !s.half:
		p.half--
	}
	p.note(path, s)
}

// note records the progress of a path.
func (p *pending) note(path string, s progress) {
	if p.vague {
		return
	}
	if p.paths == nil {
		p.paths = map[string]progress{}
	}
	if p.paths[path] = s; len(p.paths) > maxPaths {
		p.blur()
	}
}

// blur records that the batch is for more than events of known paths.
func (p *pending) blur() { p.vague, p.paths = true, nil }

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

// merge adds another batch to p, which is ready to be handed out. Whether their paths are
// complete no longer matters.
func (p *pending) merge(other *pending) {
	p.all = p.all || other.all
	for o := range other.owners {
		p.add(o, other.reason)
	}
	for path, s := range other.paths {
		p.note(path, s)
	}
	if other.vague {
		p.blur()
	}
	p.because(other.reason)
}

func (p *pending) forget(o *subscription) {
	delete(p.owners, o)
	if p.empty() {
		*p = pending{}
	}
}

func (p *pending) batch() Batch {
	b := Batch{All: p.all, Reason: p.reason, Paths: slices.Sorted(maps.Keys(p.paths))}
	if !p.all {
		for o := range p.owners {
			b.Owners = append(b.Owners, o.name)
		}
		slices.Sort(b.Owners)
	}
	return b
}

// gatherLocked adds an owner to the current batch, for more than an event. The caller holds
// mu, and releases it with unlock.
func (w *Watcher) gatherLocked(o *subscription, reason string) {
	w.touchLocked()
	w.gathering.add(o, reason)
	w.gathering.blur()
}

// gatherEventLocked is gatherLocked for an event of a path.
func (w *Watcher) gatherEventLocked(o *subscription, path string, op Op, named bool) {
	w.touchLocked()
	w.gathering.add(o, ReasonEvents)
	w.gathering.event(path, op, named)
}

// gatherAllLocked is gatherLocked for all owners.
func (w *Watcher) gatherAllLocked(reason string) {
	w.touchLocked()
	w.gathering.addAll(reason)
	w.gathering.blur()
}

func (w *Watcher) touchLocked() {
	now := time.Now()
	if w.gathering.empty() {
		w.gathering.first = now
	}
	w.gathering.last = now
}

// unlock releases mu after something may have been gathered or the keeper may have become
// idle. It hands out what is due at once, without another goroutine. The timer is for the
// rest.
func (w *Watcher) unlock() {
	defer w.mu.Unlock()
	g := &w.gathering
	if g.empty() {
		return
	}
	now := time.Now()
	due := w.dueLocked()
	if now.Before(due) {
		w.alarmLocked(now, due)
		return
	}
	w.ready.merge(g)
	*g, w.handed = pending{}, now
	w.silenceLocked()
	w.full.Set()
}

// dueLocked returns when to hand out the batch: at once if everything in it is complete, else
// after a quiet period. While the keeper is busy there is no quiet, because what it finds
// belongs to the same batch. A batch soon after another one also waits, because somebody may
// be writing a file in steps and closing it after each.
func (w *Watcher) dueLocked() time.Time {
	g := &w.gathering
	last := g.first.Add(w.opts.MaxWait)
	if w.busy {
		return last
	}
	if g.finished() && g.first.Sub(w.handed) >= w.opts.Quiet {
		return g.first
	}
	if quiet := g.last.Add(w.opts.Quiet); quiet.Before(last) {
		return quiet
	}
	return last
}

// alarmLocked has unlock called when a batch is due. It keeps an earlier alarm, because
// resetting it at each event would cost more.
func (w *Watcher) alarmLocked(now, due time.Time) {
	if !w.alarm.IsZero() && !due.Before(w.alarm) || w.ended {
		return
	}
	w.alarm = due
	if w.timer == nil {
		w.timer = time.AfterFunc(due.Sub(now), w.ring)
		return
	}
	w.timer.Reset(due.Sub(now))
}

// silenceLocked stops the alarm.
func (w *Watcher) silenceLocked() {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.alarm = time.Time{}
}

// ring is called by the alarm.
func (w *Watcher) ring() {
	w.mu.Lock()
	w.alarm = time.Time{}
	w.unlock()
}

// Wait returns the next batch; batches that nobody waited for are merged into one. When ctx
// is done it returns its error, and after the end of Run or Close ErrClosed. One goroutine
// may call it. A caller that got a Batch with All is assumed to check everything until its
// next call; meanwhile no recheck or poll is due.
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

// endCheck records that the receiver of the last batch is done with it.
func (w *Watcher) endCheck() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checking = false
	if w.postponed {
		w.postponed, w.resumed = false, true
		w.wake.Set()
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
