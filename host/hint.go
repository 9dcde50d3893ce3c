package host

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"waymark/internal/notify"
)

// maxHinted bounds the paths that wait for a refresh: from there on everything is
// looked at, which is cheaper than to compare them.
const maxHinted = 64

// hints are paths of which somebody knows that they have changed, and that a
// refresh hasn't taken yet.
type hints struct {
	wake notify.Wake // holds a token while there are some

	mu      sync.Mutex // guards pending
	pending scope
}

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

// touches reports whether one of the paths is the root, or in it.
func (s *rootSlot) touches(paths []string) bool {
	if len(paths) == 0 {
		return false
	}
	forms := []string{absolute(s.spec.Path)}
	if s.open != nil {
		forms = append(forms, filepath.Join(s.open.Path(), s.open.File()))
	}
	for _, path := range paths {
		for _, root := range forms {
			if leadsTo(root, path) {
				return true
			}
		}
	}
	return false
}

// below lists the paths that are in the root, relative to it. It is nil when one
// may say something of the root itself, or of the way to it, or none is in it.
func (s *rootSlot) below(paths []string) []string {
	root := s.open.Path()
	var list []string
	for _, path := range paths {
		if rel, ok := within(root, path); ok && rel != "" {
			list = append(list, rel)
			continue
		}
		if leadsTo(path, root) || slices.ContainsFunc(s.way, func(way string) bool { return leadsTo(path, way) }) {
			return nil
		}
	}
	return list
}

// within cuts a directory's path off that of something in it, or of itself.
func within(dir, path string) (rel string, ok bool) {
	rel, ok = strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	if !ok || rel != "" && rel[0] != '/' {
		return "", false
	}
	return strings.TrimPrefix(rel, "/"), true
}

// leadsTo reports whether a path is another, or a directory on the way to it.
func leadsTo(path, target string) bool {
	_, ok := within(path, target)
	return ok
}
