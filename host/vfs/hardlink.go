package vfs

import (
	"io/fs"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// hardLinks knows the protected files that a hard link may stand for. A hard
// link has no target: all names of a file are equal, and finding them would
// take a walk over the whole file system. So a file with several names is
// compared with the protected files in the root's top directory, in its own
// directory, and at the literal places of both lists. Who can make a hard
// link can also make a copy, which nobody can recognize; this is for the
// archive that brings a link with it.
type hardLinks struct {
	known   map[Identity]Reason // by device and inode only
	looked  map[string]bool     // directories
	entries int
}

// maxHardLinkEntries bounds the search in large directories.
const maxHardLinkEntries = 20_000

// hardLinked refuses a file that is also a protected one.
func (r *Run) hardLinked(path string, st *unix.Stat_t) failure {
	if r.links.known == nil {
		r.links.known = make(map[Identity]Reason)
		r.links.looked = make(map[string]bool)
		r.lookUpListed()
		r.lookForProtected(".")
	}
	dir, _ := split(path)
	r.lookForProtected(dir)
	id := identityOf(st)
	if reason := r.links.known[Identity{Dev: id.Dev, Ino: id.Ino}]; reason != ReasonNone {
		return failure{errno: syscall.ENOENT, reason: reason, at: path, detail: "a hard link"}
	}
	return failure{}
}

// lookUpListed finds the protected files of several names.
func (r *Run) lookUpListed() {
	var paths []string
	for _, m := range MCPFiles() {
		paths = append(paths, m.Pattern)
	}
	for _, s := range SecretPatterns() {
		paths = append(paths, s.Pattern)
	}
	for _, m := range append(paths, r.root.mcp...) {
		if strings.Contains(m, "/") && !strings.Contains(m, "*") {
			r.addProtected(m)
		}
	}
}

// lookForProtected finds the protected files of one directory.
func (r *Run) lookForProtected(dir string) {
	if r.links.looked[dir] {
		return
	}
	r.links.looked[dir] = true
	var found []string
	at := r.dirScope(dir)
	_, _, _, _ = r.w.list(dir, func(name []byte, typ fs.FileMode) bool {
		r.links.entries++
		path := join(dir, string(name))
		if typ == 0 && r.root.protected(r.filter, path, at.step(scope{}, string(name))) != ReasonNone {
			found = append(found, path)
		}
		return r.links.entries < maxHardLinkEntries
	})
	for _, path := range found {
		r.addProtected(path)
	}
}

func (r *Run) addProtected(path string) {
	reason := r.root.protected(r.filter, path, r.scopeOf(path))
	if reason == ReasonNone {
		return // granted
	}
	var st unix.Stat_t
	if _, errno := r.w.stat(path, &st); errno == 0 && typeOf(&st) == 0 {
		id := identityOf(&st)
		r.links.known[Identity{Dev: id.Dev, Ino: id.Ino}] = reason
	}
}
