package codecache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// explain says why a child failed, in one line.
func explain(ctx, timed context.Context, limits Limits, err error, stdout []byte, stderr string) error {
	var r report
	var exit *exec.ExitError
	_ = json.Unmarshal(stdout, &r)
	first, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case r.Limit != "":
		return limits.exceeded(r.Limit)
	case timed.Err() != nil || signaled(err, syscall.SIGXCPU):
		return limits.exceeded("time")
	// The kernel says no, or kills, before the child notices.
	case outOfMemory(stderr), signaled(err, syscall.SIGKILL):
		return limits.exceeded("memory")
	case r.Stage != "":
		return &ModuleError{r.Stage, r.Text}
	case r.Text != "":
		return fmt.Errorf("compiling in a process of its own: %s", r.Text)
	case errors.As(err, &exit) && first != "":
		return &ModuleError{"compile", "the compiler crashed: " + first}
	}
	return fmt.Errorf("compiling in a process of its own: %w", err)
}

// outOfMemory recognizes the last words of Go's runtime, with and without cgo,
// and of the race detector's. A thread that can't be made has got no stack.
func outOfMemory(stderr string) bool {
	return slices.ContainsFunc([]string{
		"out of memory", "cannot allocate memory", "failed to allocate", "failed to create new OS thread", "pthread_create failed",
	}, func(words string) bool { return strings.Contains(stderr, words) })
}

func signaled(err error, sig syscall.Signal) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == sig
}
