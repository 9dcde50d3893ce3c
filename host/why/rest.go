package why

import (
	"waymark/abi"
	"waymark/host/vfs"
	"waymark/snapshot"
)

// ignored: a resolver may see it, and made nothing of it.
func (p *place) ignored() (Answer, bool) {
	if p.sight.state != present || !p.sight.typ.IsRegular() {
		return Answer{}, false
	}
	for _, r := range p.readers {
		switch o := p.q.observed(r); {
		case len(o[p.sight.at]) > 0:
			return p.say(ReasonNotAKnownPlace, r, "%s looked at it and made no resource of it; its warnings, in the log, may say why", r.Resolver)
		case o.looked(p.rel):
			return p.say(ReasonNotAKnownPlace, r, "%s may read it, but doesn't take it for one of its files", r.Resolver)
		}
	}
	return Answer{}, false
}

// directory: a directory that is no find by itself.
func (p *place) directory() (Answer, bool) {
	if !p.isDir() {
		return Answer{}, false
	}
	dir := p.absolute(p.sight.at)
	if n := p.q.okBelow(dir); n > 0 {
		return p.say(ReasonNotAKnownPlace, nil, "a directory; %s: ask for a file in it",
			count(n, "resource below it is in the context", "resources below it are in the context"))
	}
	for _, r := range p.runs {
		for _, d := range r.Denied {
			if d.Path != "." && parent(d.Path) == p.rel && d.Reason != vfs.ReasonNotInReads && d.Reason != vfs.ReasonEscape {
				return p.denied(r, d)
			}
		}
		if name := p.notThere(r); name != "" {
			if other := look(p.fs, p.all, join(p.rel, name)).other; other != "" {
				return p.say(ReasonWrongCase, r, "%s looks for %s in it, and there is only %s: names count in exact case, rename that",
					r.Resolver, show(name), show(other))
			}
			return p.say(ReasonMissing, r, "%s looks for %s in it, and there is none", r.Resolver, show(name))
		}
	}
	for _, r := range p.runs {
		if p.fs.Judge(r.Filter, p.rel).Dir && p.q.observed(r).looked(p.rel) {
			return p.say(ReasonNotAKnownPlace, r, "a directory that %s looks into; nothing in it is in the context", r.Resolver)
		}
	}
	return Answer{}, false
}

// elsewhere: no resolver here looks at this place. Perhaps another tool does.
func (p *place) elsewhere() Answer {
	if hint := p.hint(); hint != "" {
		a, _ := p.say(ReasonNotAKnownPlace, nil, "no resolver here reads this place; %s", hint)
		return a
	}
	root := p.q.in.Roots[p.root]
	switch {
	case root.FS.File() != "":
		a, _ := p.say(ReasonNotAKnownPlace, p.reader(), "it is a root by itself, but no resolver takes a file of this name%s", roleNote(root.Role))
		return a
	case len(p.readers) > 0:
		a, _ := p.say(ReasonNotAKnownPlace, p.readers[0], "%s may read it, but doesn't look here in this root%s", p.readers[0].Resolver, roleNote(root.Role))
		return a
	case len(p.runs) == 0:
		a, _ := p.say(ReasonNotAKnownPlace, nil, "no resolver is loaded: see 'agent plugins'")
		return a
	}
	a, _ := p.say(ReasonNotAKnownPlace, nil, "no resolver here looks at this place")
	return a
}

// roleNote reminds of the role of a root.
func roleNote(role abi.Role) string {
	if role == abi.RoleNone {
		return ""
	}
	return "; the root is looked at for " + string(role) + " only"
}

// hint says which other tools read the place; empty when a resolver here sees
// it, or none is known to.
func (p *place) hint() string {
	if len(p.readers) > 0 {
		return ""
	}
	return hintFor(p.absolute(p.rel), p.fs.Path(), p.isDir())
}

// okBelow counts the resources that are ok below a directory.
func (q *question) okBelow(dir string) int {
	if q.in.Snapshot == nil {
		return 0
	}
	n := 0
	for i := range q.in.Snapshot.Resources {
		r := &q.in.Snapshot.Resources[i]
		if _, ok := below(dir, r.Source); ok && r.Status == snapshot.StatusOK {
			n++
		}
	}
	return n
}
