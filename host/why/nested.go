package why

import "strings"

// maxNames is how many names of a path are inspected in search of a known
// place inside of it: deeper trees than this are nobody's sources.
const maxNames = 24

// belongsBelowRoot: its end is a place that is looked at right below the root,
// which is meant for that: another directory isn't.
func (p *pathInRoot) belongsBelowRoot() (facts, bool) {
	e, ok := p.end()
	if !ok || e.from != "." || !strings.Contains(e.rel, "/") {
		return facts{}, false
	}
	return about(e.run, e.run.Resolver, quotePath(e.rel), p.also())
}

// belongsInOwnRoot: its end is a place that is looked at in every root: one of
// its directories would have to be one.
func (p *pathInRoot) belongsInOwnRoot() (facts, bool) {
	e, ok := p.end()
	if !ok {
		return facts{}, false
	}
	return about(e.run, e.run.Resolver, quotePath(e.rel), addSource(p.absolute(e.dir)), p.also())
}

// isTooDeep: it would be a place that is looked at without some of the
// directories in the middle.
func (p *pathInRoot) isTooDeep() (facts, bool) {
	names := strings.Split(p.rel, "/")
	if p.entry.state != present || len(names) > maxNames {
		return facts{}, false
	}
	for gap := 1; gap < len(names)-1; gap++ {
		for i := 1; i+gap < len(names); i++ {
			rel := strings.Join(names[:i], "/") + "/" + strings.Join(names[i+gap:], "/")
			if r, _, ok := p.lookedAt(rel); ok {
				return about(r, r.Resolver, quotePath(p.absolute(rel)), p.also())
			}
		}
	}
	return facts{}, false
}

// pathEnd is the end of a path that is looked at right below a root.
type pathEnd struct {
	dir, rel string // the path up to there, and from there on
	run      *Run   // looks for it
	from     string // where it looked
}

// end is the longest end of the path that a run looks for.
func (p *pathInRoot) end() (pathEnd, bool) {
	if p.entry.state != present {
		return pathEnd{}, false
	}
	names := strings.Split(p.rel, "/")
	for i := max(1, len(names)-maxNames); i < len(names); i++ {
		rel := strings.Join(names[i:], "/")
		if r, from, ok := p.lookedAt(rel); ok {
			return pathEnd{strings.Join(names[:i], "/"), rel, r, from}, true
		}
	}
	return pathEnd{}, false
}

// lookedAt finds a run that sees another path in the root, of the type that
// the asked one has, and looked at it, and from where.
func (p *pathInRoot) lookedAt(rel string) (r *Run, from string, ok bool) {
	for _, r := range p.runs {
		if !p.sees(r, rel) {
			continue
		}
		if from, ok := p.q.traceOf(r).lookedFrom(rel); ok {
			return r, from, true
		}
	}
	return nil, "", false
}

// also is what other tools make of the place, for a detail's end.
func (p *pathInRoot) also() string {
	if hint := p.hint(); hint != "" {
		return "; " + hint
	}
	return ""
}
