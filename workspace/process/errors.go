package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"syscall"

	"waymark/internal/errtext"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/workspace/supervisor"
)

// answers are the codes for the supervisor's errors.
var answers = []struct {
	err  error
	code int
	hint string // advice in addition to the error
}{
	{supervisor.ErrNotFound, http.StatusNotFound, ""},
	{supervisor.ErrExited, http.StatusConflict, ""},
	{supervisor.ErrNoStdin, http.StatusConflict, "it is open when the start asks for stdin or a pty"},
	{supervisor.ErrNoTerminal, http.StatusConflict, "a start asks for one with pty"},
	{supervisor.ErrConflict, http.StatusConflict, ""},
	{supervisor.ErrInstance, http.StatusConflict, "see agent_instance_id in the list of processes"},
	{supervisor.ErrExpired, http.StatusGone, ""},
	{supervisor.ErrFull, http.StatusTooManyRequests, "try again when some have ended"},
	{supervisor.ErrLost, http.StatusServiceUnavailable, "it is started again with the next process"},
}

// answered converts errors of the supervisor into answers, and refuses invalid ids.
func answered(next httpapi.Handler) httpapi.Handler {
	return func(c *httpapi.Call) error {
		if strings.ContainsRune(c.Arg("id")+c.Arg("token"), 0) {
			return refused(c, "an id has no NUL byte")
		}
		if c.Method == http.MethodGet && c.ContentLength != 0 {
			// If it stayed unread, net/http wouldn't notice that the client disconnects.
			return refused(c, c.Method+" takes no body")
		}
		err := next(c)
		for _, a := range answers {
			if !errors.Is(err, a.err) {
				continue
			}
			detail := a.err.Error()
			if errors.Is(err, supervisor.ErrNotFound) {
				detail = fmt.Sprintf("there is no process %q", c.Arg("id"))
			}
			if a.hint != "" {
				detail += ": " + a.hint
			}
			return &problem.Error{Code: a.code, Message: c.Failed(), Detail: detail}
		}
		return err
	}
}

// notStarted returns why a process wasn't started. An error of the system about the program
// is the caller's mistake.
func notStarted(c *httpapi.Call, err error) error {
	for _, mistake := range []error{fs.ErrNotExist, fs.ErrPermission, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.E2BIG, syscall.ENOEXEC, syscall.EISDIR} {
		if errors.Is(err, mistake) && !errors.Is(err, context.DeadlineExceeded) {
			return refused(c, errtext.Of(err))
		}
	}
	return err
}
