package why

import (
	"os"
	"path/filepath"
	"strings"
)

// maxPath is Linux's PATH_MAX; nothing of a longer name can be opened.
const maxPath = 4096

// maxLinks is what Linux follows in one path.
const maxLinks = 40

// unaskable answers for what can't be the path of a file.
func unaskable(path string) (a Answer, bad bool) {
	switch {
	case !filepath.IsAbs(path):
		return Answer{Reason: ReasonOutsideRoots, Detail: "not an absolute path: give the whole path, from / on"}, true
	case len(path) > maxPath:
		return Answer{Reason: ReasonMissing, Detail: "longer than any path can be: there is no such file"}, true
	case strings.ContainsRune(path, 0):
		return Answer{Reason: ReasonMissing, Detail: "it holds a NUL, which no file name can: there is no such file"}, true
	}
	return Answer{}, false
}

// question is one path on its way to an answer.
type question struct {
	in Input
	// aliases are the absolute paths that the asked one stands for: itself,
	// and one more for each link on the way that is followed. Where it is
	// missing or a link leads nowhere the list ends.
	aliases []string
	// linked says that the last name is a link, and the last alias where it
	// leads.
	linked bool
	// info is the file itself; nil when it can't be looked at.
	info os.FileInfo
	// asked counts the aliases that spell the path itself: those up to the
	// first that lies in a root. What comes after them is where it leads.
	asked int
	spots []spot
	// traces are made by observed.
	traces map[*Run]observed
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
			if ok {
				q.spots = append(q.spots, spot{i, r, rel})
				q.asked = min(q.asked, i+1)
			}
		}
	}
	return q
}

// follow makes the aliases, since roots are link-free and asked paths needn't
// be. Nothing is opened. Of what lies outside of the roots nothing is told but
// where a link leads, and what is a directory.
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

// own are the aliases that spell the asked path itself.
func (q *question) own() []string { return q.aliases[:q.asked] }
