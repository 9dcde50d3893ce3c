package why

import (
	"path/filepath"

	"waymark/abi"
	"waymark/snapshot"
)

// partOfFind: something in the directory that a find is about, but not its
// content.
func (p *place) partOfFind() (Answer, bool) {
	var found match
	for _, alias := range p.q.aliases {
		for i := range p.q.in.Runs {
			r := &p.q.in.Runs[i]
			for j := range r.Candidates {
				c := &r.Candidates[j]
				if _, inside := below(c.Source, alias); inside && alias != c.Source && p.ownDir(c) &&
					(found.cand == nil || len(c.Source) > len(found.cand.Source)) {
					found = match{run: r, cand: c, as: c.Source}
				}
			}
		}
	}
	if found.cand == nil {
		return Answer{}, false
	}
	a, _ := p.say(ReasonNotAKnownPlace, nil, "part of the directory of the %s %s, of which only %s is sent; the agent may read it in the workspace",
		found.cand.Kind, show(found.cand.Source), p.q.mainFile(found))
	if fate, ok := p.q.fate(found); ok {
		a.ResourceID, a.Resolver = fate.ResourceID, fate.Resolver
		if !fate.Found {
			a.Detail += "; that one is not in the context: " + string(fate.Reason)
		}
	}
	return a, true
}

// ownDir reports whether what lies below a find's source belongs to it: a
// skill is its directory, while of other kinds a root's own directory says
// nothing about the files in it.
func (p *place) ownDir(c *snapshot.Candidate) bool {
	return c.Source != p.fs.Path() || c.Kind == abi.KindSkill
}

// mainFile is the name of the file that is a find's content.
func (q *question) mainFile(m match) string {
	root := q.rootOf(m.run)
	if root == nil {
		return "its main file"
	}
	for i := range m.run.Trace {
		d := &m.run.Trace[i]
		path := filepath.Join(root.Path(), d.Path)
		if rest, ok := below(m.cand.Source, path); ok && rest != "." {
			if m, ok := q.contentOf(m.run, m.cand, path); ok && !m.elsewhere {
				return show(rest)
			}
		}
	}
	return "its main file"
}
