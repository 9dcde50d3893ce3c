package why

import (
	"cmp"
	"path/filepath"
	"slices"

	"waymark/snapshot"
)

// match is a find that a path belongs to.
type match struct {
	run  *Run // nil when only the snapshot knows it
	cand *snapshot.Candidate
	// as is the path by which the find is known: where it was found, or its
	// source.
	as string
	// content is the path asked for when that is the find's content, and not
	// what the find is about. elsewhere says that it doesn't lie in what the
	// find is about.
	content   string
	elsewhere bool
}

// evidence answers from what was found: by the first of the paths that a find
// is about, or whose content one has.
func (q *question) evidence(paths []string) (Answer, bool) {
	for _, path := range paths {
		list := q.about(path)
		if len(list) == 0 {
			list = q.holding(path)
		}
		if a, ok := q.decide(list); ok {
			return a, true
		}
	}
	return Answer{}, false
}

// about lists the finds that were made at a path, or whose source it is.
func (q *question) about(path string) []match {
	var list []match
	for i := range q.in.Runs {
		r := &q.in.Runs[i]
		for j := range r.Candidates {
			switch c := &r.Candidates[j]; path {
			case foundAt(c):
				list = append(list, match{run: r, cand: c, as: path})
			case c.Source:
				list = append(list, match{run: r, cand: c, as: path})
			}
		}
	}
	if len(list) > 0 || q.in.Snapshot == nil {
		return list
	}
	for i := range q.in.Snapshot.Resources {
		if r := &q.in.Snapshot.Resources[i]; r.Source == path {
			list = append(list, match{cand: &snapshot.Candidate{Resource: *r}, as: path})
		}
	}
	return list
}

// foundAt is the path under which a find was made.
func foundAt(c *snapshot.Candidate) string { return cmp.Or(c.Path, c.Source) }

// holding lists the finds whose content is the file at a path.
func (q *question) holding(path string) []match {
	var list []match
	for i := range q.in.Runs {
		r := &q.in.Runs[i]
		root := q.rootOf(r)
		if root == nil {
			continue
		}
		if _, ok := below(root.Path(), path); !ok {
			continue
		}
		for j := range r.Candidates {
			if m, ok := q.contentOf(r, &r.Candidates[j], path); ok {
				list = append(list, m)
			}
		}
	}
	if slices.ContainsFunc(list, func(m match) bool { return !m.elsewhere }) {
		// Two files may say the same: each belongs where it lies.
		list = slices.DeleteFunc(list, func(m match) bool { return m.elsewhere })
	}
	return list
}

// contentOf reports whether the file at a path is a find's content. Rows don't
// say which file that was; the trace does, by the hash of what was read. Where
// there was nothing to hash, it is what was met below the source.
func (q *question) contentOf(r *Run, c *snapshot.Candidate, path string) (m match, ok bool) {
	root := q.rootOf(r)
	m = match{run: r, cand: c, as: foundAt(c), content: path}
	file := path
	rest, inside := below(m.as, path)
	if inside && m.as != c.Source {
		file = filepath.Join(c.Source, rest)
	} else {
		m.as = c.Source
		rest, inside = below(c.Source, path)
	}
	rel, ok := below(root.Path(), file)
	if !ok || rest == "." {
		return match{}, false
	}
	m.elsewhere = !inside
	o := q.observed(r)
	if o.read(rel, c.ContentHash) {
		return m, inside || c.SizeBytes > 0
	}
	return m, inside && q.stoodFor(r, c, rel)
}

// stoodFor reports whether a path in a find's source is where its content was
// expected: a link to it, or what prevented that it was had.
func (q *question) stoodFor(r *Run, c *snapshot.Candidate, rel string) bool {
	dir, o := q.rootOf(r).Path(), q.observed(r)
	if last, ok := below(dir, q.aliases[len(q.aliases)-1]); ok && o.isLink(rel) && o.read(last, c.ContentHash) {
		return true
	}
	if c.Status == snapshot.StatusOK {
		return false
	}
	// A source that is a link leads nowhere, or it wouldn't be the source.
	source, ok := below(dir, c.Source)
	return o.stuck(rel) || ok && o.isLink(source) || len(c.ContentHash) == 0 && o.onlyDir(rel)
}
