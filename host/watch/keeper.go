package watch

import (
	"context"
	"log/slog"
	"time"
)

// maxPasses bounds the passes of a round. Each pass that finds something goes
// a step deeper or meets a change of the moment; a file system whose inode
// numbers don't stay never comes to an end.
const maxPasses = 8

// keeper keeps the watches as the tree wants them. All of it belongs to the
// goroutine of Run.
type keeper struct {
	w   *Watcher
	log *slog.Logger
	watches
	drained chan error // gives the end of reading the backend; nil without one

	pace   *time.Timer // of re-checks and polls
	every  time.Duration
	ticked time.Time // when everything was last due
	retry  *time.Timer
	delays backoff
	broken error // why there is no backend
}

func newKeeper(w *Watcher) *keeper {
	k := &keeper{
		w: w, log: w.log,
		pace: time.NewTimer(0), retry: time.NewTimer(0),
		ticked: time.Now(),
		delays: backoff{shortest: w.opts.Poll, longest: longestRetry},
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
			k.again(ctx)
		}
	}
}

// open makes a backend and has it drained.
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
	k.drained = nil // its end is what has just been received
	k.closeBackend()
	k.broken = lostError(err)
	k.settle()
}

// again tries once more what didn't work.
func (k *keeper) again(ctx context.Context) {
	if k.backend == nil {
		k.open()
	}
	k.w.markAll()
	k.round(ctx)
	if s, _ := k.w.State(); s.Mode == ModeDegraded {
		k.retry.Reset(k.delays.next(time.Now()))
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
