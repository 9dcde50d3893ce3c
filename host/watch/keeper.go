package watch

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"waymark/internal/await"
)

// maxPasses bounds the passes of a round. Each pass that finds something goes a step deeper
// or meets a concurrent change. On a file system whose inode numbers change, a round would
// never end.
const maxPasses = 8

// keeper keeps the watches in step with the tree. It belongs to Run's goroutine.
type keeper struct {
	w   *Watcher
	log *slog.Logger
	watches
	drained chan error // receives the end of reading the backend; nil without one

	pace   *time.Timer // of rechecks and polls
	every  time.Duration
	ticked time.Time // when everything was last due
	retry  *time.Timer
	delays await.Backoff
	broken error // why there is no backend
}

func newKeeper(w *Watcher) *keeper {
	k := &keeper{
		w: w, log: w.log,
		pace: time.NewTimer(0), retry: time.NewTimer(0),
		ticked: time.Now(),
		delays: await.Backoff{Shortest: w.opts.Poll, Longest: longestRetry},
	}
	k.watches = newWatches(w)
	k.pace.Stop()
	k.retry.Stop()
	return k
}

// run keeps the watches until ctx is done.
func (k *keeper) run(ctx context.Context) {
	defer k.pace.Stop()
	defer k.retry.Stop()
	defer k.closeBackend()
	k.open()
	k.round(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.w.wake:
			k.round(ctx)
			k.resume()
		case err := <-k.drained:
			k.lose(err)
		case <-k.pace.C:
			k.tick(ctx)
		case <-k.retry.C:
			k.retryFailed(ctx)
		}
	}
}

// open makes a backend and starts draining it.
func (k *keeper) open() {
	b, err := k.w.opts.NewBackend()
	if err != nil {
		k.broken = instanceError(err)
		return
	}
	drained := make(chan error, 1)
	go func() { drained <- k.w.drain(b) }() // closeBackend waits for it
	k.backend, k.drained, k.broken = b, drained, nil
}

// closeBackend ends the backend, and with it all watches.
func (k *keeper) closeBackend() {
	if k.backend == nil {
		return
	}
	if err := k.backend.Close(); err != nil {
		k.log.Warn("closing the file notifier", slog.Any("error", err))
	}
	if k.drained != nil {
		<-k.drained //nolint:errcheck // it was closed
	}
	k.backend, k.drained = nil, nil
	k.reset()
}

// lose gives up a backend that failed.
func (k *keeper) lose(err error) {
	k.drained = nil // its end was just received
	k.closeBackend()
	k.broken = lostError(err)
	k.settle()
}

// retryFailed retries what has failed.
func (k *keeper) retryFailed(ctx context.Context) {
	if k.backend == nil {
		k.open()
	}
	k.w.markAll()
	k.round(ctx)
	if s, _ := k.w.State(); s.Mode == ModeDegraded {
		k.retry.Reset(k.delays.Next())
	}
}

// round makes passes until there is nothing left to do.
func (k *keeper) round(ctx context.Context) {
	more := true
	for n := 0; more && n < maxPasses; n++ {
		k.pass(ctx)
		if ctx.Err() != nil {
			return
		}
		more = k.w.unfinished()
	}
	k.settle()
	k.w.idle(more)
}

// tick makes all owners look again.
func (k *keeper) tick(ctx context.Context) {
	if k.w.postpone() {
		return
	}
	reason := ReasonPoll
	if s, _ := k.w.State(); s.Mode != ModeDegraded {
		reason = ReasonRecheck
		k.revise()
		k.w.markAll()
		k.round(ctx)
	}
	k.due(reason)
}

// due makes everything due now, and again after the interval.
func (k *keeper) due(reason string) {
	k.w.gatherAll(reason)
	k.ticked = time.Now()
	k.pace.Reset(k.every)
}

// resume restarts the interval after a postponed tick.
func (k *keeper) resume() {
	if k.w.takeResumed() {
		k.ticked = time.Now()
		k.pace.Reset(k.every)
	}
}

// settle publishes the state, and adapts the interval.
func (k *keeper) settle() {
	s := k.survey()
	switch {
	case k.backend == nil:
		s.Mode, s.Error = ModeDegraded, k.broken.Error()
	case k.failed != nil:
		s.Mode, s.Error = ModeDegraded, k.failed.Error()
	default:
		s.Mode = ModeNotify
	}
	was := k.w.setState(s).Mode
	every := k.w.paceOf(s)
	if every != k.every {
		k.every = every
		k.pace.Reset(max(0, every-time.Since(k.ticked)))
	}
	switch {
	case s.Mode == was:
	case s.Mode == ModeDegraded:
		k.log.Warn("file notifications don't work as they should: polling", slog.String("error", s.Error))
		k.due(ReasonPoll)
		k.retry.Reset(k.delays.Next())
	case was == ModeDegraded:
		k.log.Info("file notifications work again", slog.Int("dirs", s.Dirs))
		k.delays.Worked()
		k.retry.Stop()
		k.due(ReasonRecovered)
	}
}

// paceOf returns the interval at which everything is checked.
func (w *Watcher) paceOf(s State) time.Duration {
	switch {
	case s.Mode == ModeDegraded:
		return w.opts.Poll
	case s.Silent:
		return w.opts.SilentRecheck
	}
	return w.opts.Recheck
}

// The rest are the keeper's accesses to state that w.mu guards.

// markAll has everything checked in the next pass.
func (w *Watcher) markAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tree.markAll(false)
	w.busy = true
}

// mark has one path checked in the next pass.
func (w *Watcher) mark(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tree.markPath(path, true)
}

// takeDirty returns what has to be checked, the owners that asked for more, and the watched
// paths that nobody needs any more.
func (w *Watcher) takeDirty(watched map[string]*entry) (dirs []dirtyDir, grown map[*subscription]struct{}, unneeded []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tree.pruned {
		w.tree.pruned = false
		for path := range watched {
			if w.tree.nodes[path] == nil {
				unneeded = append(unneeded, path)
			}
		}
	}
	if len(w.tree.grown) > 0 {
		grown = w.tree.grown
		w.tree.grown = map[*subscription]struct{}{}
	}
	return w.tree.takeDirty(), grown, unneeded
}

// gatherChanged gathers the owners of what a pass lost and added, and those that asked for
// more. What was added is inspected once more, now that changes cause events.
func (w *Watcher) gatherChanged(lost, added []string, grown map[*subscription]struct{}) {
	w.mu.Lock()
	defer w.unlock()
	for _, path := range lost {
		w.gatherBelowLocked(path, ReasonEvents)
	}
	for _, path := range added {
		w.gatherBelowLocked(path, ReasonAdded)
		w.tree.markPath(path, false)
	}
	for o := range grown {
		if w.tree.owners[o.name] == o { // it may be gone by now
			w.gatherLocked(o, ReasonAdded)
		}
	}
}

func (w *Watcher) gatherBelowLocked(path, reason string) {
	if n := w.tree.nodes[path]; n != nil {
		n.below(func(o *subscription) { w.gatherLocked(o, reason) })
	}
}

// gatherAll gathers all owners.
func (w *Watcher) gatherAll(reason string) {
	w.mu.Lock()
	defer w.unlock()
	w.gatherAllLocked(reason)
}

// alias makes events of one path count for another, too.
func (w *Watcher) alias(of, path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tree.aliases[of] = append(w.tree.aliases[of], path)
}

// unalias undoes alias.
func (w *Watcher) unalias(of, path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := slices.DeleteFunc(w.tree.aliases[of], func(p string) bool { return p == path })
	if len(rest) == 0 {
		delete(w.tree.aliases, of)
		return
	}
	w.tree.aliases[of] = rest
}

// needs reports whether an owner needs the events of a directory: because it asked for it, or
// because something in it doesn't exist yet.
func (w *Watcher) needs(path string, entries map[string]*entry) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.tree.nodes[path]
	if n == nil {
		return false
	}
	for c := range n.children {
		if entries[c.path] == nil {
			return true
		}
	}
	return len(n.wants) > 0
}

// unfinished reports whether another pass is needed.
func (w *Watcher) unfinished() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tree.hasWork()
}

// idle records that a round has ended. Batches don't wait for a round that gave up.
func (w *Watcher) idle(gaveUp bool) {
	w.mu.Lock()
	defer w.unlock()
	w.busy = !gaveUp && w.tree.hasWork() // because of an event at the last moment
}

// postpone reports whether somebody is still checking everything, so that a tick has to wait.
func (w *Watcher) postpone() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.postponed = w.checking
	return w.checking
}

// takeResumed reports whether a postponed tick may be scheduled again.
func (w *Watcher) takeResumed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	back := w.resumed
	w.resumed = false
	return back
}
