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

// What the shim is given beside standard input, output and error.
const (
	specFD   = 3
	answerFD = 4
)

// hello begins the answer: a program that isn't the shim doesn't say it. With listens
// comes the descriptor of a filter's listener.
const (
	hello   = "waymark launch 1\n"
	listens = "listens\n"
)

// defaultPath is where programs are looked for without a PATH, as execvp does.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// Main is the shim. It reads a specification from descriptor 3, does what that
// says, and becomes the program; it returns only when it can't, and has said why
// to descriptor 4 then. Nothing else of the program may have run. It takes no
// arguments.
func Main([]string) int {
	// Priority, capabilities and filters are a thread's, and what this thread
	// executes keeps them.
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

// begin becomes the program, or returns why not.
func begin(spec io.Reader, answer *os.File) *Error {
	s, err := decode(spec)
	if err != nil {
		return failure("the specification of the start", err)
	}
	// All descriptors but the standard ones: also those that the agent itself was
	// given and doesn't know of.
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

// execute becomes the program, found as execvp finds it but for directories that
// aren't absolute: those would be the workspace's.
func execute(s *Spec) *Error {
	name := s.Argv[0]
	if strings.Contains(name, "/") {
		return refused(name, name, syscall.Exec(name, s.Argv, s.Env)) //nolint:gosec // that is what it is for
	}
	path, found := defaultPath, ""
	for _, variable := range s.Env {
		if value, ok := strings.CutPrefix(variable, "PATH="); ok {
			path = value // the last one counts, as it does for os/exec
		}
	}
	var last error = syscall.ENOENT
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := dir + "/" + name                           // cleaned, "." would be another file
		switch err := syscall.Exec(file, s.Argv, s.Env); { //nolint:gosec // as above
		case errors.Is(err, syscall.EACCES):
			last, found = err, file // perhaps there is another one that may be executed
		case isThere(file, err):
			return refused(name, file, err)
		}
	}
	if found != "" {
		return refused(name, found, last)
	}
	return &Error{Message: fmt.Sprintf("%s: there is no such program in %s", name, path), Errno: syscall.ENOENT, Code: CodeNotFound}
}

// isThere reports whether execution failed for another reason than that there is
// no such file.
func isThere(file string, err error) bool {
	if !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.ENOTDIR) {
		return true
	}
	_, statErr := os.Stat(file)
	return statErr == nil
}

// refused says why a file wasn't executed.
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

// closeOnExec has all descriptors but the standard ones closed when the program
// begins.
func closeOnExec() error {
	if err := closeRange(); err == nil {
		return nil
	}
	// A kernel before 5.11, or another system: one after the other.
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

// yield makes the process less important than the agent.
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
