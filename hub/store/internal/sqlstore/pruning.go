// This file calls a store's Prune from time to time, for as long as the
// store is open.
//
// The first time is some minutes after the start, so that a command that opens
// a store for a moment does nothing, and hubs that start together with their
// databases don't begin with housekeeping. A failure is logged, and the next
// time comes.

package sqlstore

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	first = 5 * time.Minute
	// every is far below any sensible age of history.
	every = time.Hour
	// limit is for a database that doesn't answer.
	limit = 10 * time.Minute
)

// Pruning is what runs. A nil Pruning is one that was never started.
type Pruning struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// StartPruning begins to call prune. Close ends it. A nil logger means none.
func StartPruning(prune func(context.Context) error, log *slog.Logger) *Pruning {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	t := &Pruning{cancel: cancel}
	t.done.Go(func() {
		timer := time.NewTimer(first)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			once(ctx, prune, log)
			timer.Reset(every)
		}
	})
	return t
}

func once(ctx context.Context, prune func(context.Context) error, log *slog.Logger) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := prune(limited); err != nil && ctx.Err() == nil {
		log.Warn("history not pruned", slog.Any("error", err))
	}
}

// Close ends the task and waits for it. It may be called twice.
func (t *Pruning) Close() {
	if t == nil {
		return
	}
	t.cancel()
	t.done.Wait()
}
