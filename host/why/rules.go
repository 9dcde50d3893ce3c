package why

import (
	"unicode/utf8"

	"waymark/host/vfs"
)

// unspeakable: a name that is not UTF-8 is shown to nobody.
func (p *place) unspeakable() (Answer, bool) {
	switch {
	case utf8.ValidString(p.rel):
		return Answer{}, false
	case p.q.info == nil:
		return p.say(ReasonMissing, nil, "there is no such file")
	}
	return p.say(ReasonNotAKnownPlace, nil, "its name is not valid UTF-8, and such names are not shown to resolvers: rename it")
}

// rootItself: a root has no answer of its own, unless it is one file.
func (p *place) rootItself() (Answer, bool) {
	if p.rel != "." {
		return Answer{}, false
	}
	return p.say(ReasonNotAKnownPlace, nil, "a root, in which resolvers look for what they know: %s; ask for a file in it",
		count(p.q.okBelow(p.fs.Path()), "resource of it is in the context", "resources of it are in the context"))
}

// missing: there is nothing of this name.
func (p *place) missing() (Answer, bool) {
	reader, looks := p.awaiting()
	switch p.sight.state {
	case missing:
		if root, ok := p.q.missingRoot(); ok {
			return p.say(ReasonMissing, reader, "the configured root or source %s doesn't exist; it is looked at as soon as it does", show(root))
		}
		return p.say(ReasonMissing, reader, "there is no such file%s", looks)
	case blocked:
		return p.say(ReasonMissing, reader, "there is no such file: a name on the way to it is a file and not a directory")
	}
	return Answer{}, false
}

// awaiting is the run that looks for the path, or would if it were there, and
// how to say so.
func (p *place) awaiting() (r *Run, words string) {
	for _, r := range p.runs {
		j := p.fs.Judge(r.Filter, p.rel)
		switch {
		case !j.File && !j.Dir || !p.q.observed(r).looked(p.rel):
		case j.File:
			return r, "; " + r.Resolver + " looks for it"
		default:
			return r, "; " + r.Resolver + " would look into it"
		}
	}
	if len(p.readers) > 0 {
		return p.readers[0], ""
	}
	return nil, ", and no resolver here would look at it"
}

// badLink: links that lead nowhere, out of the root, or to what is hidden from
// all.
func (p *place) badLink() (Answer, bool) {
	switch p.sight.state {
	case hidden:
		return p.denied(nil, vfs.Denial{Path: p.rel, Target: p.sight.target, Reason: p.sight.reason})
	case escapes, broken, loops:
		reason, detail := p.sight.verdict(p.rel)
		return p.say(reason, p.reader(), "%s", detail)
	}
	return Answer{}, false
}

// reader is the first of the readers, or nil.
func (p *place) reader() *Run {
	if len(p.readers) == 0 {
		return nil
	}
	return p.readers[0]
}
