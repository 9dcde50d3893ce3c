package hub

import (
	"errors"
	"log/slog"
	"slices"
	"time"
)

// Why a connection was ended by the hub.
var (
	errRevoked         = errors.New("the token is no longer valid")
	errTooManySessions = errors.New("the token has more connections than it may, and this is the oldest")
)

// recheckTokens ends the connections of tokens that have become invalid, also
// by another process, until the hub is closed. Calls look their token up
// themselves; this is for those who are silent.
func (h *Hub) recheckTokens() {
	ticker := time.NewTicker(h.limits.Recheck)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			h.recheckOnce()
		case <-h.ctx.Done():
			return
		}
	}
}

func (h *Hub) recheckOnce() {
	ids := h.live.tokens()
	if len(ids) == 0 {
		return
	}
	valid, err := h.store.ValidTokens(h.ctx, ids)
	if err != nil { // then they stay, until it is known
		if h.ctx.Err() == nil {
			h.log.Error("tokens not looked up", slog.Any("error", err))
		}
		return
	}
	slices.Sort(valid)
	for _, id := range ids {
		if _, ok := slices.BinarySearch(valid, id); ok {
			continue
		}
		for _, s := range h.live.sessions(id) {
			h.log.Info("connection ended", slog.String("token", id), slog.Any("error", errRevoked))
			s.drop(errRevoked)
		}
	}
}
