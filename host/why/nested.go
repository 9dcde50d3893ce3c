package why

import (
	"slices"
	"strings"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/plugins/conventions"
)

// maxNames is how many names of a path are inspected in search of a known place inside it: no
// source tree is deeper.
const maxNames = 24

// belongsBelowRoot holds if the path ends with a place that counts only directly below a
// suitable root, which the directory isn't.
func (p *pathInRoot) belongsBelowRoot() (facts, bool) {
	e, ok := p.end()
	if !ok || e.from != "." || !strings.Contains(e.rel, "/") || moduleOf(e.run.Resolver) == builtinModule && !p.q.isSkillRoot(p.root) {
		return facts{}, false
	}
	return about(e.run, e.run.Resolver, quotePath(e.rel), p.also())
}

// belongsInOwnRoot holds if the path ends with a place that counts in every root, so that one
// of its directories would have to be a root. It doesn't hold for what agents read there for
// files of that directory only: in a root it would count for all other directories, too.
func (p *pathInRoot) belongsInOwnRoot() (facts, bool) {
	e, ok := p.end()
	if !ok {
		return facts{}, false
	}
	source, ok := p.q.narrowed(p.absolute(e.dir), p.absolute(p.rel))
	if !ok {
		return facts{}, false
	}
	advice := p.whatApplies(e)
	if advice == "" || p.absolute(e.dir) == p.q.in.Home { // what is the user's applies to all of it
		advice = ": to have it looked at here, run " + p.q.addSource(source)
	}
	return about(e.run, e.run.Resolver, quotePath(e.rel), advice, p.also())
}

// whatApplies says who lists the file nevertheless, if it is for the files of its directory.
func (p *pathInRoot) whatApplies(e pathEnd) string {
	for _, place := range placesOf(e.rel) {
		if place.Scope != conventions.ScopeProject || len(place.Nested) == 0 || place.relate(e.rel, p.isDir()) == unrelated {
			continue
		}
		switch place.Kind {
		case abi.KindInstructionFile, abi.KindSkill, abi.KindSubagent, abi.KindCommand:
			return "; " + command("agent for ", strings.TrimSuffix(p.absolute(e.dir), "/")+"/") + " lists it, with all else that applies to files there; a source would have it apply everywhere"
		}
	}
	return ""
}

// isTooDeep holds if the path would be a place that counts without some of the directories in
// the middle.
func (p *pathInRoot) isTooDeep() (facts, bool) {
	if p.entry.state != present || p.isLookedInto() {
		return facts{}, false
	}
	for _, rel := range shortened(p.rel) {
		if r, _, ok := p.lookedAt(rel); ok {
			return about(r, r.Resolver, quotePath(p.absolute(rel)), p.also())
		}
	}
	return facts{}, false
}

// isLookedInto holds for a directory that a run has listed: it is in its right place,
// whatever its name would mean elsewhere.
func (p *pathInRoot) isLookedInto() bool {
	return p.isDir() && slices.ContainsFunc(p.runs, func(r *Run) bool {
		return slices.ContainsFunc(p.q.traceOf(r)[p.entry.at], func(d *vfs.Dep) bool { return d.Kind == vfs.DepListed })
	})
}

// pathEnd is the end of a path that counts directly below a root.
type pathEnd struct {
	dir, rel string // the part before, and the end
	run      *Run   // looks for it
	from     string // where it looked
}

// end returns the longest end of the path that a run looks for.
func (p *pathInRoot) end() (pathEnd, bool) {
	if p.entry.state != present || p.isLookedInto() {
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

// lookedAt finds a run that sees another path in the root, of the given path's type, and
// looked at it, and from where.
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

// also returns what agents make of the place, for the end of a detail.
func (p *pathInRoot) also() string {
	if hint, _ := p.hint(); hint != "" {
		return "; " + hint
	}
	return ""
}
