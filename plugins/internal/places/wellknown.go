// This file reads files at well-known paths. All built-in resolvers treat other files
// there alike: a missing file, or a directory, isn't reported; a link to a directory is a
// mistake that the user should see; anything unreadable is left to the host, which opens
// every reported file itself and knows the reason.
//
// The functions have no state, and work on one fs.FS at a time.

package places

import (
	"errors"
	"io/fs"
	"syscall"

	guest "waymark/sdk-guest"
)

// State says what is at a path.
type State int

// The states.
const (
	// Absent: nothing to report.
	Absent State = iota
	// Present: a file, or something that the host will report not to be one.
	Present
	// Invalid: a link to a directory.
	Invalid
)

// ReadLimit is how much of a file is read: what the host keeps, and no more than has room in
// a guest.
func ReadLimit(req *guest.Request) int { return min(req.MaxBytes(), maxRead) }

const maxRead = 4 << 20

// JSONDepth is how deep values may lie in each other in JSON. Settings have a dozen
// levels; a guest's stack takes some hundred in each of several files.
const JSONDepth = 128

// LinkToDirectory is the error of a resource whose path is Invalid.
const LinkToDirectory = "a link to a directory, where a file belongs"

// Read fills buf with what the file at a path begins with; see
// guest.ReadHeadInto. read is false when there is none or it can't be read; state
// then says whether to report it.
func Read(root fs.FS, name string, buf []byte) (head []byte, read bool, state State) {
	head, err := guest.ReadHeadInto(root, name, buf)
	if err == nil {
		return head, true, Present
	}
	return nil, false, stateOf(root, name)
}

func stateOf(root fs.FS, name string) State {
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
