package watch

import (
	"context"
	"maps"
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
	// Paths are the absolute paths of the events, sorted; of a directory it may be
	// anything below it. There are none when something may have happened besides,
	// or when they are too many to name: then all that the owners asked for has to
	// be looked at.
	Paths []string
}

// maxPaths is how many paths a batch names. From there on it is cheaper to look
// at everything than to compare them.
const maxPaths = 64

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
	first, last time.Time           // when it began, and when something was last added
	paths       map[string]progress // of the events
	half        int                 // how many of paths may be half done
	vague       bool                // it isn't for the events of some paths alone; paths is empty then
}

// progress is what the events of a path say about it.
type progress struct {
	born bool // it wasn't there when the batch began
	half bool // there may be more to come
}

func (p *pending) empty() bool { return !p.all && len(p.owners) == 0 }

// finished reports whether nothing that it is for may be half done.
func (p *pending) finished() bool { return len(p.paths) > 0 && p.half == 0 }

// event notes an event of a path; named says that somebody asked for just this
// name. Telling it twice changes nothing.
func (p *pending) event(path string, op Op, named bool) {
	if p.vague {
		return
	}
	s, known := p.paths[path]
	was := s.half
	switch {
	case op&OpFinish != 0:
		// A new file of any name may be one that is about to be renamed.
		s.half = op&OpCreate == 0 && s.born && !named
	case op&OpCreate != 0:
		s.born, s.half = s.born || !known, true
	case op&(OpRemove|OpRename) != 0:
		s.half = !s.born // what was there may come again
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

// note keeps what is known of a path.
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

// blur notes that it is for more than events of some paths.
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

// merge adds what is ready to be handed out, so that progress no longer matters.
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

// gatherLocked puts an owner into the batch that is being made, for more than an
// event. The caller holds mu, and lets go of it with unlock.
func (w *Watcher) gatherLocked(o *subscription, reason string) {
	w.touchLocked()
	w.gathering.add(o, reason)
	w.gathering.blur()
}

// gatherEventLocked does so for an event of a path.
func (w *Watcher) gatherEventLocked(o *subscription, path string, op Op, named bool) {
	w.touchLocked()
	w.gathering.add(o, ReasonEvents)
	w.gathering.event(path, op, named)
}

// gatherAllLocked is gatherLocked for everybody.
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

// unlock lets go of mu, when something may have been gathered or the keeper may
// have become idle. What is due is handed out at once, without another goroutine,
// and the timer is for the rest.
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

// dueLocked says when to hand out what is gathered: at once when nothing of it
// may be half done, else after a time of quiet. While the keeper is at work there
// is no quiet: what it finds belongs to the same batch. Nor is anything finished
// so soon after the batch before: somebody may be writing a file in steps, and
// closing it after each.
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

// alarmLocked has unlock called when a batch will be due. An alarm that comes
// sooner stays: setting it anew at each event would cost more.
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

// silenceLocked ends the alarm.
func (w *Watcher) silenceLocked() {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.alarm = time.Time{}
}

// ring is the alarm.
func (w *Watcher) ring() {
	w.mu.Lock()
	w.alarm = time.Time{}
	w.unlock()
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
