package hub

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"waymark/hub/store"
)

const (
	// presenceHolds is how long other hubs believe what one says: longer than
	// a database is away when it is started anew.
	presenceHolds = 30 * time.Second
	// presenceAgain is how soon it says so again when nothing has changed.
	presenceAgain = 10 * time.Second
	// presenceFarewell is how long a hub that ends tries to take it back.
	presenceFarewell = 2 * time.Second
)

// startPresence begins to exchange with other hubs who is connected, where the
// store can be shared, until the hub is closed. The caller holds h.mu.
func (h *Hub) startPresence() {
	shared, ok := h.store.(store.Presence)
	if !ok || h.closed || h.sharing {
		return
	}
	h.sharing = true
	h.running.Go(func() { h.sharePresence(shared) })
}

func (h *Hub) sharePresence(shared store.Presence) {
	self := uuid.NewString()
	ticker := time.NewTicker(h.limits.Presence)
	defer ticker.Stop()
	var said []string
	var at time.Time
	failing := false
	for {
		local := h.live.connected()
		slices.Sort(local)
		var err error
		if !slices.Equal(local, said) || len(local) > 0 && time.Since(at) >= presenceAgain {
			if err = shared.Present(h.ctx, self, local, presenceHolds); err == nil {
				said, at = local, time.Now()
			}
		}
		if others, lookErr := shared.Elsewhere(h.ctx, self); lookErr == nil {
			h.elsewhere.Store(&others)
		} else if err == nil {
			err = lookErr
		}
		if err != nil && !failing && h.ctx.Err() == nil { // what was known stands meanwhile
			h.log.Warn("hubs can't tell each other who is connected", slog.Any("error", err))
		}
		failing = err != nil
		select {
		case <-ticker.C:
		case <-h.ctx.Done():
			if len(said) > 0 {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), presenceFarewell)
				_ = shared.Present(ctx, self, nil, 0) // it is believed for a moment longer then
				cancel()
			}
			return
		}
	}
}

// connected lists the agents that are connected, to this hub or, a moment ago,
// to another one over the same database.
func (h *Hub) connected() []string {
	list := h.live.connected()
	if others := h.elsewhere.Load(); others != nil {
		list = append(list, *others...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
