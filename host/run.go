package host

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"waymark/host/push"
	"waymark/host/watch"
)

const (
	// holdAtMost is how long Options.Hold holds. After that, something is better than
	// nothing.
	holdAtMost = 10 * time.Minute
	// saveAfter is how long memos wait to be saved after the last new one. They are for the
	// next start, and a burst of edits should cost one write.
	saveAfter = 5 * time.Second
	// saveWithin is how long memos wait at most while new ones keep arriving.
	saveWithin = time.Minute
	// quietAfter is how long after the last save nobody is likely to need a resolver soon. The
	// native code of a run is 7 MiB, and bringing it back takes 2 ms.
	quietAfter = time.Minute
	// settleAfter is how long a first push may delay the loading of modules.
	settleAfter = 2 * time.Second
)

// Run resolves at once and then whenever something changes, and pushes, until ctx ends or the
// Host is closed. It then returns nil.
func (h *Host) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.life, cancel)()
	var g errgroup.Group
	for _, part := range []func(context.Context) error{h.endHold, h.push, h.watch, h.followHints, h.checkRest, h.runPostponed, h.save, h.catalog.Run, h.followPlugins, h.followProviders} {
		g.Go(func() error {
			if err := part(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, ErrClosed) {
				cancel() // the first to end ends all
				return err
			}
			return nil
		})
	}
	return g.Wait()
}

// endHold makes the first snapshot once it was held back for holdAtMost.
func (h *Host) endHold(ctx context.Context) error {
	timer := time.NewTimer(holdAtMost)
	defer timer.Stop()
	select {
	case <-h.hold.opened:
	case <-timer.C:
		h.log.Warn("the first snapshot was held back long enough", slog.Duration("after", holdAtMost))
		h.Ready()
	case <-ctx.Done():
	}
	return nil
}

// push runs one pusher until it is replaced. It doesn't connect while the first snapshot is
// held back, because a peer closes an idle connection.
func (h *Host) push(ctx context.Context) error {
	select {
	case <-h.hold.opened:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		pusher, replaced := h.peer.get()
		if err := h.pushWith(ctx, pusher, replaced); err != nil {
			return err
		}
	}
	return nil
}

// pushWith hands every new snapshot to one pusher, and skips those that were superseded
// meanwhile.
func (h *Host) pushWith(ctx context.Context, pusher *push.Pusher, replaced <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var g errgroup.Group
	if pusher != nil {
		g.Go(func() error {
			if err := pusher.Run(ctx); !errors.Is(err, push.ErrClosed) {
				return err
			}
			return nil
		})
		g.Go(func() error {
			for version := uint64(0); ; {
				s, err := h.published.Wait(ctx, version)
				if err != nil {
					return nil //nolint:nilerr // the context has ended
				}
				version = s.Version
				pusher.Publish(s)
			}
		})
	}
	select {
	case <-replaced:
	case <-ctx.Done():
	}
	cancel()
	return g.Wait()
}

// SetPush switches to another peer, or to none.
func (h *Host) SetPush(opts *push.Options) error {
	var next *push.Pusher
	if opts != nil {
		next = push.New(*opts)
	}
	if before := h.peer.set(next); before != nil {
		return before.Close()
	}
	return nil
}

// save saves the memos some time after there are new ones, and frees what the runs that found
// them took, of memory at once and of the program's pages, which the next run would need again,
// after a quiet while.
func (h *Host) save(ctx context.Context) error {
	var quiet <-chan time.Time
	for {
		select {
		case <-h.unsaved:
		case <-quiet:
			h.opts.Settled()
			quiet = nil
			continue
		case <-ctx.Done():
			return nil // Close saves the rest
		}
		for until, more := time.Now().Add(saveWithin), true; more; {
			if !pause(ctx, saveAfter) {
				return nil
			}
			select {
			case <-h.unsaved:
				more = time.Now().Before(until)
			default:
				more = false
			}
		}
		_, leave, err := h.turn.Take(ctx)
		if err != nil {
			return err
		}
		engine := h.engine
		leave()
		h.saveMemos(engine)
		// The garbage of a burst of edits isn't needed while the agent waits for the next
		// one.
		debug.FreeOSMemory()
		quiet = time.After(quietAfter)
	}
}

// watch follows the file system, and replaces the watcher whenever the settings change.
func (h *Host) watch(ctx context.Context) error {
	for ctx.Err() == nil {
		opts, changed := h.watching.get()
		w := watch.New(opts)
		h.watcher.set(w) // so that followPlugins watches the module files with it
		err := h.follow(ctx, w, changed)
		h.watcher.set(nil)
		if err = errors.Join(err, w.Close()); err != nil {
			return err
		}
	}
	return nil
}

// follow refreshes everything once, and then what the watcher names, until the settings
// change.
func (h *Host) follow(ctx context.Context, w *watch.Watcher, changed <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var g errgroup.Group
	g.Go(func() error { return w.Run(ctx) })
	g.Go(func() error { return h.reportWatching(ctx, w) })
	g.Go(func() error {
		defer cancel()
		return h.refreshes(ctx, w, func() { g.Go(func() error { return h.settleDown(ctx) }) })
	})
	select {
	case <-changed:
		cancel()
	case <-ctx.Done():
	}
	return g.Wait()
}

// refreshes is the loop that keeps the snapshot current. It calls started after the first
// refresh.
func (h *Host) refreshes(ctx context.Context, w *watch.Watcher, started func()) error {
	if _, err := h.flights.join(ctx, everything("start")); err != nil {
		return ended(ctx, err)
	}
	started()
	for {
		batch, err := w.Wait(ctx)
		if err != nil {
			return ended(ctx, err)
		}
		h.opts.ObserveWatch(batch)
		want, ok := h.scopeOf(batch)
		if !ok {
			continue
		}
		if _, err := h.flights.join(ctx, want); err != nil {
			return ended(ctx, err)
		}
	}
}

// settleDown loads what the first snapshot didn't need, so that the next edit doesn't wait
// for it, and frees the memory that only the start used.
func (h *Host) settleDown(ctx context.Context) error {
	h.firstPush(ctx)
	h.Settle(ctx)
	if ctx.Err() == nil {
		h.opts.Settled()
		debug.FreeOSMemory()
	}
	return nil
}

// firstPush waits for a short time until the peer has the first snapshot, because loading
// modules would compete with it for the processors.
func (h *Host) firstPush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settleAfter)
	defer cancel()
	_ = h.Accepted(ctx, h.Current().Version) // returns at once without a peer
}

// reportWatching publishes and logs why files can't be watched.
func (h *Host) reportWatching(ctx context.Context, w *watch.Watcher) error {
	logged := ""
	for {
		state, changed := w.State()
		if state.Error != logged {
			logged = state.Error
			if logged == "" {
				h.log.Info("watching files again")
			} else {
				h.log.Warn("files can't be watched", slog.String("mode", state.Mode), slog.String("error", logged))
			}
			if _, err := h.amend(ctx); err != nil {
				return ended(ctx, err)
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}
