package vfs

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
)

// hardLinks finds the protected files that a hard link may stand for. A hard link has no
// target: all names of a file are equal, and nothing says where the others are. So before a
// file with several names is read, the root is searched for protected files. The file is
// refused if it is one of them, or if there is too much to search. Somebody who can make a
// hard link can also make a copy, which can't be recognized; this check is for archives that
// contain a link.
type hardLinks struct {
	// searched holds a search for every device with a file that has several names, because
	// hard links don't cross devices.
	searched map[uint64]*linkSearch
}

const (
	// maxSearched bounds a search for protected files, in directory entries. It takes 50 ms,
	// once for a run or check that meets a file with several names.
	maxSearched = 100_000
	// maxBulk bounds it in directories that hold many published files; see isBulk. Beyond it
	// nothing is refused.
	maxBulk = 20_000

	// The cost of searching, in units of work.
	workPerEntry = 50
	workPerStat  = 150
)

// linkSearch is a search for protected files on one device.
type linkSearch struct {
	run     *Run
	dev     uint64
	known   map[Identity]Reason // by device and inode only
	todo    []*searchedDir      // the last is next
	bulk    []*searchedDir
	left    int
	partial bool // it ended before everything was searched
}

// searchedDir is a directory to be searched. It doesn't hold its path, because a hundred
// thousand paths could take much memory.
type searchedDir struct {
	name  string
	up    *searchedDir
	at    scope // the guard's scope, once listed
	names int   // number of names from the root
}

func (d *searchedDir) path() string {
	if d.up == nil {
		return "."
	}
	names := make([]string, d.names)
	for ; d.up != nil; d = d.up {
		names[d.names-1] = d.name
	}
	return strings.Join(names, "/")
}

// isBulk reports whether a directory of this name holds files from elsewhere: published
// packages, or git's objects, which are compressed.
func (d *searchedDir) isBulk(name string) bool {
	if name == "node_modules" {
		return true
	}
	for ; name == "objects" && d != nil; d = d.up {
		if d.name == ".git" {
			return true
		}
	}
	return false
}

// hardLinked refuses a file that is also a protected one, or may be.
func (r *Run) hardLinked(path string, st *unix.Stat_t) failure {
	id := identityOf(st)
	search := r.links.searched[id.Dev]
	if search == nil {
		search = &linkSearch{run: r, dev: id.Dev, known: make(map[Identity]Reason)}
		search.do()
		if r.links.searched == nil {
			r.links.searched = make(map[uint64]*linkSearch)
		}
		r.links.searched[id.Dev] = search
	}
	switch reason := search.known[Identity{Dev: id.Dev, Ino: id.Ino}]; {
	case r.over != nil:
		return failure{errno: syscall.EIO, reason: ReasonLimit}
	case reason != ReasonNone:
		return failure{errno: syscall.ENOENT, reason: reason, at: path, detail: "a hard link"}
	case search.partial:
		return failure{errno: syscall.EACCES, reason: ReasonManyNames, at: path, detail: "make it a file of its own: cp -p it, and mv the copy over it"}
	}
	return failure{}
}

func (s *linkSearch) do() {
	s.todo, s.left = []*searchedDir{{at: s.run.scopes["."]}}, maxSearched
	s.drain(&s.todo)
	s.partial = s.left < 0
	s.left = min(s.left, maxBulk)
	for len(s.bulk) > 0 && s.left > 0 {
		s.todo = append(s.todo, s.bulk[len(s.bulk)-1])
		s.bulk = s.bulk[:len(s.bulk)-1]
		s.drain(&s.todo)
	}
	s.todo, s.bulk = nil, nil
}

// drain searches directories until none is left or the bound is reached.
func (s *linkSearch) drain(todo *[]*searchedDir) {
	for len(*todo) > 0 && s.left >= 0 && s.run.over == nil {
		last := len(*todo) - 1
		d := (*todo)[last]
		*todo = (*todo)[:last]
		s.list(d)
		s.run.chargeMatching()
	}
}

// list searches one directory. It skips a directory that can't be listed: only somebody with
// access to it can have made a link to a file in it.
func (s *linkSearch) list(d *searchedDir) {
	r, path := s.run, d.path()
	if d.up != nil {
		d.at = r.filter.stepGuard(r.root, &r.matcher, d.up.at, scope{}, d.name)
	}
	inside := r.filter.protected(d.at) != ReasonNone
	var found []string
	todo, bulk := s.todo, s.bulk
	var before, after unix.Stat_t
	_, errno := r.walker.List(path, &before, &after, func(name []byte, typ fs.FileMode) bool {
		n := string(name)
		r.matcher.use(workPerEntry)
		if s.left -= 1 + len(n)/64; s.left < 0 {
			return false
		}
		switch {
		case typ == fs.ModeDir && d.isBulk(n):
			bulk = append(bulk, &searchedDir{name: n, up: d, names: d.names + 1})
		case typ == fs.ModeDir:
			todo = append(todo, &searchedDir{name: n, up: d, names: d.names + 1})
		case typ == 0 && (inside || s.protects(d, n)):
			found = append(found, n)
		}
		return true
	})
	if errno == 0 && identityOf(&before).Dev != s.dev && identityOf(&before).Dev != r.root.id.Dev {
		return // another file system, such as /proc
	}
	if temporary(errno) {
		s.left = -1
	}
	s.todo, s.bulk = todo, bulk
	for _, name := range found {
		s.add(beneath.Join(path, name), d, name)
	}
}

func (s *linkSearch) protects(d *searchedDir, name string) bool {
	r := s.run
	r.leaf = r.filter.stepGuard(r.root, &r.matcher, d.at, r.leaf, name)
	return r.filter.protected(r.leaf) != ReasonNone
}

// add records a protected file.
func (s *linkSearch) add(path string, d *searchedDir, name string) {
	r := s.run
	r.matcher.use(workPerStat)
	var st unix.Stat_t
	_, errno := r.walker.Stat(path, &st)
	switch {
	case temporary(errno):
		s.left = -1
	case errno == 0 && beneath.TypeOf(&st) == 0 && st.Nlink > 1:
		id := identityOf(&st)
		r.leaf = r.filter.stepGuard(r.root, &r.matcher, d.at, r.leaf, name)
		s.known[Identity{Dev: id.Dev, Ino: id.Ino}] = r.filter.protected(r.leaf)
	}
}

// temporary reports whether an errno means that something may be there but couldn't be looked
// at.
func temporary(errno syscall.Errno) bool {
	switch {
	case errno == 0, errno == syscall.ENOENT, beneath.MaybeLink(errno), errors.Is(errno, fs.ErrPermission):
		return false
	}
	return true
}
