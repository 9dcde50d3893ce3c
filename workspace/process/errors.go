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

// answers are the codes of the supervisor's errors.
var answers = []struct {
	err  error
	code int
	hint string // beside what the error says
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

// answered gives errors of the supervisor their codes, and refuses ids that are
// none.
func answered(next httpapi.Handler) httpapi.Handler {
	return func(c *httpapi.Call) error {
		if strings.ContainsRune(c.Arg("id")+c.Arg("token"), 0) {
			return refused(c, "an id has no NUL byte")
		}
		if c.Method == http.MethodGet && c.ContentLength != 0 {
			// Unread it would keep net/http from noticing that the client is gone.
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

// notStarted is why a process didn't start: the caller's mistake where the system
// says something about the program.
func notStarted(c *httpapi.Call, err error) error {
	for _, mistake := range []error{fs.ErrNotExist, fs.ErrPermission, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.E2BIG, syscall.ENOEXEC, syscall.EISDIR} {
		if errors.Is(err, mistake) && !errors.Is(err, context.DeadlineExceeded) {
			return refused(c, errtext.Of(err))
		}
	}
	return err
}
