package why

// resolverFailed: who may see it has no answer for this root.
func (p *place) resolverFailed() (Answer, bool) {
	for _, r := range p.runs {
		if r.Err != nil && p.sees(r, p.rel) {
			return p.say(ReasonResolverFailed, r, "%s, which may look at it, failed in this root: %s", r.Resolver, r.Err)
		}
	}
	return Answer{}, false
}

// notRegular: a FIFO, a socket, a device; or a directory in the place of a
// file.
func (p *place) notRegular() (Answer, bool) {
	if p.sight.state != present || p.sight.typ.IsRegular() {
		return Answer{}, false
	}
	if !p.isDir() {
		_, detail := p.sight.verdict(p.rel)
		return p.say(ReasonNotRegular, p.reader(), "%s", detail)
	}
	for _, r := range p.readers {
		// Where a resolver may read below it as well, a directory is no
		// mistake. Any name will do to find out.
		if !p.fs.Judge(r.Filter, p.rel+"/x").Dir && p.q.observed(r).looked(p.rel) {
			return p.say(ReasonNotRegular, r, "%s is a directory, where a file belongs", show(p.rel))
		}
	}
	return Answer{}, false
}

// notADirectory: a file in the place of a directory.
func (p *place) notADirectory() (Answer, bool) {
	if p.sight.state != present || p.isDir() || len(p.readers) > 0 {
		return Answer{}, false
	}
	for _, r := range p.runs {
		if p.fs.Judge(r.Filter, p.rel).Dir && p.q.observed(r).looked(p.rel) {
			return p.say(ReasonNotAKnownPlace, r, "%s is a file, where %s looks for a directory", show(p.rel), r.Resolver)
		}
	}
	return Answer{}, false
}

// unreadable: no permission on the way, or for the directory itself.
func (p *place) unreadable() (Answer, bool) {
	if p.sight.state == forbidden {
		return p.say(ReasonUnreadable, p.reader(), "no permission to look at %s: a directory on the way is closed to this user", show(p.rel))
	}
	for _, r := range p.runs {
		if p.q.observed(r).refused(p.rel) {
			return p.say(ReasonUnreadable, r, "no permission to read %s", show(p.rel))
		}
	}
	return Answer{}, false
}
