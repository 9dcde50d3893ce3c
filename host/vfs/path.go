package vfs

import (
	"path"
	"strings"
	"syscall"
	"unicode/utf8"

	"waymark/internal/beneath"
)

// cleanPath is the one way in for a path from outside; the package comment
// has the rules. dirOnly says that the path had a trailing slash.
func cleanPath(name string) (clean string, dirOnly bool, problem failure) {
	switch {
	case name == "":
		return "", false, failure{errno: syscall.EINVAL, detail: "the path is empty"}
	case len(name) > beneath.MaxPath:
		return "", false, failure{errno: syscall.ENAMETOOLONG}
	case !utf8.ValidString(name):
		return "", false, failure{errno: syscall.EPERM, detail: "the path isn't UTF-8"}
	case strings.IndexByte(name, 0) >= 0:
		return "", false, failure{errno: syscall.EINVAL, detail: "the path holds a NUL"}
	case name[0] == '/':
		return "", false, failure{errno: syscall.EPERM, detail: "the path must be relative to the root"}
	}
	clean = path.Clean(name)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", false, failure{errno: syscall.EPERM, detail: "the path leaves the root"}
	}
	return clean, name[len(name)-1] == '/', failure{}
}
