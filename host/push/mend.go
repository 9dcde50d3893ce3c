package push

import (
	"errors"

	"waymark/internal/text"
	"waymark/snapshot"
	"waymark/wire/rules"
)

// mend changes w until a peer would take it, or says why that can't be done.
func mend(w *row) Reason {
	changed, err := rules.Mend(&w.r)
	w.changed = w.changed || changed
	switch {
	case err == nil:
		return ""
	case errors.Is(err, rules.ErrSource):
		return ReasonNoSource
	case errors.Is(err, rules.ErrTooLong):
		return ReasonSourceTooLong
	case errors.Is(err, rules.ErrStatus):
		return ReasonUnknownStatus
	}
	return ReasonKind
}

// mendText is for the texts of a plugin, which this side cuts to less than a
// peer would take.
func mendText(s *string, limit int) (changed bool) { return rules.MendText(s, limit) }

func truncate(s string, limit int) string { return text.Truncate(s, limit) }

// mendHead returns a snapshot without version and resources, whose texts are
// as mend makes them.
func mendHead(s *snapshot.Snapshot, f form, rep *report) *snapshot.Snapshot {
	head := &snapshot.Snapshot{AggregateHash: s.AggregateHash, SnapshotError: s.SnapshotError}
	rules.MendHead(head)
	if _, all := f.(waymarkForm); all {
		head.Plugins = mendPlugins(s.Plugins, rep)
	}
	return head
}
