package why

import (
	"fmt"

	"waymark/host/vfs"
)

// place is the asked path in one root, where no find explains it.
type place struct {
	q *question
	spot
	fs   *vfs.Root
	runs []*Run
	// readers are the runs that see a file of this name, by its name alone.
	readers []*Run
	all     *vfs.Filter // the widest eyes that a run here has
	sight   sight
	judged  vfs.Judgement // by all
}

// places are what the roots know of the path, in the order of the roots; of
// one that holds several spellings, only the first. Where a link at the end
// leads is another path's question.
func (q *question) places() []*place {
	var list []*place
	seen := map[int]bool{}
	for _, s := range q.spots {
		if seen[s.root] || q.linked && s.alias == len(q.aliases)-1 && s.alias >= q.asked {
			continue
		}
		seen[s.root] = true
		p := &place{q: q, spot: s, fs: q.in.Roots[s.root].FS, runs: q.runsIn(s.root)}
		p.all = wideView(p.runs)
		p.judged = p.fs.Judge(p.all, s.rel)
		for _, r := range p.runs {
			if p.fs.Judge(r.Filter, s.rel).File {
				p.readers = append(p.readers, r)
			}
		}
		if p.judged.File || p.judged.Dir {
			p.sight = look(p.fs, p.all, s.rel)
		}
		list = append(list, p)
	}
	return list
}

// rule answers for a place, or leaves it to the next.
type rule func(*place) (Answer, bool)

// rules in the order in which they are asked.
func rules() []rule {
	return []rule{
		(*place).unspeakable, (*place).rootItself, (*place).protected, (*place).wrongCase, (*place).missing,
		(*place).badLink, (*place).resolverFailed, (*place).notRegular, (*place).notADirectory,
		(*place).unreadable, (*place).notGranted,
		(*place).partOfFind, (*place).ignored, (*place).nested, (*place).directory,
	}
}

// answer is that of the first rule that has one.
func (p *place) answer() Answer {
	for _, rule := range rules() {
		if a, ok := rule(p); ok {
			return a
		}
	}
	return p.elsewhere()
}

// say makes an answer about this root.
func (p *place) say(reason Reason, r *Run, format string, args ...any) (Answer, bool) {
	a := Answer{Reason: reason, Root: p.q.in.Roots[p.root].name(), Detail: fmt.Sprintf(format, args...)}
	if r != nil {
		a.Resolver = r.Resolver
	}
	return a, true
}

// sees reports whether a run sees the path as what it is, by its name alone.
func (p *place) sees(r *Run, rel string) bool {
	j := p.fs.Judge(r.Filter, rel)
	return j.File || j.Dir && p.isDir()
}

func (p *place) isDir() bool { return p.sight.state == present && p.sight.typ.IsDir() }

// absolute is a path of this root, absolute.
func (p *place) absolute(rel string) string {
	if rel == "." {
		return p.fs.Path()
	}
	return join(trimRoot(p.fs.Path()), rel)
}

// trimRoot lets the top of the file system be joined with a name.
func trimRoot(dir string) string {
	if dir == "/" {
		return ""
	}
	return dir
}
