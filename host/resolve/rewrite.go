package resolve

import (
	"bytes"
	"slices"

	"waymark/host/vfs"
)

// A resolver reads the head of a file, and people mostly edit the rest. The resolver's answer
// is then the same, because it asks and sees the same, and depends on nothing else. Only what
// the host made of the file, its hash and its payload, is made again.

// rewrite remakes the candidates of the given files, whose new content is in the memo's
// units. It reports whether that suffices. The memo isn't shared yet.
func (e *Engine) rewrite(r *Resolver, root Root, m *memo, files []vfs.Rewritten) bool {
	if !m.Plain || len(m.Rows) < len(m.Candidates) {
		return false // a warning may appear or vanish, which changes the order of the others
	}
	run := root.FS.Begin(m.filter, e.limits(r))
	defer func() { _ = run.Close() }()
	names, ok := run.AdoptRewritten(m.units, files)
	if !ok {
		return false
	}
	rows := rowReader{resolver: r, by: r.by(), root: root, run: run, home: e.opts.Home, maxInline: e.opts.MaxResourceBytes, maxRows: e.maxRows()}
	m.Candidates = slices.Clone(m.Candidates)
	for i := range m.Candidates[:min(len(m.Candidates), rows.maxRows)] { // nothing is read for the others
		row, c := &m.Rows[i], &m.Candidates[i]
		if row.Content == nil || row.Content.File == "" {
			continue
		}
		if !names[row.Content.File] {
			if slices.ContainsFunc(files, func(f vfs.Rewritten) bool { return bytes.Equal(f.Before, c.ContentHash) }) {
				return false // it may be the same file under a name that only the host used
			}
			continue
		}
		res, err := rows.resource(row)
		if err != nil || rows.warned {
			return false
		}
		c.Resource = *res
	}
	m.Trace = m.units.Trace()
	return run.Err() == nil
}

// samePlaces reports whether two memos of a key depend on the same places.
func samePlaces(a, b *memo) bool {
	return a.filter == b.filter && slices.EqualFunc(a.Trace, b.Trace, func(x, y vfs.Dep) bool {
		return x.Kind == y.Kind && x.Path == y.Path && x.As == y.As
	})
}
