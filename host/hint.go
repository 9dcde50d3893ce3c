package host

import (
	"context"
	"path/filepath"
)

// maxHinted bounds the paths that wait for a refresh. With more, checking everything is
// cheaper than comparing them.
const maxHinted = 64

// Hint schedules a check of the roots that contain paths, which are absolute, and returns at
// once. The check begins near the paths. It is for a caller that has just written there,
// since the file system's event comes later or not at all. A hint only says where to look: a
// path that is in no trace makes nothing run.
func (h *Host) Hint(paths ...string) {
	if len(paths) == 0 {
		return
	}
	h.hints.mu.Lock()
	p := &h.hints.pending
	p.reason = "hint"
	if p.paths = append(p.paths, paths...); len(p.paths) > maxHinted {
		p.all, p.paths = true, nil
	}
	h.hints.mu.Unlock()
	h.hints.wake.Set()
}

// followHints refreshes near hinted paths until ctx ends.
func (h *Host) followHints(ctx context.Context) error {
	for {
		select {
		case <-h.hints.wake:
		case <-ctx.Done():
			return nil
		}
		h.hints.mu.Lock()
		want := h.hints.pending
		h.hints.pending = scope{}
		h.hints.mu.Unlock()
		for _, path := range want.paths {
			// The file itself may be gone.
			if dir := resolved(filepath.Dir(path)); dir != filepath.Dir(path) {
				want.paths = append(want.paths, filepath.Join(dir, filepath.Base(path)))
			}
		}
		if _, err := h.flights.join(ctx, want); err != nil {
			return ended(ctx, err)
		}
	}
}
