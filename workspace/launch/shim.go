package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Descriptors of the shim, in addition to the standard streams.
const (
	specFD   = 3
	answerFD = 4
)

// hello is the beginning of the answer, which identifies the shim. listens comes with the
// descriptor of a filter's listener.
const (
	hello   = "waymark launch 1\n"
	listens = "listens\n"
)

// defaultPath is the search path without PATH, as in execvp.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// Main is the shim. It reads a specification from descriptor 3, applies it, and executes
// the program. It returns only on failure, after writing the reason to descriptor 4. It
// must be the first code of the program to run. It takes no arguments.
func Main([]string) int {
	// Priority, capabilities and filters belong to a thread, and what it executes inherits
	// them.
	runtime.LockOSThread()
	answer := os.NewFile(answerFD, "answer")
	spec := os.NewFile(specFD, "specification")
	if _, err := answer.WriteString(hello); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "this starts programs for the agent, and isn't of use by hand")
		return CodeNotStarted
	}
	err := begin(spec, answer)
	if data, marshalErr := json.Marshal(err); marshalErr == nil {
		_, _ = answer.Write(data)
	}
	return err.Code
}

// begin executes the program, or returns why it can't.
func begin(spec io.Reader, answer *os.File) *Error {
	s, err := decode(spec)
	if err != nil {
		return failure("the specification of the start", err)
	}
	// All descriptors but the standard ones, including inherited ones that the agent
	// doesn't know about.
	if err := closeOnExec(); err != nil {
		return failure("closing descriptors", err)
	}
	if err := setLimits(s); err != nil {
		return failure("setting limits", err)
	}
	if err := yield(s); err != nil {
		return failure("setting the priority", err)
	}
	if s.Umask != nil {
		unix.Umask(*s.Umask)
	}
	if s.Dir != "" {
		if err := unix.Chdir(s.Dir); err != nil {
			return failure("the working directory "+s.Dir, err)
		}
	}
	if s.Profile != nil {
		listener, err := confine(s.Profile, s.Kin)
		if err == nil && listener != nil {
			err = unix.Sendmsg(int(answer.Fd()), []byte(listens), unix.UnixRights(int(listener.Fd())), nil, 0)
		}
		if err != nil {
			return failure(fmt.Sprintf("the profile %q", s.Profile.Name), err)
		}
	}
	return execute(s)
}

// execute executes the program. It searches like execvp, but skips relative directories in
// PATH, which would be in the workspace.
func execute(s *Spec) *Error {
	name := s.Argv[0]
	if strings.Contains(name, "/") {
		return refused(name, name, syscall.Exec(name, s.Argv, s.Env)) //nolint:gosec // that is what it is for
	}
	path, found := defaultPath, ""
	for _, variable := range s.Env {
		if value, ok := strings.CutPrefix(variable, "PATH="); ok {
			path = value // the last one counts, as in os/exec
		}
	}
	var last error = syscall.ENOENT
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := dir + "/" + name                           // not cleaned: "." would be another file
		switch err := syscall.Exec(file, s.Argv, s.Env); { //nolint:gosec // as above
		case errors.Is(err, syscall.EACCES):
			last, found = err, file // another one may be executable
		case isThere(file, err):
			return refused(name, file, err)
		}
	}
	if found != "" {
		return refused(name, found, last)
	}
	return &Error{Message: fmt.Sprintf("%s: there is no such program in %s", name, path), Errno: syscall.ENOENT, Code: CodeNotFound}
}

// isThere reports whether executing a file failed for another reason than its absence.
func isThere(file string, err error) bool {
	if !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.ENOTDIR) {
		return true
	}
	_, statErr := os.Stat(file)
	return statErr == nil
}

// refused returns the error for a file that wasn't executed.
func refused(name, file string, err error) *Error {
	e := failure(name, err)
	if file != name {
		e.Message = fmt.Sprintf("%s (%s): %v", name, file, err)
	}
	if !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.ENOTDIR) {
		return e
	}
	if isThere(file, err) {
		e.Message = fmt.Sprintf("%s: the program that runs it, which its first line or its header names, isn't there", file)
		return e
	}
	e.Message, e.Code = fmt.Sprintf("%s: there is no such program", name), CodeNotFound
	return e
}

// closeOnExec marks all descriptors but the standard ones to be closed on exec.
func closeOnExec() error {
	if err := closeRange(); err == nil {
		return nil
	}
	// Before Linux 5.11, and on other systems, one by one.
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	if err = errors.Join(err, dir.Close()); err != nil {
		return err
	}
	for _, name := range names {
		var fd int
		if _, err := fmt.Sscan(name, &fd); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// yield gives the process a lower priority than the agent's.
func yield(s *Spec) error {
	if s.Nice > 0 {
		now, err := niceness()
		if err != nil {
			return err
		}
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, min(now+s.Nice, maxNice)); err != nil {
			return err
		}
	}
	return setOOMScore(s.OOMScore)
}
