package host

import (
	"context"
	"errors"
	"slices"
)

// runPostponed runs postponed modules until ctx ends.
func (h *Host) runPostponed(ctx context.Context) error {
	for {
		select {
		case <-h.postponed.wake:
		case <-ctx.Done():
			return nil
		}
		run, owners, end, ok := h.postponed.begin(ctx)
		if !ok {
			continue
		}
		err := h.turn.Do(run, func(ctx context.Context) error {
			_, err := h.refresh(ctx, scope{owners: owners, reason: "postponed", slow: true})
			for owner := range owners {
				if !slices.ContainsFunc(h.used(), func(u usedRoot) bool { return u.slot.owner == owner }) {
					h.postponed.note(owner, false) // its root is gone
				}
			}
			return err
		})
		end()
		if err != nil && !errors.Is(err, errYields) {
			return ended(ctx, err)
		}
	}
}
