package host

import (
	"context"
	"path/filepath"
)

// maxHinted bounds the paths that wait for a refresh: from there on everything is
// looked at, which is cheaper than to compare them.
const maxHinted = 64

// Hint has the roots looked at in which the paths lie, which are absolute, and
// returns at once; near the paths at first. It is for who has just written there: an
// event of the file system comes later, or not at all. As any hint it is taken for no
// more: what isn't in a trace makes nothing run.
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

// followHints refreshes what was hinted at, until ctx ends.
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
