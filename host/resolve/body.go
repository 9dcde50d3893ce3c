package resolve

import (
	"path/filepath"
	"slices"

	"waymark/abi"
	"waymark/snapshot"
)

// Body rereads the file of a resource that a resolver found in a root, up to limit bytes, for
// resources that may be listed without their text. It applies the resolver's view and all
// checks of links, as the resolver's own run would. It returns the resource in its current
// state, or nil if there is nothing to read: the find is gone or isn't ok, has inline text,
// or must not be shown to a chat.
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

// rowOf returns the resolver's row from which the resource with this id was made.
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
