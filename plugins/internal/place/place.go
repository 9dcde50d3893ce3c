// Package place looks at the fixed places where a file is expected. The rules
// for what else may stand there are the same for all built-in resolvers:
// nothing, or a directory, is nothing to report; a link to a directory is a
// mistake that the user should see; and everything that can't be read is left
// to the host, which opens every reported file itself and knows the reason.
//
// Functions without state, for one fs.FS at a time.
package place

import (
	"errors"
	"io/fs"
	"syscall"

	guest "waymark/sdk-guest"
)

// State says what stands in a place.
type State int

// The states of a place.
const (
	// Absent: nothing to report.
	Absent State = iota
	// Present: a file, or what the host will say isn't one.
	Present
	// Invalid: a link to a directory.
	Invalid
)

// LinkToDirectory is the error of a resource whose place is Invalid.
const LinkToDirectory = "a link to a directory, where a file belongs"

// Read returns the first n bytes of the file in a place. read is false when
// there is none or it can't be read; state then says what to report.
func Read(root fs.FS, name string, n int) (head []byte, read bool, state State) {
	head, err := guest.ReadHead(root, name, n)
	if err == nil {
		return head, true, Present
	}
	return nil, false, look(root, name)
}

func look(root fs.FS, name string) State {
	info, err := fs.Lstat(root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return Absent
	case err != nil:
		return Present
	case info.IsDir():
		return Absent
	case info.Mode()&fs.ModeSymlink != 0:
		if target, err := fs.Stat(root, name); err == nil && target.IsDir() {
			return Invalid
		}
	}
	return Present
}
