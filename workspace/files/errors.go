package files

import (
	"errors"
	"fmt"
	"net/http"
	"syscall"

	"golang.org/x/sys/unix"

	"waymark/internal/errtext"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
)

// refusal says why a file isn't read or written, with an HTTP status.
type refusal struct {
	code int
	text string
	err  error // the cause, if any
	// notDirectory says that a file is there, where a directory was expected.
	notDirectory bool
}

func (r *refusal) Error() string { return r.text }

// Unwrap returns the cause.
func (r *refusal) Unwrap() error { return r.err }

func refuse(code int, format string, args ...any) error {
	return &refusal{code: code, text: fmt.Sprintf(format, args...)}
}

// refuseFor converts an error of the system about a path.
func refuseFor(path string, err error) error {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	return &refusal{code: codeOf(err), text: fmt.Sprintf("%q: %s", path, errtext.Of(err)), err: err}
}

func codeOf(err error) int {
	errno, _ := errors.AsType[syscall.Errno](err)
	switch errno {
	case unix.ENOENT:
		return http.StatusNotFound
	case unix.EACCES, unix.EPERM, unix.EROFS:
		return http.StatusForbidden
	case unix.ENOTDIR, unix.EISDIR, unix.ELOOP, unix.ENAMETOOLONG, unix.EINVAL:
		return http.StatusBadRequest
	case unix.ENOSPC, unix.EDQUOT:
		return http.StatusInsufficientStorage
	}
	return http.StatusInternalServerError
}

// answer converts an error for the answer of a call.
func answer(c *httpapi.Call, err error) error {
	if r, ok := errors.AsType[*refusal](err); ok {
		return &problem.Error{Code: r.code, Message: c.Failed(), Detail: r.text}
	}
	return err
}

var (
	// errSwapped says that a link or something else has appeared on the path meanwhile. The
	// path must be looked up again.
	errSwapped = errors.New("links kept changing on the way")
	// errChanged says that a file was saved by somebody else since it was read.
	errChanged = errors.New("it was changed meanwhile")
)

// keptChanging is the refusal after the last attempt.
func keptChanging(path string, err error) error {
	return &refusal{code: http.StatusConflict, text: fmt.Sprintf("%q: %s: try again", path, err), err: err}
}
