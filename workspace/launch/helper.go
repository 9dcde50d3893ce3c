package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"waymark/internal/reexec"
)

// HelperDigest is the SHA-256 of the helper program that belongs to this one, in
// hexadecimal. The linker sets it (-X waymark/workspace/launch.HelperDigest=…); empty in
// a build that doesn't, which takes whatever helper is there.
var HelperDigest string

const (
	// helper is the program that is the shim, and the supervisor, and nothing else.
	helper = "supervisor"
	// libexec is where packages put it, relative to the directory of the agent.
	libexec = "../libexec/waymark"
	// maxHelper bounds the file, in bytes.
	maxHelper = 256 << 20
	// firstFree is a descriptor above those that a child is given.
	firstFree = 64
)

// ErrOtherHelper says that the file in the helper's place isn't the helper.
var ErrOtherHelper = errors.New("it isn't the program that was built with this one, and isn't started: install both again")

// Helper is the helper program: where it was found, and the path by which it is executed.
// On Linux that is one of an open file, which whoever puts another one into its place
// doesn't reach. While something runs from the file, as a supervisor does for as long as
// there are processes of chats, nobody can write to it either.
type Helper struct{ Path, Run string }

// found is the helper once there was one.
var found struct {
	sync.Mutex
	Helper
}

// FindHelper returns the helper program. It is looked for, and compared with HelperDigest,
// until it has been found.
//
// # Errors
//
// fs.ErrNotExist is matched where there is none; ErrOtherHelper where it is another one.
func FindHelper() (Helper, error) {
	found.Lock()
	defer found.Unlock()
	if found.Run != "" {
		return found.Helper, nil
	}
	var err error
	found.Helper, err = findHelper()
	return found.Helper, err
}

// Replaced reports whether there is another file by now where the helper was found: what
// has been opened is still the helper, and what others start by that path isn't.
func (h Helper) Replaced() bool {
	was, err := os.Stat(h.Run)
	is, ierr := os.Stat(h.Path)
	return err != nil || ierr != nil || !os.SameFile(was, is)
}

func findHelper() (Helper, error) {
	self, err := os.Executable()
	if err != nil {
		return Helper{}, err
	}
	dir := filepath.Dir(self)
	for _, path := range []string{filepath.Join(dir, helper), filepath.Join(dir, libexec, helper)} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return openHelper(path)
		}
	}
	return Helper{}, fmt.Errorf("the program %q isn't beside this one, nor in %s: %w", helper, libexec, os.ErrNotExist)
}

// openHelper opens the file, compares it, and keeps it open for as long as this process runs.
func openHelper(path string) (Helper, error) {
	f, err := os.Open(path)
	if err != nil {
		return Helper{}, err
	}
	defer func() { _ = f.Close() }()
	if HelperDigest != "" {
		sum := sha256.New()
		if _, err := io.Copy(sum, io.LimitReader(f, maxHelper)); err != nil {
			return Helper{}, err
		}
		if hex.EncodeToString(sum.Sum(nil)) != HelperDigest {
			return Helper{}, fmt.Errorf("%s: %w", path, ErrOtherHelper)
		}
	}
	// Not one of those by which a child gets what it is given: these would take its place.
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, firstFree)
	if err != nil {
		return Helper{}, err
	}
	run := "/proc/self/fd/" + strconv.Itoa(fd)
	if _, err := os.Stat(run); err != nil { // there is no /proc
		_ = unix.Close(fd)
		run = path
	}
	return Helper{Path: path, Run: run}, nil
}

// Own returns the program that this process runs as the shim: its main calls Main for
// the argument.
func Own(role string) (*Program, error) {
	path, err := reexec.Executable()
	return &Program{path: path, role: role}, err
}
