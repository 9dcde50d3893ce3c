package pgtest

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"slices"
)

var (
	errMissing = errors.New("initdb is not installed; install Debian's postgresql, or set " + serverVariable)
	// errRoot says that PostgreSQL is there, and that this process can't run it.
	errRoot = errors.New("PostgreSQL doesn't run as root; run the tests as another user, or set " + serverVariable)
)

// programs returns the directory of PostgreSQL's programs: of the newest
// version where Debian puts them, which is outside PATH, or where initdb is.
func programs() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err == nil && len(found) > 0 {
		version := func(path string) int {
			n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 for what is no version
			return n
		}
		return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
	}
	path, err := osexec.LookPath("initdb")
	if err != nil {
		return "", errMissing
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	return filepath.Dir(path), nil
}

// unprivileged returns who the server is to run as: nil for this user, and
// somebody else for root, whom PostgreSQL refuses. It also refuses whoever has
// no name, so errRoot is the answer where nobody has one.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, fmt.Errorf("%w (%w)", errRoot, err)
		}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
