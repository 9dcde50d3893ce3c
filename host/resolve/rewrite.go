package resolve

import (
	"bytes"
	"slices"

	"waymark/host/vfs"
)

// A resolver reads the head of a file, and people mostly edit what is below it.
// Its answer is then the one that it gave: it is asked the same, sees the same, and has
// nothing else to go by. What the host made of the file, its hash and its payload, is
// made again.

// rewrite makes the candidates again that were made of the files, whose new content
// is in the memo's units, and reports whether that is all there is to do. The memo
// isn't shared yet.
func (e *Engine) rewrite(r *Resolver, root Root, m *memo, files []vfs.Rewritten) bool {
	if !m.Plain || len(m.Rows) < len(m.Candidates) {
		return false // a warning may come or go, which has its place among the others
	}
	run := root.FS.Begin(m.filter, e.limits(r))
	defer func() { _ = run.Close() }()
	names, ok := run.AdoptRewritten(m.units, files)
	if !ok {
		return false
	}
	rows := rowReader{resolver: r, by: r.by(), root: root, run: run, home: e.opts.Home, maxInline: e.opts.MaxResourceBytes, maxRows: e.maxRows()}
	m.Candidates = slices.Clone(m.Candidates)
	for i := range m.Candidates[:min(len(m.Candidates), rows.maxRows)] { // of others nothing is read
		row, c := &m.Rows[i], &m.Candidates[i]
		if row.Content == nil || row.Content.File == "" {
			continue
		}
		if !names[row.Content.File] {
			if slices.ContainsFunc(files, func(f vfs.Rewritten) bool { return bytes.Equal(f.Before, c.ContentHash) }) {
				return false // it may be the same file by a name that only the host went by
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
