package watch

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// People see these errors in State.Error; no method returns them.

// failure distinguishes the errors of Backend.Add.
type failure uint8

const (
	unknown   failure = iota
	vanished          // the path isn't a directory any more
	forbidden         // it is unreadable
	exhausted         // there are no more watches
)

func failureOf(err error) failure {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return unknown
	}
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.ESTALE:
		return vanished
	case syscall.EACCES, syscall.EPERM:
		return forbidden
	case syscall.ENOSPC, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM:
		return exhausted
	}
	return unknown
}

// KernelLimit is a limit on what one user may watch.
type KernelLimit struct {
	Name  string // as sysctl has it
	Value int
	// Raise is the command that raises it enough for any workspace.
	Raise string
}

// KernelLimits returns the lowest limits on watches and on instances, as far as this system
// has them.
func KernelLimits() (list []KernelLimit) {
	for _, limits := range [][]limit{watchLimits, instanceLimits} {
		if l, n := tightest(limits); n >= 0 {
			list = append(list, KernelLimit{l.name, n, l.raise()})
		}
	}
	return list
}

// limit is a sysctl that limits what a user may have.
type limit struct{ name, file, suggestion string }

func (l limit) raise() string { return "sysctl -w " + l.name + "=" + l.suggestion }

// The kernel counts per user and, in containers with a user namespace, per namespace too; the
// lower limit is the one that was reached.
var (
	watchLimits = []limit{
		{"fs.inotify.max_user_watches", "/proc/sys/fs/inotify/max_user_watches", "524288"},
		{"user.max_inotify_watches", "/proc/sys/user/max_inotify_watches", "524288"},
	}
	instanceLimits = []limit{
		{"fs.inotify.max_user_instances", "/proc/sys/fs/inotify/max_user_instances", "1024"},
		{"user.max_inotify_instances", "/proc/sys/user/max_inotify_instances", "1024"},
	}
)

// tightest returns the lowest limit and its value, -1 if there is none.
func tightest(limits []limit) (found limit, least int) {
	found, least = limits[0], -1
	for _, l := range limits {
		text, err := os.ReadFile(l.file)
		if err != nil {
			continue
		}
		if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && (least < 0 || n < least) {
			found, least = l, n
		}
	}
	return found, least
}

// advice says what the lowest limit is now and how to raise it.
func advice(limits []limit) string {
	l, n := tightest(limits)
	if n < 0 {
		return "raise the limit: " + l.raise()
	}
	return fmt.Sprintf("%s is %d; raise it: %s", l.name, n, l.raise())
}

// addError says why directories aren't watched, and what to do.
func addError(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("there are no more inotify watches for this user, so changes are polled for: %w (%s)", err, advice(watchLimits))
	}
	return fmt.Errorf("%s can't be watched, so changes are polled for: %w%s", path, err, hint(err))
}

// instanceError says why there is no notifier, and what to do.
func instanceError(err error) error {
	if errors.Is(err, syscall.EMFILE) {
		return fmt.Errorf("there are no more inotify instances for this user, or open files for this process, so changes are polled for: "+
			"%w (%s, or raise ulimit -n)", err, advice(instanceLimits))
	}
	return fmt.Errorf("file notifications can't be had, so changes are polled for: %w%s", err, hint(err))
}

// lostError says why the notifier was given up. It asks a person for nothing, because the
// notifier is made anew.
func lostError(err error) error {
	return fmt.Errorf("file notifications broke off, so changes are polled for until they work again: %w", err)
}

func hint(err error) string {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return " (raise this process's limit of open files: ulimit -n)"
	case errors.Is(err, syscall.ENFILE):
		return " (raise the system's limit of open files: sysctl fs.file-max)"
	case errors.Is(err, syscall.ENOMEM):
		return " (the kernel has no memory for it)"
	}
	return ""
}
