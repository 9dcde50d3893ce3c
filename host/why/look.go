package why

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"waymark/host/vfs"
)

// maxEntries bounds what one question lists, in search of a name in another
// case, and how many names it looks at.
const maxEntries = 20_000

// state is what stands at a path.
type state int

const (
	unknown   state = iota // it couldn't be looked at, for whatever reason
	present                // something is there; see typ
	missing                // nothing is there
	blocked                // a file is in the way of a directory
	escapes                // it leads out of the root
	broken                 // a link to nothing
	loops                  // a link that leads to itself
	hidden                 // what it leads to is protected
	forbidden              // no permission to look
)

// sight is what a look at a path shows. Of a file nothing is read.
type sight struct {
	state state
	typ   fs.FileMode // what it is, or leads to, when present
	// at is the path, on the way or the whole, where the state was met.
	at string
	// link is the text of the link at the path itself.
	link string
	// reason and target say what is hidden.
	reason vfs.Reason
	target string
	// other is the path in the case that exists, when missing.
	other string
}

// look looks at a path with the eyes of a filter.
func look(root *vfs.Root, f *vfs.Filter, rel string) sight {
	run := root.Begin(f, vfs.Limits{Opens: 8, Entries: maxEntries})
	defer func() { _ = run.Close() }()
	info, err := run.Lstat(rel)
	if err != nil {
		s := stopped(run, rel, err, false)
		if s.state == missing {
			s.search(run, rel)
		}
		return s
	}
	if info.Type&fs.ModeSymlink == 0 {
		return sight{state: present, typ: info.Type, at: rel}
	}
	text, _ := run.Readlink(rel)
	path, typ, err := run.Resolve(rel)
	s := sight{state: present, typ: typ, at: path}
	if err != nil {
		s = stopped(run, rel, err, true)
	}
	s.link = text
	return s
}

// stopped makes a sight of a failure. followed says that the path itself is
// there, and a link.
func stopped(run *vfs.Run, rel string, err error, followed bool) sight {
	s := sight{at: rel}
	var e *vfs.Error
	switch {
	case errors.Is(err, vfs.ErrHidden) && errors.As(err, &e):
		s.state, s.reason, s.target = hidden, e.Reason, targetOf(run.Denied(), rel)
	case errors.Is(err, vfs.ErrEscape):
		s.state = escapes
	case errors.Is(err, syscall.ELOOP):
		s.state = loops
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENAMETOOLONG):
		s.state = missing
	case errors.Is(err, syscall.ENOTDIR):
		s.state = blocked
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		s.state = forbidden
	}
	if followed && (s.state == missing || s.state == blocked) {
		s.state = broken
	}
	return s
}

// targetOf is where a refused path leads; empty when that is itself.
func targetOf(denied []vfs.Denial, rel string) string {
	for _, d := range slices.Backward(denied) {
		if d.Path == rel && d.Target != rel {
			return d.Target
		}
	}
	return ""
}

// wideView sees everything but secrets that no run in a root was granted, so
// that a look at a path is a look with the widest eyes there are.
func wideView(runs []*Run) *vfs.Filter {
	v := vfs.View{Reads: []string{"**"}, MCPOnly: true}
	for _, r := range runs {
		v.GrantSecrets = append(v.GrantSecrets, r.View.GrantSecrets...)
	}
	f, err := v.Compile()
	if err != nil { // a grant of what isn't on the list
		v.GrantSecrets = nil
		f, _ = v.Compile()
	}
	return f
}
