package vfs

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Sentinels that an Error matches in errors.Is, besides its Errno.
var (
	// ErrEscape says that a link leads out of the root.
	ErrEscape = errors.New("leads out of the root")
	// ErrHidden says that the path isn't visible to this view. Guests see ENOENT.
	ErrHidden = errors.New("not visible")
	// ErrLimit says that a limit of the run is exceeded; the run must end.
	ErrLimit = errors.New("over the limit")
	// ErrNotRegular says that the file is neither regular nor a directory.
	ErrNotRegular = errors.New("not a regular file")
	// ErrManyNames says that the file has several names, and that the root is too large to
	// find out whether one of them is protected.
	ErrManyNames = errors.New("has several names, of which one may be protected: there is too much to search")
	// ErrChanged says that the file changed each time it was read.
	ErrChanged = errors.New("changed while it was read")
)

// Reason says why an operation was refused. Only the host sees it: a guest sees the errno,
// because the reason would reveal what exists.
type Reason string

// The reasons.
const (
	ReasonNone       Reason = ""
	ReasonSecret     Reason = "secret"       // on the secret list
	ReasonMCP        Reason = "mcp"          // MCP configuration
	ReasonExcluded   Reason = "excluded"     // by the operator's configuration, or one of the agent's own places
	ReasonNotInReads Reason = "not in reads" // not among the view's patterns
	ReasonEscape     Reason = "escape"       // a link out of the root
	ReasonLimit      Reason = "limit"
	ReasonNotRegular Reason = "not regular"
	ReasonManyNames  Reason = "many names" // a hard link, perhaps to a protected file
	ReasonChanged    Reason = "changed"
)

// sentinel maps a reason to what errors.Is finds.
func (r Reason) sentinel() error {
	switch r {
	case ReasonSecret, ReasonMCP, ReasonExcluded, ReasonNotInReads:
		return ErrHidden
	case ReasonEscape:
		return ErrEscape
	case ReasonLimit:
		return ErrLimit
	case ReasonNotRegular:
		return ErrNotRegular
	case ReasonManyNames:
		return ErrManyNames
	case ReasonChanged:
		return ErrChanged
	}
	return nil
}

// Error is the type of all errors of this package except those of View.Compile.
type Error struct {
	// Op is the operation: "open", "stat", "read", …
	Op string
	// Path is the path asked for.
	Path string
	// Errno is what a guest sees; never 0.
	Errno syscall.Errno
	// Reason tells the host more.
	Reason Reason
	// Detail is for a person: the limit, the target, what to do.
	Detail string
}

// Error is for the host's logs: it includes the reason.
func (e *Error) Error() string {
	msg := e.Guest()
	if s := e.Reason.sentinel(); s != nil {
		msg += ": " + s.Error()
		if errors.Is(s, ErrHidden) {
			msg += " (" + string(e.Reason) + ")"
		}
	}
	if e.Detail != "" {
		msg += ": " + e.Detail
	}
	return msg
}

// Guest returns the message that a guest may see: the errno's text and the path it asked for.
func (e *Error) Guest() string {
	return fmt.Sprintf("%s %s: %v", e.Op, e.Path, e.Errno)
}

// ErrnoName returns the errno's name, for example "ENOENT".
func (e *Error) ErrnoName() string { return unix.ErrnoName(e.Errno) }

// Unwrap returns the Errno, so that errors.Is matches it and fs.ErrNotExist.
func (e *Error) Unwrap() error { return e.Errno }

// Is reports whether target is the sentinel of the reason.
func (e *Error) Is(target error) bool {
	s := e.Reason.sentinel()
	return s != nil && s == target
}

// failure is why an operation on one path failed; the zero value is success.
type failure struct {
	errno  syscall.Errno
	at     string // the link-free path where it happened, if any
	reason Reason
	detail string
}

// error returns the error that a caller sees.
func (f failure) error(v verb, path string) *Error {
	e := &Error{Op: string(v), Path: path, Errno: f.errno, Reason: f.reason, Detail: f.detail}
	switch f.errno {
	case syscall.EACCES, syscall.EINVAL, syscall.EIO, syscall.EISDIR, syscall.ELOOP,
		syscall.ENAMETOOLONG, syscall.ENOENT, syscall.ENOTDIR, syscall.EPERM, syscall.EBADF:
	default: // errnos that a guest's WASI doesn't know, and the host's own trouble
		e.Errno, e.Detail = syscall.EIO, f.errno.Error()
	}
	return e
}
