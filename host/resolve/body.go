package resolve

import (
	"path/filepath"
	"slices"

	"waymark/abi"
	"waymark/snapshot"
)

// Body reads anew the file of a resource that a resolver found in a root, and that may
// be listed without its text: as the resolver's own run would, with all that its view
// hides and all checks of links, and up to limit bytes. It returns the resource as it is
// now, and nil where there is nothing to read: the find is gone or isn't ok, brings its
// text itself, or holds what isn't for a chat to see.
func (e *Engine) Body(r *Resolver, root Root, id string, limit int64) (*snapshot.Resource, error) {
	k := e.keyOf(r, root)
	last := e.recall(k, e.entryOf(k))
	if last == nil || withholds(r) {
		return nil, nil
	}
	row := last.rowOf(root.FS.Path(), id)
	if row == nil || row.Content == nil || row.Content.File == "" || row.Content.Withheld {
		return nil, nil
	}
	view := viewOf(r, root, last.Bundle)
	filter, err := e.filters.of(&view)
	if err != nil {
		return nil, err
	}
	limits := e.limits(r)
	limits.KeepBytes = limit
	run := root.FS.Begin(filter, limits)
	defer func() { _ = run.Close() }()
	rows := rowReader{resolver: r, by: r.by(), root: root, run: run, home: e.opts.Home, maxInline: limit}
	res, err := rows.resource(row)
	if err != nil || res.ID() != id || res.Status != snapshot.StatusOK || res.Payload == nil {
		return nil, run.Err() // a row that would be dropped now is no error
	}
	return res, nil
}

// rowOf returns the resolver's own row of which the resource of that id was made.
func (m *memo) rowOf(root, id string) *abi.Resource {
	at := slices.IndexFunc(m.Candidates, func(c snapshot.Candidate) bool { return c.ID() == id })
	if at < 0 {
		return nil
	}
	c := &m.Candidates[at]
	for i := range m.Rows {
		if row := &m.Rows[i]; row.Kind == c.Kind && clean(row.Key) == c.Key && filepath.Join(root, row.Path) == c.Path {
			return row
		}
	}
	return nil
}
