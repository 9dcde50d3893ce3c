package why

import (
	"strings"

	"waymark/host/vfs"
)

// refused answers for a path that resolvers would read, but may not: what it
// leads to is protected from each of them.
func (p *place) refused() (Answer, bool) {
	var by *Run
	var why vfs.Denial
	for _, r := range p.readers {
		d, ok := p.refusal(r)
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

// refusal is why a run that sees the path's name may not read it: as it was
// told, or would be now.
func (p *place) refusal(r *Run) (vfs.Denial, bool) {
	for _, d := range r.Denied {
		if d.Path == p.rel && d.Reason != vfs.ReasonEscape {
			return d, true
		}
	}
	if s := look(p.fs, r.Filter, p.rel); s.state == hidden {
		return vfs.Denial{Path: p.rel, Target: s.target, Reason: s.reason}, true
	}
	return vfs.Denial{}, false
}

// denied turns a denial into an answer.
func (p *place) denied(r *Run, d vfs.Denial) (Answer, bool) {
	name, at := show(d.Path), d.Path
	if d.Target != "" && d.Target != d.Path {
		name, at = show(d.Path)+" leads to "+show(d.Target)+", which", d.Target
	} else if d.Target == d.Path && d.Path == p.rel {
		name += " has another name, a hard link, which"
	}
	switch d.Reason {
	case vfs.ReasonExcluded:
		return p.say(ReasonExcludedByConfig, r, "%s matches a pattern of exclude in the configuration: nothing there is read", name)
	case vfs.ReasonSecret:
		entry := "the secret list"
		if s, ok := p.fs.SecretEntry(at); ok {
			entry = "the secret list (" + s.Pattern + ": " + s.What + ")"
		}
		return p.say(ReasonHiddenSecret, r, "%s is on %s: no resolver sees it, unless grant_secrets of a plugin names the entry", name, entry)
	case vfs.ReasonManyNames:
		return p.say(ReasonUnreadable, r, "%s has several names (it is a hard link), of which one may be secret, and there is too much to search: make it a file of its own", show(d.Path))
	case vfs.ReasonMCP:
		return p.say(ReasonNotGranted, r,
			"%s is MCP configuration, which holds tokens: only a resolver whose sole kind is mcp_config may read it", name)
	}
	return p.say(ReasonNotGranted, r, "%s is not in the reads that the resolver declares", name)
}

// protected: excluded by the operator, or on the secret list, by its own name.
func (p *place) protected() (Answer, bool) {
	if r := p.judged.Reason; r == vfs.ReasonExcluded || r == vfs.ReasonSecret {
		return p.denied(nil, vfs.Denial{Path: p.rel, Reason: r})
	}
	return Answer{}, false
}

// notGranted: a resolver asked for it, or declares it, and isn't allowed.
func (p *place) notGranted() (Answer, bool) {
	for _, r := range p.runs {
		for _, d := range r.Denied {
			// A directory is often asked for on the way to something else.
			inPassing := d.Reason == vfs.ReasonNotInReads && p.isDir()
			if d.Path == p.rel && d.Reason != vfs.ReasonEscape && !inPassing {
				return p.denied(r, d)
			}
		}
		switch {
		case p.sees(r, p.rel):
		case len(r.View.Narrow) > 0 && p.wouldSee(r, func(v *vfs.View) { v.Narrow = nil }):
			return p.say(ReasonNotGranted, r, "%s declares it, but the operator narrowed what it may read: see reads of the plugin %s in the configuration",
				r.Resolver, moduleOf(r.Resolver))
		case !r.View.MCPOnly && p.fs.Judge(r.Filter, p.rel).Reason == vfs.ReasonMCP && p.wouldSee(r, func(v *vfs.View) { v.MCPOnly = true }):
			return p.denied(r, vfs.Denial{Path: p.rel, Reason: vfs.ReasonMCP})
		}
	}
	return Answer{}, false
}

// wouldSee reports whether a run with another view would see the path.
func (p *place) wouldSee(r *Run, change func(*vfs.View)) bool {
	v := r.View
	change(&v)
	f, err := v.Compile()
	return err == nil && p.sees(&Run{Filter: f}, p.rel)
}

// moduleOf is the module of "module/resolver".
func moduleOf(resolver string) string {
	name, _, _ := strings.Cut(resolver, "/")
	return name
}
