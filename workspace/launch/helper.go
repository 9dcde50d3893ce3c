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

// HelperDigest is the SHA-256 of the matching helper program, in hexadecimal. The linker
// sets it (-X waymark/workspace/launch.HelperDigest=…). Without it, any helper is accepted.
var HelperDigest string

const (
	// helper is the name of the program that is only the shim and the supervisor.
	helper = "supervisor"
	// libexec is where packages install it, relative to the agent's directory.
	libexec = "../libexec/waymark"
	// maxHelper limits the file, in bytes.
	maxHelper = 256 << 20
	// firstFree is above all descriptors that a child gets.
	firstFree = 64
)

// ErrOtherHelper says that the helper's file is another program.
var ErrOtherHelper = errors.New("it isn't the program that was built with this one, and isn't started: install both again")

// Helper is the helper program: its path, and the path for executing it. On Linux the
// latter is that of an open file, so that replacing the file has no effect. Nobody can
// write to the file while it is executing, for example as a supervisor.
type Helper struct{ Path, Run string }

// found is the helper once it was found.
var found struct {
	sync.Mutex
	Helper
}

// FindHelper returns the helper program, after comparing it with HelperDigest. It repeats
// the search until it succeeds.
//
// # Errors
//
// The error matches fs.ErrNotExist if there is none, and ErrOtherHelper if it is another
// program.
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

// Replaced reports whether the helper's path has another file by now. The open file is
// still the helper, but starting that path isn't safe.
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

// openHelper opens the file, compares it, and keeps it open as long as this process runs.
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
	// Keep it away from the low descriptors, which are replaced in a child.
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, firstFree)
	if err != nil {
		return Helper{}, err
	}
	run := "/proc/self/fd/" + strconv.Itoa(fd)
	if _, err := os.Stat(run); err != nil { // /proc is missing
		_ = unix.Close(fd)
		run = path
	}
	return Helper{Path: path, Run: run}, nil
}

// Own returns this process's own program as the shim. Its main calls Main for the argument.
func Own(role string) (*Program, error) {
	path, err := reexec.Executable()
	return &Program{path: path, role: role}, err
}
