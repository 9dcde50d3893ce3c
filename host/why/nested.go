package why

import "strings"

// maxNames is how many names of a path are looked at in search of a known
// place inside of it: deeper trees than this are nobody's sources.
const maxNames = 24

// nested: the end of the path is a place that is looked at, but only right
// below a root; or it would be without some directories in the middle.
func (p *place) nested() (Answer, bool) {
	if p.sight.state != present {
		return Answer{}, false
	}
	names := strings.Split(p.rel, "/")
	if len(names) > maxNames {
		return p.below(names)
	}
	if a, ok := p.below(names); ok {
		return a, true
	}
	return p.tooDeep(names)
}

// below looks for a root of its own to add: the path without its first names.
func (p *place) below(names []string) (Answer, bool) {
	for i := max(1, len(names)-maxNames); i < len(names); i++ {
		r, from, ok := p.lookedAt(strings.Join(names[i:], "/"))
		if !ok {
			continue
		}
		rest := strings.Join(names[i:], "/")
		if from == "." && strings.Contains(rest, "/") {
			// It is the root itself that is looked through, since it is meant for
			// that: another directory isn't.
			return p.say(ReasonNested, r, "%s looks for %s right below the root: move it there%s", r.Resolver, show(rest), p.also())
		}
		return p.say(ReasonNested, r, "%s looks for %s at a root's top level only: to have it looked at here, run %s%s",
			r.Resolver, show(rest), addSource(p.absolute(strings.Join(names[:i], "/"))), p.also())
	}
	return Answer{}, false
}

// tooDeep looks for the place that the path would be with fewer directories.
func (p *place) tooDeep(names []string) (Answer, bool) {
	for gap := 1; gap < len(names)-1; gap++ {
		for i := 1; i+gap < len(names); i++ {
			rel := strings.Join(names[:i], "/") + "/" + strings.Join(names[i+gap:], "/")
			if r, _, ok := p.lookedAt(rel); ok {
				return p.say(ReasonNested, r, "%s doesn't look so deep: move it to %s%s", r.Resolver, show(p.absolute(rel)), p.also())
			}
		}
	}
	return Answer{}, false
}

// lookedAt finds a run that sees another path in the root, of the type that
// the asked one has, and looked at it, and from where.
func (p *place) lookedAt(rel string) (r *Run, from string, ok bool) {
	for _, r := range p.runs {
		if !p.sees(r, rel) {
			continue
		}
		if from, ok := p.q.observed(r).lookedFrom(rel); ok {
			return r, from, true
		}
	}
	return nil, "", false
}

// also is what other tools make of the place, for a detail's end.
func (p *place) also() string {
	if hint := p.hint(); hint != "" {
		return "; " + hint
	}
	return ""
}
