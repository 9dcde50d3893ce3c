package watch

import (
	"context"
	"log/slog"
	"time"
)

// tick has everybody look again.
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

// due makes everything due now, and again after the pace.
func (k *keeper) due(reason string) {
	k.w.all(reason)
	k.ticked = time.Now()
	k.pace.Reset(k.every)
}

// resume starts the pace anew after a postponed tick.
func (k *keeper) resume() {
	if k.w.isBack() {
		k.ticked = time.Now()
		k.pace.Reset(k.every)
	}
}

// settle says how it goes, and adapts the pace.
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
		k.retry.Reset(k.delays.next(time.Now()))
	case was == ModeDegraded:
		k.log.Info("file notifications work again", slog.Int("dirs", s.Dirs))
		k.delays.worked(time.Now())
		k.retry.Stop()
		k.due(ReasonRecovered)
	}
}

// paceOf returns how often everything is looked at.
func (w *Watcher) paceOf(s State) time.Duration {
	switch {
	case s.Mode == ModeDegraded:
		return w.opts.Poll
	case s.Silent:
		return w.opts.SilentRecheck
	}
	return w.opts.Recheck
}
