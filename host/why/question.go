package why

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waymark/snapshot"
)

// maxPath is Linux's PATH_MAX; no longer name can be opened.
const maxPath = 4096

// maxLinks is what Linux follows in one path.
const maxLinks = 40

func isRelative(path string) (facts, bool) { return facts{}, !filepath.IsAbs(path) }

func isTooLong(path string) (facts, bool) { return facts{}, len(path) > maxPath }

func holdsNUL(path string) (facts, bool) { return facts{}, strings.ContainsRune(path, 0) }

// question is one path to be answered.
type question struct {
	in Input
	// aliases are the absolute paths that the given one stands for: itself, and one more for
	// each link that is followed. The list ends where the path is missing or a link leads
	// nowhere.
	aliases []string
	// linked says that the last name is a link, and the last alias its target.
	linked bool
	// info is the file itself; nil if it can't be looked at.
	info os.FileInfo
	// asked counts the aliases that spell the path itself: those up to the first that lies in
	// a root. The later ones are where it leads.
	asked int
	spots []spot
	// traces are made by traceOf, inRootList by pathsInRoots.
	traces     map[*Run]traceIndex
	inRootList []*pathInRoot
}

// spot is an alias as one root knows it.
type spot struct {
	alias, root int
	rel         string // relative to the root, clean
}

func newQuestion(in Input, path string) *question {
	q := &question{in: in}
	q.follow(filepath.Clean(path))
	q.asked = len(q.aliases)
	for i, alias := range q.aliases {
		for r := range in.Roots {
			rel, ok := in.Roots[r].holds(alias)
			if ok && q.isAbout(r, rel) {
				q.spots = append(q.spots, spot{i, r, rel})
				q.asked = min(q.asked, i+1)
			}
		}
	}
	return q
}

// isAbout reports whether a root can say anything about a path in it. In a home directory
// that is true only near a place; the rest of it is left to other roots.
func (q *question) isAbout(root int, rel string) bool {
	r := &q.in.Roots[root]
	if r.Scope != snapshot.ScopeUser || rel == "." {
		return true
	}
	first, _, _ := strings.Cut(rel, "/")
	return slices.ContainsFunc(q.runsIn(root), func(run *Run) bool {
		j := r.FS.Judge(run.Filter, first)
		return j.File || j.Dir
	})
}

// follow makes the aliases, because roots are link-free and given paths need not be. It opens
// nothing. Outside the roots it reveals only where a link leads, and what is a directory.
func (q *question) follow(path string) {
	q.aliases = []string{path}
	cur, rest := "/", strings.TrimPrefix(path, "/")
	if rest == "" {
		q.info, _ = os.Lstat(path)
	}
	for rest != "" && len(q.aliases) <= maxLinks {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		cur = filepath.Join(cur, name)
		info, err := os.Lstat(cur)
		if err != nil {
			return
		}
		if rest == "" {
			q.info = info
		}
		if info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		target, err := filepath.EvalSymlinks(cur)
		if err != nil {
			return
		}
		cur = target
		q.aliases = append(q.aliases, filepath.Join(target, rest))
		q.linked = rest == ""
	}
}

// own returns the aliases that spell the given path itself.
func (q *question) own() []string { return q.aliases[:q.asked] }

// isDir reports whether the path is a directory, and not a link to one.
func (q *question) isDir() bool { return q.info != nil && q.info.IsDir() }

// foundHere holds if something was found at the path itself.
func (q *question) foundHere() (facts, bool) { return answered(q.evidence(q.own())) }

// foundBehindLink holds if the path leads, through links, to what was found.
func (q *question) foundBehindLink() (facts, bool) {
	for i := q.asked; i < len(q.aliases); i++ {
		a, ok := q.evidence(q.aliases[i : i+1])
		if !ok {
			continue
		}
		target := quotePath(q.aliases[i])
		if !q.linked || i < len(q.aliases)-1 {
			a.Detail = "through a link, as " + target + ": " + a.Detail
			return answered(a, true)
		}
		a.Detail = "a link to " + target + ": " + a.Detail
		if a.Reason == ReasonFound {
			a.Reason = ReasonCollapsedInto
		}
		return answered(a, true)
	}
	return facts{}, false
}

// deniedToAll holds if in some root there are resolvers that read files of this name, and the
// path's target is protected from each of them.
func (q *question) deniedToAll() (facts, bool) {
	for _, p := range q.pathsInRoots() {
		if a, ok := p.deniedToReaders(); ok {
			return answered(a, true)
		}
	}
	return facts{}, false
}

// inRoots holds if the path lies in a root. The most specific of several answers counts, and
// of equal ones that of the innermost root.
func (q *question) inRoots() (facts, bool) {
	list := q.pathsInRoots()
	if len(list) == 0 {
		return facts{}, false
	}
	answers := make([]Answer, len(list))
	order := make([]int, len(list))
	for i, p := range list {
		answers[i], order[i] = p.answer(), i
	}
	best := slices.MinFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(vagueness(answers[i].Reason), vagueness(answers[j].Reason)),
			cmp.Compare(len(list[j].fs.Path()), len(list[i].fs.Path())), cmp.Compare(i, j))
	})
	return answered(answers[best], true)
}

// vagueness orders reasons by how little they say. That a path is no place in a root says
// little if it is one in another. A link out of one root says least of all, because only
// another root makes more than one answer.
func vagueness(r Reason) int {
	switch r {
	case ReasonNested:
		return 1
	case ReasonMissing:
		return 2
	case ReasonNotAKnownPlace:
		return 3
	case ReasonLinkEscapes:
		return 4
	}
	return 0
}
