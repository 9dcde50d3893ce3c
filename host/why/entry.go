package why

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"waymark/host/vfs"
)

// maxEntries bounds the names that one question lists in search of another case, and those it
// looks at.
const maxEntries = 20_000

// state is what exists at a path.
type state int

const (
	unknown   state = iota // it couldn't be looked at, for whatever reason
	present                // something exists; see typ
	missing                // nothing exists
	blocked                // a file is in the place of a directory
	escapes                // it leads out of the root
	broken                 // a link to nothing
	loops                  // a link that leads to itself
	hidden                 // its target is protected
	forbidden              // no permission to look
)

// entry is what exists at a path. Files aren't read.
type entry struct {
	rel   string // the path
	state state
	typ   fs.FileMode // of it or its target, if present
	// at is the path with the state: the whole path, or a part of it.
	at string
	// link is the text of the link at the path itself.
	link string
	// reason and target say what is hidden.
	reason vfs.Reason
	target string
	// other is the path in the case that exists, if missing.
	other string
}

// inspect finds out what exists at a path, as far as a filter shows it.
func inspect(root *vfs.Root, f *vfs.Filter, rel string) entry {
	run := root.Begin(f, vfs.Limits{Opens: 8, Entries: maxEntries})
	defer func() { _ = run.Close() }()
	info, err := run.Lstat(rel)
	if err != nil {
		e := failed(run, rel, err, false)
		if e.state == missing {
			e.search(run)
		}
		return e
	}
	if info.Type&fs.ModeSymlink == 0 {
		return entry{rel: rel, state: present, typ: info.Type, at: rel}
	}
	text, _ := run.Readlink(rel)
	path, typ, err := run.Resolve(rel)
	e := entry{rel: rel, state: present, typ: typ, at: path}
	if err != nil {
		e = failed(run, rel, err, true)
	}
	e.link = text
	return e
}

// failed makes an entry of a failure. followed says that the path itself exists and is a
// link.
func failed(run *vfs.Run, rel string, err error, followed bool) entry {
	e := entry{rel: rel, at: rel}
	var refused *vfs.Error
	switch {
	case errors.Is(err, vfs.ErrHidden) && errors.As(err, &refused):
		e.state, e.reason, e.target = hidden, refused.Reason, targetOf(run.Denied(), rel)
	case errors.Is(err, vfs.ErrEscape):
		e.state = escapes
	case errors.Is(err, syscall.ELOOP):
		e.state = loops
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENAMETOOLONG):
		e.state = missing
	case errors.Is(err, syscall.ENOTDIR):
		e.state = blocked
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		e.state = forbidden
	}
	if followed && (e.state == missing || e.state == blocked) {
		e.state = broken
	}
	return e
}

// targetOf returns where a refused path leads; empty if it isn't a link.
func targetOf(denied []vfs.Denial, rel string) string {
	for _, d := range slices.Backward(denied) {
		if d.Path == rel && d.Target != rel {
			return d.Target
		}
	}
	return ""
}

// wideView sees everything except secrets that no run in a root was granted. With it a path
// is inspected as by the run that may see most.
func wideView(runs []*Run) *vfs.Filter {
	v := vfs.View{Reads: []string{"**"}, MCPOnly: true}
	for _, r := range runs {
		v.GrantSecrets = append(v.GrantSecrets, r.View.GrantSecrets...)
	}
	f, err := v.Compile()
	if err != nil { // a grant of an entry that isn't on the list
		v.GrantSecrets = nil
		f, _ = v.Compile()
	}
	return f
}

// search finds out where the way to a missing path ends: at a broken link, or at a name that
// exists in another case.
func (e *entry) search(run *vfs.Run) {
	dir, name, rest := e.rel, "", ""
	for dir != "." {
		rest = strings.TrimSuffix(name+"/"+rest, "/")
		dir, name = parent(dir), base(dir)
		info, err := run.Lstat(dir)
		if err != nil {
			continue
		}
		if info.Type&fs.ModeSymlink != 0 {
			if _, err := run.Stat(dir); err != nil {
				*e = entry{rel: e.rel, state: broken, at: dir}
				return
			}
		}
		break
	}
	if other := sibling(run, dir, name); other != "" {
		if rest != "" {
			other += "/" + rest
		}
		if _, err := run.Lstat(other); err == nil {
			e.other = other
		}
	}
}

// sibling returns the path of an entry whose name differs only in case.
func sibling(run *vfs.Run, dir, name string) string {
	f, err := run.Open(dir)
	if err != nil || !f.IsDir() {
		return ""
	}
	entries, err := f.ReadDir()
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if e.Name != name && strings.EqualFold(e.Name, name) {
			return join(dir, e.Name)
		}
	}
	return ""
}

// join appends a path to a relative directory.
func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}

// parent returns the directory of a relative path other than ".".
func parent(rel string) string {
	i := strings.LastIndexByte(rel, '/')
	if i <= 0 {
		return "."
	}
	return rel[:i]
}

// base returns the last name of a relative path.
func base(rel string) string { return rel[strings.LastIndexByte(rel, '/')+1:] }

// name formats the path with the state.
func (e *entry) name() string {
	if e.at != "" {
		return quotePath(e.at)
	}
	return quotePath(e.rel)
}

// isLinkOut holds if the path is a link out of the root.
func (e *entry) isLinkOut() (facts, bool) {
	if e.state != escapes || e.link == "" {
		return facts{}, false
	}
	return with(quotePath(e.rel), quotePath(e.link))
}

// isBehindLinkOut holds if a link on the way leads out of the root.
func (e *entry) isBehindLinkOut() (facts, bool) {
	if e.state != escapes {
		return facts{}, false
	}
	return with(quotePath(e.rel))
}

// isBehindBrokenLink holds if a link on the way leads to nothing.
func (e *entry) isBehindBrokenLink() (facts, bool) {
	if e.state != broken || e.link != "" {
		return facts{}, false
	}
	return with(e.name())
}

func (e *entry) isBrokenLink() (facts, bool) {
	if e.state != broken {
		return facts{}, false
	}
	return with(e.name(), quotePath(e.link))
}

func (e *entry) isLoop() (facts, bool) {
	if e.state != loops {
		return facts{}, false
	}
	return with(e.name())
}

// isSpecial holds if it is a FIFO, a socket or a device.
func (e *entry) isSpecial() (facts, bool) {
	special := e.typ & fs.ModeType &^ fs.ModeDir
	if e.state != present || special == 0 {
		return facts{}, false
	}
	kind := "device"
	switch {
	case special&fs.ModeNamedPipe != 0:
		kind = "FIFO"
	case special&fs.ModeSocket != 0:
		kind = "socket"
	}
	return with(e.name(), kind)
}
