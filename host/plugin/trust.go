package plugin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// untrustedError says that somebody else could have written a plugin file.
type untrustedError string

func (e untrustedError) Error() string { return string(e) }

// checkFile refuses an open plugin file or directory that somebody else could have written,
// because its code decides what this agent reports.
func checkFile(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return checkWriters(info, func(name string) (int, error) { return unix.Fgetxattr(int(f.Fd()), name, nil) })
}

// checkDir is checkFile for a directory that needn't be readable.
func checkDir(path string, info os.FileInfo) error {
	return checkWriters(info, func(name string) (int, error) { return unix.Getxattr(path, name, nil) })
}

// checkWriters decides by owner and mode. With an access control list, the group bits of the
// mode are the list's mask and don't say who may write, so there must be no list.
func checkWriters(info os.FileInfo, attribute func(name string) (int, error)) error {
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
	case perm&0o020 != 0 && st.Gid != st.Uid: // a private group has its owner's number
		return untrustedError("writable by a group that isn't the owner's own: chmod g-w it")
	}
	if _, err := attribute("system.posix_acl_access"); err == nil {
		return untrustedError("subject to an access control list, which may let others write to it: take the list away (setfacl -b)")
	}
	return nil
}

func trustedOwner(st *syscall.Stat_t) bool { return st.Uid == 0 || int(st.Uid) == os.Geteuid() }

// checkLinks refuses a path over a link that somebody else could redirect: a link that they
// own, or one in a directory that others may write to. In a sticky directory, such as /tmp,
// only a link's owner can redirect it.
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
		if err := checkDir(filepath.Dir(link), dir); err != nil {
			return untrustedError(fmt.Sprintf("it is reached by the link %s, in a directory that is %v", link, err))
		}
	}
	return nil
}

// checkPlace checks a module file's links, and the directory that they lead to.
func (p modulePath) checkPlace() error {
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
	if err := checkDir(filepath.Dir(target), dir); err != nil {
		return untrustedError(fmt.Sprintf("it is a link into %s, which is %v", filepath.Dir(target), err))
	}
	return nil
}

// maxLinks is how many links a path may contain, as in the kernel.
const maxLinks = 40

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&os.ModeSymlink != 0
}

// route follows a path and returns its links, and the link-free path at its end, which
// needn't exist.
func route(path string) (links []string, target string) {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	rest := strings.Split(path, "/")
	at := "/"
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		text, err := os.Readlink(next)
		if err != nil || len(links) == maxLinks {
			at = next // not a link, or nothing there
			continue
		}
		links = append(links, next)
		if filepath.IsAbs(text) {
			at = "/"
		}
		rest = append(strings.Split(text, "/"), rest...)
	}
	return links, at
}
