package why

import (
	"strings"

	"waymark/host/vfs"
)

// reasonNarrowed is the reason of a denial by the operator's own reads.
const reasonNarrowed vfs.Reason = "narrowed by the operator"

// denial is why a resolver may not read a path: the subject of ofDenial.
type denial struct {
	vfs.Denial
	*pathInRoot
	run *Run // nil if the path is denied to all
}

// denied turns a denial into an answer.
func (p *pathInRoot) denied(r *Run, d vfs.Denial) (Answer, bool) {
	a, ok := first(ofDenial, denial{Denial: d, pathInRoot: p, run: r})
	a.Root = p.q.in.Roots[p.root].name()
	return a, ok
}

// subject formats the denied path, with the names that lead to it.
func (d denial) subject() string {
	switch {
	case d.Target != "" && d.Target != d.Path:
		return quotePath(d.Path) + " leads to " + quotePath(d.Target) + ", which"
	case d.Target == d.Path && d.Path == d.rel:
		return quotePath(d.Path) + " has another name, a hard link, which"
	}
	return quotePath(d.Path)
}

// deniedAs returns a test that holds for one reason of the file system.
func deniedAs(reason vfs.Reason) func(denial) (facts, bool) {
	return func(d denial) (facts, bool) {
		if d.Reason != reason {
			return facts{}, false
		}
		return about(d.run, d.subject())
	}
}

// isSecret holds if the path is on the secret list.
func (d denial) isSecret() (facts, bool) {
	if d.Reason != vfs.ReasonSecret {
		return facts{}, false
	}
	at := d.Path
	if d.Target != "" {
		at = d.Target
	}
	list := "the secret list"
	if s, ok := d.fs.SecretEntry(at); ok {
		list += " (" + s.Pattern + ": " + s.What + ")"
	}
	return about(d.run, d.subject(), list)
}

// hasManyNames holds if one of the names of a hard link may be secret.
func (d denial) hasManyNames() (facts, bool) {
	if d.Reason != vfs.ReasonManyNames {
		return facts{}, false
	}
	return about(d.run, quotePath(d.Path))
}

// isNarrowed holds if the module declares the path but the operator's reads omit it.
func (d denial) isNarrowed() (facts, bool) {
	if d.Reason != reasonNarrowed {
		return facts{}, false
	}
	return about(d.run, d.run.Resolver, moduleOf(d.run.Resolver))
}

// isUndeclared holds for every other denial.
func (d denial) isUndeclared() (facts, bool) { return about(d.run, d.subject()) }

// moduleOf returns the module of "module/resolver".
func moduleOf(resolver string) string {
	name, _, _ := strings.Cut(resolver, "/")
	return name
}

// deniedToReaders answers for a path that resolvers would read but may not, because its
// target is protected from each of them.
func (p *pathInRoot) deniedToReaders() (Answer, bool) {
	var by *Run
	var why vfs.Denial
	for _, r := range p.readers {
		d, ok := p.denialOf(r)
		if !ok {
			return Answer{}, false
		}
		if by == nil {
			by, why = r, d
		}
	}
	if by == nil {
		return Answer{}, false
	}
	return p.denied(by, why)
}

// denialOf returns why a run that sees the path's name may not read it: when it ran, or now.
func (p *pathInRoot) denialOf(r *Run) (vfs.Denial, bool) {
	for _, d := range r.Denied {
		if d.Path == p.rel && d.Reason != vfs.ReasonEscape {
			return d, true
		}
	}
	if e := inspect(p.fs, r.Filter, p.rel); e.state == hidden {
		return vfs.Denial{Path: p.rel, Target: e.target, Reason: e.reason}, true
	}
	return vfs.Denial{}, false
}

// isProtected holds if the path is excluded by the operator, or on the secret list, by its
// own name.
func (p *pathInRoot) isProtected() (facts, bool) {
	if r := p.judged.Reason; r == vfs.ReasonExcluded || r == vfs.ReasonSecret {
		return answered(p.denied(nil, vfs.Denial{Path: p.rel, Reason: r}))
	}
	return facts{}, false
}

// leadsToProtected holds if a link leads to what is hidden from all.
func (p *pathInRoot) leadsToProtected() (facts, bool) {
	if p.entry.state != hidden {
		return facts{}, false
	}
	return answered(p.denied(nil, vfs.Denial{Path: p.rel, Target: p.entry.target, Reason: p.entry.reason}))
}

// deniedToOne holds if a resolver asked for the path, or declares it, and may not read it.
func (p *pathInRoot) deniedToOne() (facts, bool) {
	for _, r := range p.runs {
		for _, d := range r.Denied {
			// A directory is often asked for on the way to something else.
			inPassing := d.Reason == vfs.ReasonNotInReads && p.isDir()
			if d.Path == p.rel && d.Reason != vfs.ReasonEscape && !inPassing {
				return answered(p.denied(r, d))
			}
		}
		switch {
		case p.sees(r, p.rel):
		case len(r.View.Narrow) > 0 && p.wouldSee(r, func(v *vfs.View) { v.Narrow = nil }):
			return answered(p.denied(r, vfs.Denial{Path: p.rel, Reason: reasonNarrowed}))
		case !r.View.MCPOnly && p.fs.Judge(r.Filter, p.rel).Reason == vfs.ReasonMCP && p.wouldSee(r, func(v *vfs.View) { v.MCPOnly = true }):
			return answered(p.denied(r, vfs.Denial{Path: p.rel, Reason: vfs.ReasonMCP}))
		}
	}
	return facts{}, false
}

// wouldSee reports whether a run with another view would see the path.
func (p *pathInRoot) wouldSee(r *Run, change func(*vfs.View)) bool {
	v := r.View
	change(&v)
	f, err := v.Compile()
	return err == nil && p.sees(&Run{Filter: f}, p.rel)
}
