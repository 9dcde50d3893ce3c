package hub

import (
	"context"
	"sync"

	"waymark/hub/webhook"
)

// webhooks notifies webhooks while the hub serves. Call init, start, close and wait in this
// order.
type webhooks struct {
	runner webhook.Runner

	ctx    context.Context //nolint:containedctx // ends with close
	cancel context.CancelFunc

	mu      sync.Mutex // guards started, and running against Add after Wait
	started bool
	running sync.WaitGroup
}

func (w *webhooks) init(h *Hub) {
	w.runner = webhook.Runner{Store: h.store, Log: h.log, Now: h.now}
	w.ctx, w.cancel = context.WithCancel(context.Background())
}

// start starts notifying, once, unless close was called.
func (w *webhooks) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started || w.ctx.Err() != nil {
		return
	}
	w.started = true
	w.running.Go(func() { w.runner.Run(w.ctx) })
}

func (w *webhooks) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancel()
}

func (w *webhooks) wait() { w.running.Wait() }
