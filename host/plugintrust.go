package host

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// untrustedError says that somebody else could have written a plugin file.
type untrustedError string

func (e untrustedError) Error() string { return string(e) }

// checkOwner refuses a plugin file or directory that somebody else could have
// written: its code decides what this agent says.
func checkOwner(info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return untrustedError("its owner can't be found out")
	}
	perm := info.Mode().Perm()
	switch {
	case perm&0o002 != 0:
		return untrustedError("writable by everyone: chmod o-w it")
	case !trustedOwner(st):
		return untrustedError("owned by another user: chown it to yourself or to root")
	case perm&0o020 != 0 && !ownGroup(st):
		return untrustedError("writable by a group that isn't the owner's own: chmod g-w it")
	}
	return nil
}

func trustedOwner(st *syscall.Stat_t) bool { return st.Uid == 0 || int(st.Uid) == os.Geteuid() }

// ownGroup reports whether a file's group is its owner's private one, which
// on systems that have such groups carries the same number.
func ownGroup(st *syscall.Stat_t) bool { return st.Gid == st.Uid }

// checkLinks refuses a path that leads over a link which somebody else could
// point elsewhere: its own, or one in a directory that others may write to. In
// a sticky directory, such as /tmp, only a link's owner can.
func checkLinks(path string) error {
	links, _ := route(path)
	for _, link := range links {
		info, err := os.Lstat(link)
		if err != nil {
			continue // gone meanwhile; what is opened is checked
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || !trustedOwner(st) {
			return untrustedError(fmt.Sprintf("it is reached by the link %s, which is owned by another user: name the place itself", link))
		}
		dir, err := os.Stat(filepath.Dir(link))
		if err != nil || dir.Mode()&os.ModeSticky != 0 {
			continue
		}
		if err := checkOwner(dir); err != nil {
			return untrustedError(fmt.Sprintf("it is reached by the link %s, in a directory that is %v", link, err))
		}
	}
	return nil
}

// checkPlace checks a module file's links, and the directory that they lead to.
func (p pluginPath) checkPlace() error {
	if p.named || !isLink(p.path) {
		return nil // the directory that was listed has been checked
	}
	if err := checkLinks(p.path); err != nil {
		return err
	}
	_, target := route(p.path)
	dir, err := os.Stat(filepath.Dir(target))
	if err != nil {
		return nil //nolint:nilerr // opening the file says so too
	}
	if err := checkOwner(dir); err != nil {
		return untrustedError(fmt.Sprintf("it is a link into %s, which is %v", filepath.Dir(target), err))
	}
	return nil
}
