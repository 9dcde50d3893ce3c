package launch

import (
	"errors"
	"syscall"
)

// ErrUnsupported says that this machine can't hold a program to a profile.
var ErrUnsupported = errors.New("programs can't be confined here")

// Exit codes of starts that failed, as shells have them.
const (
	CodeNotStarted = 126 // it is there, and can't be started
	CodeNotFound   = 127 // it isn't there
)

// Error says why a program wasn't started.
type Error struct {
	// Message is a sentence for people.
	Message string `json:"message"`
	// Errno is the system's reason; 0 where there is none.
	Errno syscall.Errno `json:"errno,omitempty"`
	// Code is CodeNotFound or CodeNotStarted.
	Code int `json:"code"`
	// Unsupported makes it ErrUnsupported.
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

// Is reports whether target is ErrUnsupported and the error says that.
func (e *Error) Is(target error) bool { return target == ErrUnsupported && e.Unsupported }

// failure makes an Error of what has gone wrong while something was done.
func failure(doing string, err error) *Error {
	e := &Error{Message: doing + ": " + err.Error(), Code: CodeNotStarted, Unsupported: errors.Is(err, ErrUnsupported)}
	_ = errors.As(err, &e.Errno)
	return e
}
