package launch

import (
	"errors"
	"syscall"
)

// ErrUnsupported says that this machine can't confine a program.
var ErrUnsupported = errors.New("programs can't be confined here")

// Exit codes for failed starts, as in shells.
const (
	CodeNotStarted = 126 // it exists, but can't be started
	CodeNotFound   = 127 // it doesn't exist
)

// Error says why a program wasn't started.
type Error struct {
	// Message is a sentence for people.
	Message string `json:"message"`
	// Errno is the system's reason; 0 if there is none.
	Errno syscall.Errno `json:"errno,omitempty"`
	// Code is CodeNotFound or CodeNotStarted.
	Code int `json:"code"`
	// Unsupported makes the error match ErrUnsupported.
	Unsupported bool `json:"unsupported,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the system's reason.
func (e *Error) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// Is reports whether the error matches ErrUnsupported.
func (e *Error) Is(target error) bool { return target == ErrUnsupported && e.Unsupported }

// failure returns an Error for a failed step.
func failure(doing string, err error) *Error {
	e := &Error{Message: doing + ": " + err.Error(), Code: CodeNotStarted, Unsupported: errors.Is(err, ErrUnsupported)}
	_ = errors.As(err, &e.Errno)
	return e
}
