package webhook

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"waymark/hub/store"
	"waymark/internal/await"
)

const (
	// lookEvery is how often there may be something to notice or to send.
	lookEvery = 5 * time.Second
	// lease is how long a hub has for a try: longer than one takes.
	lease = time.Minute
	// shortest and longest bound the pauses after a try that failed.
	shortest, longest = 5 * time.Second, 10 * time.Minute
	// maxAge is when a message is news no more.
	maxAge = 24 * time.Hour
	// farewell is how long a try may still take when the hub is about to stop, so that
	// what has arrived isn't sent once more.
	farewell = 2 * time.Second
)

// Runner notices what webhooks are told, and tells them, until it is stopped.
type Runner struct {
	Store store.Webhooks
	// Log gets what can't be stored, and which webhook fails; nil means none.
	Log *slog.Logger
	// Now is the clock; nil means time.Now.
	Now    func() time.Time
	Sender Sender
}

// Run returns when ctx has ended and nothing is under way. What was being sent then, and
// isn't answered within two seconds, is sent again, by this hub's successor or another one.
func (r *Runner) Run(ctx context.Context) {
	r.Log = cmp.Or(r.Log, slog.New(slog.DiscardHandler))
	if r.Now == nil {
		r.Now = time.Now
	}
	begun := r.Now()
	var sending sync.WaitGroup
	defer sending.Wait()
	places := make(chan struct{}, store.MaxWebhooks)
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	failing := false
	for {
		err := r.look(ctx, begun, &sending, places)
		if err != nil && !failing && ctx.Err() == nil {
			r.Log.Warn("webhooks can't be told anything", slog.Any("error", err))
		}
		failing = err != nil
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// look notices what has begun and has all webhooks told that are due.
func (r *Runner) look(ctx context.Context, begun time.Time, sending *sync.WaitGroup, places chan struct{}) error {
	var o store.NoticeOptions
	// After a hub's start its agents may still be coming back.
	if now := r.Now(); now.Sub(begun) >= store.AttentionAfter {
		o.SeenBefore = now.Add(-store.AttentionAfter)
	}
	if _, err := r.Store.Notice(ctx, o); err != nil {
		return err
	}
	for {
		select {
		case places <- struct{}{}:
		default:
			return nil // as many are being told as there may be
		}
		w, m, err := r.Store.ClaimWebhook(ctx, lease)
		if err != nil {
			<-places
			if errors.Is(err, store.ErrNotFound) {
				return nil
			}
			return err
		}
		sending.Go(func() {
			var err error
			defer func() { <-places }()
			for r.tell(ctx, &w, &m) { // what waits behind it, or for another one
				if w, m, err = r.Store.ClaimWebhook(ctx, lease); err != nil {
					return // what it is will be seen by the next look
				}
			}
		})
	}
}

// tell tries once to have a webhook take a message, and reports whether it has.
func (r *Runner) tell(ctx context.Context, w *store.Webhook, m *store.Message) bool {
	var result store.MessageResult
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(farewell, cancel) })()
	err := r.Sender.Send(sending, w, m, r.Now())
	now := r.Now()
	switch {
	case ctx.Err() != nil && err != nil:
		return false // nobody knows; the lease ends by itself
	case err == nil:
		result.Delivered, result.Next = true, now
	default:
		pause := shortest
		for range min(w.Failures, 20) {
			pause = await.After(pause, shortest, longest)
		}
		result.Error, result.Next, result.Drop = err.Error(), now.Add(pause), now.Sub(m.CreatedAt) >= maxAge
		if w.Failures == 0 || result.Drop {
			r.Log.Warn("a webhook fails", slog.String("webhook", w.ID), slog.String("error", result.Error), slog.Bool("dropped", result.Drop))
		}
	}
	// What was sent is written down also when the hub is about to stop.
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), tryTimeout)
	defer done()
	if _, err := r.Store.FinishMessage(ctx, w, m, result); err != nil {
		r.Log.Warn("how a webhook was told is not stored", slog.String("webhook", w.ID), slog.Any("error", err))
		return false
	}
	return result.Delivered
}
