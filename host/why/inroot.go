package why

import (
	"strings"
	"unicode/utf8"

	"waymark/abi"
	"waymark/host/applicability"
	"waymark/host/vfs"
	"waymark/internal/text"
	"waymark/snapshot"
)

// pathInRoot is the path in one root where no find explains it: the subject of inRoot.
type pathInRoot struct {
	q *question
	spot
	fs   *vfs.Root
	runs []*Run
	// readers are the runs that see a file of this name, by its name alone.
	readers []*Run
	all     *vfs.Filter // shows all that any run here may see
	entry   entry
	judged  vfs.Judgement // by all
}

// pathsInRoots returns what the roots know of the path, in the order of the roots. For a root
// that contains several spellings, it returns only the first. The target of a link at the end
// is another path's question.
func (q *question) pathsInRoots() []*pathInRoot {
	if q.inRootList != nil {
		return q.inRootList
	}
	seen := map[int]bool{}
	for _, s := range q.spots {
		if seen[s.root] || q.linked && s.alias == len(q.aliases)-1 && s.alias >= q.asked {
			continue
		}
		seen[s.root] = true
		p := &pathInRoot{q: q, spot: s, fs: q.in.Roots[s.root].FS, runs: q.runsIn(s.root)}
		p.all = wideView(p.runs)
		p.judged = p.fs.Judge(p.all, s.rel)
		for _, r := range p.runs {
			if p.fs.Judge(r.Filter, s.rel).File {
				p.readers = append(p.readers, r)
			}
		}
		if p.judged.File || p.judged.Dir {
			p.entry = inspect(p.fs, p.all, s.rel)
		}
		q.inRootList = append(q.inRootList, p)
	}
	return q.inRootList
}

// answer is that of the first rule that holds.
func (p *pathInRoot) answer() Answer {
	a, _ := first(inRoot, p)
	a.Root = p.q.in.Roots[p.root].name()
	return a
}

// reader is the first of the readers, or nil.
func (p *pathInRoot) reader() *Run {
	if len(p.readers) == 0 {
		return nil
	}
	return p.readers[0]
}

func (p *pathInRoot) isDir() bool { return p.entry.state == present && p.entry.typ.IsDir() }

// absolute returns a path of this root in absolute form.
func (p *pathInRoot) absolute(rel string) string {
	if rel == "." {
		return p.fs.Path()
	}
	return join(strings.TrimSuffix(p.fs.Path(), "/"), rel)
}

// hasBadName holds for a name that isn't UTF-8, which nobody sees.
func (p *pathInRoot) hasBadName() (facts, bool) { return facts{}, !utf8.ValidString(p.rel) }

func (p *pathInRoot) hasBadNameAndIsMissing() (facts, bool) {
	return facts{}, !utf8.ValidString(p.rel) && p.q.info == nil
}

// isRoot holds if the path is the root: it has no answer of its own, unless it is one file.
func (p *pathInRoot) isRoot() (facts, bool) {
	if p.rel != "." {
		return facts{}, false
	}
	return with(text.Count(p.q.okBelow(p.fs.Path()), "resource of it is in the context", "resources of it are in the context"))
}

// isInMissingRoot holds if the path doesn't exist because a configured root around it is
// missing.
func (p *pathInRoot) isInMissingRoot() (facts, bool) {
	root, ok := p.q.missingRoot()
	if !ok || p.entry.state != missing {
		return facts{}, false
	}
	reader, _ := p.wouldLook()
	return about(reader, quotePath(root))
}

// isMissing holds if the path doesn't exist.
func (p *pathInRoot) isMissing() (facts, bool) {
	if p.entry.state != missing {
		return facts{}, false
	}
	reader, words := p.wouldLook()
	return about(reader, words)
}

// isBelowFile holds if a name on the way is a file.
func (p *pathInRoot) isBelowFile() (facts, bool) {
	if p.entry.state != blocked {
		return facts{}, false
	}
	reader, _ := p.wouldLook()
	return about(reader)
}

// wouldLook returns the run that looks for the path, or would if it existed, and a phrase
// that says so.
func (p *pathInRoot) wouldLook() (r *Run, words string) {
	for _, r := range p.runs {
		file, dir := p.seesFile(r, p.rel), p.seesDir(r, p.rel)
		switch {
		case !file && !dir || !p.q.traceOf(r).looked(p.rel):
		case file:
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

// leadsNowhere holds if the path is, or lies behind, a link that leads to nothing, in circles
// or out of the root.
func (p *pathInRoot) leadsNowhere() (facts, bool) {
	switch p.entry.state {
	case escapes, broken, loops:
		return p.ofEntry()
	}
	return facts{}, false
}

// ofEntry answers with what exists at the path, whoever wants it.
func (p *pathInRoot) ofEntry() (facts, bool) {
	a, ok := first(ofEntry, &p.entry)
	if r := p.reader(); r != nil {
		a.Resolver = r.Resolver
	}
	return answered(a, ok)
}

// resolverFailed holds if a resolver that may see the path has no answer for this root.
func (p *pathInRoot) resolverFailed() (facts, bool) {
	for _, r := range p.runs {
		if r.Err != nil && p.sees(r, p.rel) {
			return about(r, r.Resolver, errorLine(r.Err.Error()))
		}
	}
	return facts{}, false
}

// isSpecial holds if it is a FIFO, a socket or a device.
func (p *pathInRoot) isSpecial() (facts, bool) {
	if p.entry.state != present {
		return facts{}, false
	}
	return p.ofEntry()
}

// isDirForFile holds if it is a directory in the place of a file.
func (p *pathInRoot) isDirForFile() (facts, bool) {
	if !p.isDir() {
		return facts{}, false
	}
	for _, r := range p.readers {
		// If a resolver may also read below it, a directory is no mistake. Any name serves to
		// find out.
		if !p.fs.Judge(r.Filter, p.rel+"/x").Dir && p.seesFile(r, p.rel) && p.q.traceOf(r).looked(p.rel) {
			return about(r, quotePath(p.rel))
		}
	}
	return facts{}, false
}

// isFileForDir holds if it is a file in the place of a directory.
func (p *pathInRoot) isFileForDir() (facts, bool) {
	if p.entry.state != present || p.isDir() || p.isWanted() {
		return facts{}, false
	}
	for _, r := range p.runs {
		if p.seesDir(r, p.rel) && p.q.needsDir(r, p.rel) && p.q.traceOf(r).looked(p.rel) {
			return about(r, quotePath(p.rel), r.Resolver)
		}
	}
	return facts{}, false
}

// isBelowClosedDir holds if the permission for a directory on the way is missing.
func (p *pathInRoot) isBelowClosedDir() (facts, bool) {
	if p.entry.state != forbidden {
		return facts{}, false
	}
	return about(p.reader(), quotePath(p.rel))
}

// isClosed holds if the permission for the path is missing.
func (p *pathInRoot) isClosed() (facts, bool) {
	for _, r := range p.runs {
		if p.q.traceOf(r).refused(p.rel) {
			return about(r, quotePath(p.rel))
		}
	}
	return facts{}, false
}

// wasReadInVain holds if a resolver read the file and made nothing of it.
func (p *pathInRoot) wasReadInVain() (facts, bool) {
	r := p.ignoredBy()
	if r == nil || len(p.q.traceOf(r)[p.entry.at]) == 0 {
		return facts{}, false
	}
	return about(r, r.Resolver, p.knownRemark())
}

// wasLeftUnread holds if a resolver may read the file, and looked where it lies.
func (p *pathInRoot) wasLeftUnread() (facts, bool) {
	r := p.ignoredBy()
	if r == nil {
		return facts{}, false
	}
	return about(r, r.Resolver, p.knownRemark())
}

// ignoredBy returns the first resolver that may see the file, looked at it or its directory,
// and made nothing of it; nil if there is none.
func (p *pathInRoot) ignoredBy() *Run {
	if p.entry.state != present || !p.entry.typ.IsRegular() {
		return nil
	}
	for _, r := range p.readers {
		if o := p.q.traceOf(r); p.seesFile(r, p.rel) && (len(o[p.entry.at]) > 0 || o.looked(p.rel)) {
			return r
		}
	}
	return nil
}

// holdsFinds holds for a directory with resources below it.
func (p *pathInRoot) holdsFinds() (facts, bool) {
	if !p.isDir() {
		return facts{}, false
	}
	n := p.q.okBelow(p.absolute(p.entry.at))
	if n == 0 {
		return facts{}, false
	}
	return with(text.Count(n, "resource below it is in the context", "resources below it are in the context"))
}

// okBelow counts the ok resources below a directory.
func (q *question) okBelow(dir string) int {
	if q.in.Snapshot == nil {
		return 0
	}
	n := 0
	for i := range q.in.Snapshot.Resources {
		r := &q.in.Snapshot.Resources[i]
		if _, ok := applicability.Below(dir, r.Source); ok && r.Status == snapshot.StatusOK {
			n++
		}
	}
	return n
}

// holdsDenied holds if a resolver wanted a file in the directory, and may not read it.
func (p *pathInRoot) holdsDenied() (facts, bool) {
	r, d, _ := p.wantedInside()
	if r == nil || d.Path == "" {
		return facts{}, false
	}
	return answered(p.denied(r, d))
}

// holdsInOtherCase holds if a resolver wanted a file in the directory that exists in another
// case.
func (p *pathInRoot) holdsInOtherCase() (facts, bool) {
	r, _, name := p.wantedInside()
	if r == nil || name == "" {
		return facts{}, false
	}
	other := inspect(p.fs, p.all, join(p.rel, name)).other
	if other == "" {
		return facts{}, false
	}
	return about(r, r.Resolver, quotePath(name), quotePath(other))
}

// lacksFile holds if a resolver wanted a file in the directory that doesn't exist.
func (p *pathInRoot) lacksFile() (facts, bool) {
	r, _, name := p.wantedInside()
	if r == nil || name == "" {
		return facts{}, false
	}
	return about(r, r.Resolver, quotePath(name))
}

// wantedInside returns the first run that looked in vain for a file directly in the
// directory: it was denied the file, or no file has the name.
func (p *pathInRoot) wantedInside() (r *Run, denied vfs.Denial, missing string) {
	if !p.isDir() {
		return nil, vfs.Denial{}, ""
	}
	for _, r := range p.runs {
		for _, d := range r.Denied {
			if d.Path != "." && parent(d.Path) == p.rel && d.Reason != vfs.ReasonNotInReads && d.Reason != vfs.ReasonEscape {
				return r, d, ""
			}
		}
		if name := p.missingIn(r); name != "" {
			return r, vfs.Denial{}, name
		}
		if p.lacksSkill(r) {
			return r, vfs.Denial{}, skillFile
		}
	}
	return nil, vfs.Denial{}, ""
}

// maxMissing bounds the missing names that are judged: a run may have missed a hundred
// thousand.
const maxMissing = 100

// missingIn returns the first missing file that a run looked for directly in the directory;
// empty if there is none.
func (p *pathInRoot) missingIn(r *Run) string {
	judged := 0
	for i := range r.Trace {
		d := &r.Trace[i]
		if d.Kind != vfs.DepMissing || d.Path == "." || parent(d.Path) != p.entry.at {
			continue
		}
		if p.seesFile(r, join(p.rel, base(d.Path))) {
			return base(d.Path)
		}
		if judged++; judged == maxMissing {
			break
		}
	}
	return ""
}

// isEmptyForAll holds if a resolver looks into the directory and found nothing.
func (p *pathInRoot) isEmptyForAll() (facts, bool) {
	if !p.isDir() {
		return facts{}, false
	}
	for _, r := range p.runs {
		if p.seesDir(r, p.rel) && p.q.traceOf(r).looked(p.rel) {
			return about(r, r.Resolver)
		}
	}
	return facts{}, false
}

// isReadByTools holds if agents are known to read the path here.
func (p *pathInRoot) isReadByTools() (facts, bool) {
	hint, sure := p.hint()
	return facts{args: []any{hint}}, hint != "" && sure
}

// isReadByToolsElsewhere holds if agents are known to read the path relative to a project's
// top, a home directory or a plugin.
func (p *pathInRoot) isReadByToolsElsewhere() (facts, bool) {
	hint, _ := p.hint()
	return facts{args: []any{hint}}, hint != ""
}

// isReadInOtherCase holds if agents are known to read the path in another case.
func (p *pathInRoot) isReadInOtherCase() (facts, bool) {
	if p.isWanted() || p.isDir() {
		return facts{}, false
	}
	hint := p.q.caseHint(p.absolute(p.rel), p.fs.Path())
	return facts{args: []any{hint}}, hint != ""
}

// isReadHigherUp holds if agents are known to read the path without some of the directories
// on the way.
func (p *pathInRoot) isReadHigherUp() (facts, bool) {
	if p.isWanted() || p.isDir() {
		return facts{}, false
	}
	_, hint := p.q.depthHint(p.rel, p.fs.Path())
	return facts{args: []any{hint}}, hint != ""
}

// hint says which agents read the place; empty if a resolver here sees it, or if none is
// known. sure says that they read it here unconditionally.
func (p *pathInRoot) hint() (hint string, sure bool) {
	if p.isWanted() {
		return "", false
	}
	return p.knownAs()
}

// knownAs says which agents read the place, whoever sees it here.
func (p *pathInRoot) knownAs() (hint string, sure bool) {
	return p.q.hintFor(p.absolute(p.rel), p.fs.Path(), p.isDir())
}

// isFileRoot holds if the root is this one file.
func (p *pathInRoot) isFileRoot() (facts, bool) {
	root := p.q.in.Roots[p.root]
	if root.FS.File() == "" {
		return facts{}, false
	}
	return about(p.reader(), roleRemark(root.Role))
}

// hasReaderElsewhere holds if a resolver may read the path but didn't look where it lies.
func (p *pathInRoot) hasReaderElsewhere() (facts, bool) {
	r := p.reader()
	if r == nil {
		return facts{}, false
	}
	f, _ := about(r, r.Resolver, roleRemark(p.q.in.Roots[p.root].Role)+p.knownRemark())
	f.Convention = p.ownConvention()
	return f, true
}

// knownRemark is knownAs for the end of a detail.
func (p *pathInRoot) knownRemark() string {
	if hint, _ := p.knownAs(); hint != "" {
		return "; " + hint
	}
	return ""
}

// roleRemark reminds of the role of a root.
func roleRemark(role abi.Role) string {
	if role == abi.RoleNone {
		return ""
	}
	return "; the root is looked at for " + string(role) + " only"
}

func (p *pathInRoot) hasNoResolver() (facts, bool) { return facts{}, len(p.runs) == 0 }

// isNobodys always holds.
func (p *pathInRoot) isNobodys() (facts, bool) {
	return facts{Answer: Answer{Convention: p.ownConvention()}}, true
}
