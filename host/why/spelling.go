package why

import (
	"slices"
	"strings"

	"waymark/host/vfs"
)

// wrongCase: the file is there under a name in another case, or the name is
// one that resolvers look for in another case.
func (p *place) wrongCase() (Answer, bool) {
	if p.sight.state == missing {
		return p.otherCase()
	}
	if p.sight.state == unknown || p.sight.state == blocked {
		return Answer{}, false
	}
	for _, r := range p.runs {
		if p.sees(r, p.rel) && p.q.observed(r).looked(p.rel) || !p.seesFolded(r) {
			continue
		}
		if right, ok := respell(r.View.Reads, p.rel, p.isDir()); ok {
			return p.say(ReasonWrongCase, r, "%s looks for %s, in exact case: rename it", r.Resolver, show(right))
		}
		return p.say(ReasonWrongCase, r, "%s looks for this name in another case: see its reads", r.Resolver)
	}
	return Answer{}, false
}

// otherCase: nothing is there but a name in another case.
func (p *place) otherCase() (Answer, bool) {
	if p.sight.other == "" {
		return Answer{}, false
	}
	there := show(p.sight.other)
	if r := p.reader(); r != nil && p.q.observed(r).looked(p.rel) {
		return p.say(ReasonWrongCase, r, "%s looks for it, and there is only %s: names count in exact case, rename that", r.Resolver, there)
	}
	return p.say(ReasonWrongCase, nil, "there is no such file, only %s: ask for that, since names count in exact case", there)
}

// seesFolded reports whether a run would see the path, and looked at its
// place, if case didn't matter.
func (p *place) seesFolded(r *Run) bool {
	v := r.View
	v.Reads, v.Narrow = foldAll(v.Reads), foldAll(v.Narrow)
	f, err := v.Compile()
	rel := strings.ToLower(p.rel)
	return err == nil && p.sees(&Run{Filter: f}, rel) && p.q.folded(r).looked(rel)
}

// foldAll folds the case of patterns. What is escaped or in a class stays
// what it was, in lower case.
func foldAll(patterns []string) []string {
	out := make([]string, len(patterns))
	for i, p := range patterns {
		out[i] = strings.ToLower(p)
	}
	return out
}

// folded is the index of a run's trace by paths in lower case.
func (q *question) folded(r *Run) observed {
	o := observed{}
	for path, deps := range q.observed(r) {
		path = strings.ToLower(path)
		o[path] = append(o[path], deps...)
	}
	return o
}

// respell gives a path the case of the first pattern that it matches but for
// that; of a directory, the first names of a pattern. Patterns that are more
// than names and stars are left to the reader.
func respell(reads []string, rel string, dir bool) (string, bool) {
	names := strings.Split(rel, "/")
	for _, pattern := range reads {
		segments := strings.Split(pattern, "/")
		if len(segments) < len(names) || len(segments) > len(names) && !dir || strings.ContainsAny(pattern, `?[]{}\`) {
			continue
		}
		if right, ok := inCaseOf(segments, names); ok && !slices.Equal(right, names) {
			return strings.Join(right, "/"), true
		}
	}
	return "", false
}

// inCaseOf gives names the case of a pattern's segments, if they match.
func inCaseOf(segments, names []string) (right []string, ok bool) {
	for i, name := range names {
		switch s := segments[i]; {
		case strings.EqualFold(s, name):
			right = append(right, s)
		case s == "*":
			right = append(right, name)
		default:
			return nil, false
		}
	}
	return right, true
}

// maxMissing bounds the names that are judged when one is looked for that a
// run missed: a run may have missed a hundred thousand.
const maxMissing = 100

// notThere is the first file that a run looked for right in a directory, and
// that isn't there; empty if there is none.
func (p *place) notThere(r *Run) string {
	judged := 0
	for i := range r.Trace {
		d := &r.Trace[i]
		if d.Kind != vfs.DepMissing || d.Path == "." || parent(d.Path) != p.sight.at {
			continue
		}
		if p.fs.Judge(r.Filter, join(p.rel, base(d.Path))).File {
			return base(d.Path)
		}
		if judged++; judged == maxMissing {
			break
		}
	}
	return ""
}
