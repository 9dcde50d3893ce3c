package why

import (
	"slices"
	"strings"
)

// isWantedInThisCase holds if only a name in another case exists, and a resolver looks for it
// in this one.
func (p *pathInRoot) isWantedInThisCase() (facts, bool) {
	r := p.reader()
	if p.entry.state != missing || p.entry.other == "" || r == nil || !p.q.traceOf(r).looked(p.rel) {
		return facts{}, false
	}
	return about(r, r.Resolver, quotePath(p.entry.other))
}

// existsInOtherCase holds if only a name in another case exists.
func (p *pathInRoot) existsInOtherCase() (facts, bool) {
	if p.entry.state != missing || p.entry.other == "" {
		return facts{}, false
	}
	return with(quotePath(p.entry.other))
}

// isWantedInOtherCase holds if resolvers look for the name in another case.
func (p *pathInRoot) isWantedInOtherCase() (facts, bool) {
	switch p.entry.state {
	case missing, unknown, blocked:
		return facts{}, false
	}
	for _, r := range p.runs {
		if right, ok := p.spelledIn(r); ok && !p.sees(r, p.rel) {
			return about(r, r.Resolver, quotePath(right)+", in exact case: rename it")
		}
		j := p.fs.Judge(r.Filter, p.rel)
		spelled := j.File || j.Dir && p.isDir()
		if spelled && (!p.sees(r, p.rel) || p.q.traceOf(r).looked(p.rel)) || !p.seesFolded(r) {
			continue
		}
		if right, ok := respell(r.View.Reads, p.rel, p.isDir()); ok {
			return about(r, r.Resolver, quotePath(right)+", in exact case: rename it")
		}
		return about(r, r.Resolver, "this name in another case: see its reads")
	}
	return facts{}, false
}

// seesFolded reports whether a run would see the path, and looked at its place, if case
// didn't matter.
func (p *pathInRoot) seesFolded(r *Run) bool {
	v := r.View
	v.Reads, v.Narrow = foldAll(v.Reads), foldAll(v.Narrow)
	f, err := v.Compile()
	rel := strings.ToLower(p.rel)
	return err == nil && p.sees(&Run{Filter: f}, rel) && p.q.folded(r).looked(rel)
}

// foldAll folds the case of patterns. Escapes and classes keep their meaning, in lower case.
func foldAll(patterns []string) []string {
	out := make([]string, len(patterns))
	for i, p := range patterns {
		out[i] = strings.ToLower(p)
	}
	return out
}

// folded returns the index of a run's trace by paths in lower case.
func (q *question) folded(r *Run) traceIndex {
	o := traceIndex{}
	for path, deps := range q.traceOf(r) {
		path = strings.ToLower(path)
		o[path] = append(o[path], deps...)
	}
	return o
}

// respell gives a path the case of the first pattern that it matches except for case, or for
// a directory that of the pattern's first names. It doesn't handle patterns with more than
// names and stars.
func respell(reads []string, rel string, dir bool) (string, bool) {
	names := strings.Split(rel, "/")
	for _, pattern := range reads {
		if strings.ContainsAny(pattern, `?[]{}\`) || strings.Count(pattern, "**") > 1 {
			continue
		}
		if right, ok := inCaseOf(strings.Split(pattern, "/"), names, dir); ok && !slices.Equal(right, names) {
			return strings.Join(right, "/"), true
		}
	}
	return "", false
}

// inCaseOf gives names the case of a pattern's segments if they match, or for a directory
// that of the first segments.
func inCaseOf(segments, names []string, dir bool) (right []string, ok bool) {
	switch {
	case len(names) == 0:
		return nil, dir || len(segments) == 0
	case len(segments) == 0:
		return nil, false
	case segments[0] == "**":
		if right, ok := inCaseOf(segments[1:], names, dir); ok {
			return right, true
		}
		right, ok := inCaseOf(segments, names[1:], dir)
		return append([]string{names[0]}, right...), ok
	}
	first, ok := nameInCaseOf(segments[0], names[0])
	if !ok {
		return nil, false
	}
	right, ok = inCaseOf(segments[1:], names[1:], dir)
	return append([]string{first}, right...), ok
}

// nameInCaseOf gives a name the case of a segment with at most one star.
func nameInCaseOf(segment, name string) (right string, ok bool) {
	before, after, star := strings.Cut(segment, "*")
	end := len(name) - len(after)
	switch {
	case !star:
		return segment, strings.EqualFold(segment, name)
	case strings.Contains(after, "*") || end < len(before):
		return "", false
	}
	return before + name[len(before):end] + after, strings.EqualFold(name[:len(before)], before) && strings.EqualFold(name[end:], after)
}
