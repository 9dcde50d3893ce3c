package push

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"waymark/abi"
	"waymark/snapshot"
	"waymark/wire"
)

// mend changes w until a peer would take it, or says why that can't be done.
func mend(w *row) Reason {
	r := &w.r
	w.changed = mendTexts(w) || w.changed
	switch {
	case r.Source == "":
		return ReasonNoSource
	case len(r.Source) > wire.MaxSource || len(r.Key) > wire.MaxSource:
		return ReasonSourceTooLong
	case !known(r.Status):
		return ReasonUnknownStatus
	}
	if len(r.SourcePath) > wire.MaxSource { // half a path would be a wrong one
		r.SourcePath, w.changed = "", true
	}
	if len(r.ContentHash) > wire.MaxHash {
		r.ContentHash, w.changed = nil, true
	}
	if len(r.Payload) > 0 && !mayHavePayload(r) {
		w.changed = true
	}
	if !mayHavePayload(r) {
		r.Payload = nil
	}
	return ""
}

// mendTexts makes all texts valid UTF-8 without NULs, which protobuf and
// PostgreSQL insist on, and no longer than they may be.
func mendTexts(w *row) (changed bool) {
	r := &w.r
	for _, text := range []struct {
		s   *string
		max int // 0: too long is for the caller to see
	}{
		{&r.Source, 0}, {&r.Key, 0}, {&r.SourcePath, 0},
		{&r.Name, abi.MaxName}, {&r.Description, abi.MaxDescription},
		{&r.Error, wire.MaxError}, {&r.Resolver, wire.MaxSource},
	} {
		changed = mendText(text.s, text.max) || changed
	}
	attributes, mended := mendAttributes(r.Attributes)
	r.Attributes = attributes
	return changed || mended
}

func mendText(s *string, limit int) (changed bool) {
	mended := clean(*s)
	if limit > 0 {
		mended = truncate(mended, limit)
	}
	if mended == *s {
		return false
	}
	*s = mended
	return true
}

// mendAttributes returns attributes itself when there is nothing to mend: the
// snapshot's map is shared and must not change. Of two keys that become one,
// the first in order stays; too much is dropped altogether.
func mendAttributes(attributes snapshot.Attributes) (snapshot.Attributes, bool) {
	size, changed := 0, false
	mended := make(snapshot.Attributes, len(attributes))
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[key]
		changed = mendText(&key, 0) || changed
		changed = mendText(&a.Text, 0) || changed
		if a.List != nil {
			a.List = slices.Clone(a.List)
			for i := range a.List {
				changed = mendText(&a.List[i], 0) || changed
			}
		}
		size += len(key) + abi.Value(a).Size()
		if _, taken := mended[key]; !taken {
			mended[key] = a
		}
	}
	if size > abi.MaxAttributes {
		return nil, true
	}
	if !changed {
		return attributes, false
	}
	return mended, true
}

// clean makes s valid UTF-8 without NULs.
func clean(s string) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	return strings.ReplaceAll(s, "\x00", "")
}

// truncate cuts s to at most limit bytes, at a border of runes.
func truncate(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

func known(s snapshot.Status) bool {
	switch s {
	case snapshot.StatusOK, snapshot.StatusOversize, snapshot.StatusUnreadable,
		snapshot.StatusInvalid, snapshot.StatusExcluded:
		return true
	default:
		return false
	}
}

// mayHavePayload repeats what the snapshot guarantees already: the bytes of
// an MCP configuration hold tokens, and must not leave whatever went wrong.
func mayHavePayload(r *snapshot.Resource) bool {
	return r.Kind != abi.KindMCPConfig &&
		(r.Status == snapshot.StatusOK || r.Status == snapshot.StatusInvalid)
}

// mendHead returns a snapshot without version and resources, whose texts are
// as mend makes them.
func mendHead(s *snapshot.Snapshot, f form, rep *report) *snapshot.Snapshot {
	head := &snapshot.Snapshot{AggregateHash: s.AggregateHash, SnapshotError: s.SnapshotError}
	if len(head.AggregateHash) > wire.MaxHash {
		head.AggregateHash = nil
	}
	mendText(&head.SnapshotError, wire.MaxError)
	if _, all := f.(waymarkForm); all {
		head.Plugins = mendPlugins(s.Plugins, rep)
	}
	return head
}
