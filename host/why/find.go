package why

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/host/applicability"
	"waymark/host/vfs"
	"waymark/internal/text"
	"waymark/snapshot"
)

// match is a find that a path belongs to.
type match struct {
	run  *Run // nil if only the snapshot knows it
	cand *snapshot.Candidate
	// as is the path by which the find is known: where it was found, or its source.
	as string
	// content is the path asked for if it is the find's content and not its subject.
	// elsewhere says that it doesn't lie in the find's subject.
	content   string
	elsewhere bool
}

// evidence answers from what was found: by the first of the paths that a find is about, or
// that is the content of one.
func (q *question) evidence(paths []string) (Answer, bool) {
	for _, path := range paths {
		list := q.about(path)
		if len(list) == 0 {
			list = q.holding(path)
		}
		if a, ok := q.bestOf(list); ok {
			return a, true
		}
	}
	return Answer{}, false
}

// bestOf answers with the best outcome of the finds: one that is in the context, else one
// that was made at the path itself.
func (q *question) bestOf(list []match) (Answer, bool) {
	type outcome struct {
		Answer
		rank int
	}
	var outcomes []outcome
	ok := map[string]bool{}
	for _, m := range list {
		a, known := q.becameOf(m)
		if !known {
			continue
		}
		o := outcome{Answer: a}
		if a.Found {
			ok[a.ResourceID] = true
		} else {
			o.rank = 2
		}
		if m.as != foundAt(m.cand) { // made elsewhere: only its source is here
			o.rank++
		}
		outcomes = append(outcomes, o)
	}
	if len(outcomes) == 0 {
		return Answer{}, false
	}
	best := slices.MinFunc(outcomes, func(a, b outcome) int { // the first of equals
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(distance(a.Reason), distance(b.Reason)))
	})
	if n := len(ok) - 1; best.Found && n > 0 {
		best.Detail += "; " + text.Count(n, "more resource comes", "more resources come") + " from it"
	}
	return best.Answer, true
}

// distance orders the reasons of finds: found before all, then the fate of the find itself,
// then what replaces it.
func distance(r Reason) int {
	switch r {
	case ReasonFound:
		return 0
	case ReasonDeduplicated, ReasonExcluded:
		return 2
	}
	return 1
}

// about lists the finds that were made at a path, or whose source it is.
func (q *question) about(path string) []match {
	var list []match
	for i := range q.in.Runs {
		r := &q.in.Runs[i]
		for j := range r.Candidates {
			switch c := &r.Candidates[j]; path {
			case foundAt(c):
				list = append(list, match{run: r, cand: c, as: path})
			case c.Source:
				list = append(list, match{run: r, cand: c, as: path})
			}
		}
	}
	if len(list) > 0 || q.in.Snapshot == nil {
		return list
	}
	for i := range q.in.Snapshot.Resources {
		if r := &q.in.Snapshot.Resources[i]; r.Source == path {
			list = append(list, match{cand: &snapshot.Candidate{Resource: *r}, as: path})
		}
	}
	return list
}

// foundAt returns the path under which a find was made.
func foundAt(c *snapshot.Candidate) string { return cmp.Or(c.Path, c.Source) }

// holding lists the finds whose content is the file at a path.
func (q *question) holding(path string) []match {
	var list []match
	for i := range q.in.Runs {
		r := &q.in.Runs[i]
		root := q.rootOf(r)
		if root == nil {
			continue
		}
		if _, ok := applicability.Below(root.Path(), path); !ok {
			continue
		}
		for j := range r.Candidates {
			if m, ok := q.contentOf(r, &r.Candidates[j], path); ok {
				list = append(list, m)
			}
		}
	}
	// Two files may have the same text: each belongs to its own place.
	inside := slices.ContainsFunc(list, func(m match) bool { return !m.elsewhere })
	texts := map[textKey]map[string]bool{}
	return slices.DeleteFunc(list, func(m match) bool { return m.elsewhere && (inside || q.hasOwnText(m, texts)) })
}

// textKey is a text as one run read it.
type textKey struct {
	run  *Run
	hash string
}

// hasOwnText reports whether a find's text was read from the find's source or below it. texts
// keeps, for each text, the files with it and the directories around them, because many finds
// may have the same.
func (q *question) hasOwnText(m match, texts map[textKey]map[string]bool) bool {
	key := textKey{m.run, string(m.cand.ContentHash)}
	places, ok := texts[key]
	if !ok {
		places = map[string]bool{}
		for i := range m.run.Trace {
			if d := &m.run.Trace[i]; d.Kind == vfs.DepRead && bytes.Equal(d.Hash, m.cand.ContentHash) {
				for path := d.Path; !places[path]; path = parent(path) {
					places[path] = true
				}
			}
		}
		texts[key] = places
	}
	rel, ok := applicability.Below(q.rootOf(m.run).Path(), m.cand.Source)
	return ok && places[rel]
}

// contentOf reports whether the file at a path is a find's content. Rows don't say which file
// that was, but the trace does, by the hash of what was read. If there was nothing to hash,
// it is what was met below the source.
func (q *question) contentOf(r *Run, c *snapshot.Candidate, path string) (m match, ok bool) {
	root := q.rootOf(r)
	m = match{run: r, cand: c, as: foundAt(c), content: path}
	file := path
	rest, inside := applicability.Below(m.as, path)
	if inside && m.as != c.Source {
		file = filepath.Join(c.Source, rest)
	} else {
		m.as = c.Source
		rest, inside = applicability.Below(c.Source, path)
	}
	rel, ok := applicability.Below(root.Path(), file)
	if !ok || rest == "." {
		return match{}, false
	}
	m.elsewhere = !inside
	o := q.traceOf(r)
	if o.read(rel, c.ContentHash) {
		return m, inside || c.SizeBytes > 0
	}
	return m, inside && q.stoodFor(r, c, rel)
}

// stoodFor reports whether a path in a find's source is where its content was expected: a
// link to it, or what kept the run from reading it.
func (q *question) stoodFor(r *Run, c *snapshot.Candidate, rel string) bool {
	dir, o := q.rootOf(r).Path(), q.traceOf(r)
	if last, ok := applicability.Below(dir, q.aliases[len(q.aliases)-1]); ok && o.isLink(rel) && o.read(last, c.ContentHash) {
		return true
	}
	if c.Status == snapshot.StatusOK {
		return false
	}
	// If the source is a link, it leads nowhere; otherwise its target would be the source.
	source, ok := applicability.Below(dir, c.Source)
	if c.Status == snapshot.StatusExcluded && len(c.ContentHash) == 0 && slices.ContainsFunc(o[rel], func(d *vfs.Dep) bool { return d.Kind == vfs.DepRead }) {
		return true // one of too many: the host hasn't read what the resolver has
	}
	return o.stuck(rel) || ok && o.isLink(source) || len(c.ContentHash) == 0 && o.onlyDir(rel)
}

// find is a match with its outcome: the subject of ofFind.
type find struct {
	match
	q      *question
	answer Answer // the fields that don't depend on the reason
	note   *snapshot.Note
	listed *snapshot.Resource // nil if it isn't in the snapshot
}

// becameOf answers with the outcome of a find. ok is false if neither the snapshot nor the
// notes contain it, because the find is newer.
func (q *question) becameOf(m match) (a Answer, ok bool) {
	f := &find{match: m, q: q, note: q.note(m), listed: q.resource(m.cand.ID())}
	f.answer = Answer{ResourceID: m.cand.ID(), Resolver: m.cand.Resolver, Root: q.rootName(m)}
	return first(ofFind, f)
}

// resource returns a listed resource.
func (q *question) resource(id string) *snapshot.Resource {
	if q.in.Snapshot == nil {
		return nil
	}
	return q.in.Snapshot.Find(id)
}

// note returns Assemble's note about a find. It prefers the reason why the find isn't in the
// list to the one why it has no text.
func (q *question) note(m match) (note *snapshot.Note) {
	if m.run == nil {
		return nil
	}
	id := m.cand.ID()
	for i := range q.in.Notes {
		n := &q.in.Notes[i]
		if n.Root == m.cand.Root && n.ID == id && n.Path == foundAt(m.cand) && n.Resolver == m.cand.Resolver &&
			(note == nil || n.Reason != snapshot.ReasonOversize) {
			note = n
		}
	}
	return note
}

// rootName names the root of a find. A find that only the snapshot knows belongs to the
// innermost root that contains it.
func (q *question) rootName(m match) string {
	if m.run != nil && q.rootOf(m.run) != nil {
		return q.in.Roots[m.run.Root].name()
	}
	name, length := "", -1
	for i := range q.in.Roots {
		r := &q.in.Roots[i]
		if _, ok := r.holds(m.cand.Source); ok && len(r.FS.Path()) > length {
			name, length = r.name(), len(r.FS.Path())
		}
	}
	return name
}

// isCollapsed holds if a link led to the find and its target is listed.
func (f *find) isCollapsed() (facts, bool) {
	if f.note == nil || f.note.Reason != snapshot.ReasonCollapsed || f.as != f.note.Path || f.as == f.cand.Source {
		return facts{}, false
	}
	found, suffix := f.winner()
	return facts{Answer: found, args: []any{quotePath(f.note.Winner), suffix}}, true
}

// isDeduplicated holds if another find of the same name is listed.
func (f *find) isDeduplicated() (facts, bool) {
	if f.note == nil || f.note.Reason != snapshot.ReasonDeduplicated || f.note.Winner == f.note.ID {
		return facts{}, false
	}
	winner, suffix := f.winner()
	winner.Found = false // the other one is found, not this
	return facts{Answer: winner, args: []any{errorLine(f.note.Detail), quotePath(f.note.Winner), suffix}}, true
}

// winner answers for the resource that replaces the find, and says what is wrong with it.
func (f *find) winner() (a Answer, wrong string) {
	a = f.answer
	a.ResourceID = f.note.Winner
	switch w := f.q.resource(f.note.Winner); {
	case w == nil:
		wrong = ", which isn't in the context"
	case w.Status != snapshot.StatusOK:
		wrong = fmt.Sprintf(", which is %s: %s", w.Status, errorLine(w.Error))
	default:
		a.Found = true
	}
	return a, wrong
}

// isLeftOut holds if a cap kept the find out of the list.
func (f *find) isLeftOut() (facts, bool) {
	if f.note == nil || f.note.Reason != snapshot.ReasonExcluded || f.listed != nil {
		return facts{}, false
	}
	return facts{Answer: f.answer, args: []any{errorLine(f.note.Detail)}}, true
}

// has makes facts of a listed find if it has one of the statuses.
func (f *find) has(status snapshot.Status, args ...any) (facts, bool) {
	if f.listed == nil || f.listed.Status != status {
		return facts{}, false
	}
	a := f.answer
	a.Resolver, a.Found = f.listed.Resolver, status == snapshot.StatusOK
	return facts{Answer: a, args: args}, true
}

func (f *find) isMCP() (facts, bool) {
	if f.listed == nil || f.listed.Kind != abi.KindMCPConfig {
		return facts{}, false
	}
	return f.has(snapshot.StatusOK, f.remarks())
}

// isContent holds if the path is the file with the text of the find.
func (f *find) isContent() (facts, bool) {
	if f.listed == nil || f.content == "" {
		return facts{}, false
	}
	return f.has(snapshot.StatusOK, f.listed.Kind, quotePath(f.as), f.size(), f.remarks())
}

func (f *find) isOK() (facts, bool) {
	if f.listed == nil {
		return facts{}, false
	}
	return f.has(snapshot.StatusOK, f.listed.Kind, f.size(), f.remarks())
}

func (f *find) size() string { return text.Count(int(f.listed.SizeBytes), "byte", "bytes") }

// remarks returns the remarks on a find that is in the context.
func (f *find) remarks() string {
	var b strings.Builder
	switch at := foundAt(f.cand); {
	case f.as != f.listed.Source:
		b.WriteString("; a link, listed under the path it leads to")
	case at != f.listed.Source && f.content == "":
		b.WriteString("; found as " + quotePath(at) + ", which leads to it")
	}
	if f.listed.Stale {
		b.WriteString("; the resolver failed since, and this is what is left of its last good answer")
		if f.run != nil && f.run.Err != nil {
			b.WriteString(": " + errorLine(f.run.Err.Error()))
		}
	}
	return b.String()
}

func (f *find) isOversize() (facts, bool)   { return f.hasError(snapshot.StatusOversize) }
func (f *find) isExcluded() (facts, bool)   { return f.hasError(snapshot.StatusExcluded) }
func (f *find) isUnreadable() (facts, bool) { return f.hasError(snapshot.StatusUnreadable) }

// isListed holds for every other status.
func (f *find) isListed() (facts, bool) {
	if f.listed == nil {
		return facts{}, false
	}
	return f.hasError(f.listed.Status)
}

func (f *find) hasError(status snapshot.Status) (facts, bool) {
	if f.listed == nil {
		return facts{}, false
	}
	return f.has(status, errorLine(f.listed.Error))
}

// isNoFile finds out what is wrong with the file of a find that is unreadable or invalid, if
// the cause is its place and not its text.
func (f *find) isNoFile() (facts, bool) {
	if f.listed == nil || f.run == nil || f.q.rootOf(f.run) == nil {
		return facts{}, false
	}
	root := f.q.rootOf(f.run)
	all := wideView([]*Run{f.run})
	for _, path := range f.suspects() {
		rel, ok := applicability.Below(root.Path(), path)
		if !ok {
			continue
		}
		e := inspect(root, all, rel)
		a, ok := first(ofEntry, &e)
		if !ok || a.Reason == ReasonNotRegular && f.cand.Status != snapshot.StatusUnreadable {
			continue // the resolver objects to something else
		}
		reason, detail := a.Reason, a.Detail
		a = f.answer
		a.Resolver, a.Reason, a.Detail = f.listed.Resolver, reason, detail
		return answered(a, true)
	}
	return facts{}, false
}

// suspects returns the paths whose links or types may be the cause: the one asked for, that
// of the find and, if its content was never read, what the run met below the source.
func (f *find) suspects() []string {
	list := []string{f.as, foundAt(f.cand), f.cand.Source}
	if f.content != "" {
		list = append([]string{f.content}, list...)
	}
	if len(f.cand.ContentHash) > 0 {
		return list
	}
	const most = 16 // the first is usually the cause; the rest are other files of a dropped-in module
	dir := f.q.rootOf(f.run).Path()
	for i := range f.run.Trace {
		d := &f.run.Trace[i]
		path := strings.TrimSuffix(dir, "/") + "/" + d.Path
		if _, ok := applicability.Below(f.cand.Source, path); !ok || d.Path == "." {
			continue
		}
		if len(list) < most && (d.Kind == vfs.DepLink || d.Kind == vfs.DepStat) {
			list = append(list, path)
		}
	}
	return list
}

// isPartOfFind holds if the path is in the directory that a find is about, but isn't its
// content.
func (p *pathInRoot) isPartOfFind() (facts, bool) {
	var around match
	for _, alias := range p.q.aliases {
		for i := range p.q.in.Runs {
			r := &p.q.in.Runs[i]
			for j := range r.Candidates {
				c := &r.Candidates[j]
				if _, inside := applicability.Below(c.Source, alias); inside && alias != c.Source && p.isDirOf(c) &&
					(around.cand == nil || len(c.Source) > len(around.cand.Source)) {
					around = match{run: r, cand: c, as: c.Source}
				}
			}
		}
	}
	if around.cand == nil {
		return facts{}, false
	}
	var f facts
	missing := ""
	if a, ok := p.q.becameOf(around); ok {
		f.ResourceID, f.Resolver = a.ResourceID, a.Resolver
		if !a.Found {
			missing = "; that one is not in the context: " + string(a.Reason)
		}
	}
	f.args = []any{around.cand.Kind, quotePath(around.cand.Source), p.q.mainFile(around), missing}
	return f, true
}

// isDirOf reports whether what lies below a find's source belongs to it. A skill is its
// directory. For other kinds, a directory says nothing about the files in it.
func (p *pathInRoot) isDirOf(c *snapshot.Candidate) bool {
	return c.Source != p.fs.Path() || c.Kind == abi.KindSkill
}

// mainFile returns the name of the file that is a find's content.
func (q *question) mainFile(m match) string {
	root := q.rootOf(m.run)
	if root == nil {
		return "its main file"
	}
	for i := range m.run.Trace {
		d := &m.run.Trace[i]
		path := filepath.Join(root.Path(), d.Path)
		if rest, ok := applicability.Below(m.cand.Source, path); ok && rest != "." {
			if m, ok := q.contentOf(m.run, m.cand, path); ok && !m.elsewhere {
				return quotePath(rest)
			}
		}
	}
	return "its main file"
}
