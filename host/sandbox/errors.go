package sandbox

import (
	"errors"
	"fmt"
	"strings"

	"waymark/host/sandbox/codecache"
	"waymark/internal/text"
)

// What ended a load or a run. Test with errors.Is; the details are in *RejectError and
// *RunError.
var (
	// ErrRejected says that a module was refused before anything of it ran.
	ErrRejected = errors.New("module rejected")
	// ErrDeadline says that a run took too long.
	ErrDeadline = errors.New("deadline exceeded")
	// ErrCanceled says that the caller gave up.
	ErrCanceled = errors.New("canceled")
	// ErrCrashed says that the guest trapped, panicked or exited.
	ErrCrashed = errors.New("crashed")
	// ErrGuest says that the resolver itself reported an error.
	ErrGuest = errors.New("resolver error")
	// ErrAnswer says that the output isn't a valid answer.
	ErrAnswer = errors.New("bad answer")
	// ErrLimit says that a run exceeded its limits on files, entries or bytes.
	ErrLimit = errors.New("limit exceeded")
)

// Busy reports whether an error is due to a busy machine, so that another try may succeed.
func Busy(err error) bool {
	var compiling *codecache.BusyError
	var run *RunError
	return errors.As(err, &compiling) || errors.As(err, &run) && run.Busy
}

// RejectError says why a module can't be used and what its author can do.
type RejectError struct {
	Reason string
	Hint   string
	// Cause is ErrDeadline if describing took too long, and else nil. A busy machine can be
	// the reason, so another try may succeed.
	Cause error
}

func (e *RejectError) Error() string {
	if e.Hint == "" {
		return e.Reason
	}
	return e.Reason + " (" + e.Hint + ")"
}

// Is makes every RejectError an ErrRejected.
func (e *RejectError) Is(target error) bool { return target == ErrRejected }

func (e *RejectError) Unwrap() error { return e.Cause }

func reject(hint, format string, args ...any) error {
	return &RejectError{Reason: fmt.Sprintf(format, args...), Hint: hint}
}

// RunError says how one run failed.
type RunError struct {
	Module   string
	Resolver string // empty for describe
	// Kind is one of the Err values above.
	Kind error
	// Detail is the host's own finding, in one line.
	Detail string
	// GuestText is the guest's own text, bounded; empty if it is withheld.
	GuestText string
	// Where is the place of the failure in the guest's source, as far as known: "main.resolve
	// (acme/resolver.go:12)". It is empty if it is withheld, and for a deadline, because
	// equal runs must yield equal texts.
	Where string
	// Busy says that a run exceeded its deadline because the process got too little processor
	// time, so that another try may succeed.
	Busy bool
	// Stack lists the active WebAssembly functions, innermost first, at most 30. Those
	// without a name in the module are left out.
	Stack []string
}

func (e *RunError) Error() string {
	var b strings.Builder
	b.WriteString(e.Module)
	if e.Resolver != "" {
		b.WriteString("/" + e.Resolver)
	}
	b.WriteString(": " + e.Kind.Error())
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if e.GuestText != "" {
		b.WriteString(": " + e.GuestText)
	}
	b.WriteString(at(e.Where))
	return b.String()
}

func (e *RunError) Unwrap() error { return e.Kind }

// at formats a place for the end of a sentence.
func at(where string) string {
	if where == "" {
		return ""
	}
	return ", in " + where
}

// trapDetail returns the first line of a trap. The rest is wazero's stack trace.
func trapDetail(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return text.Line(strings.TrimPrefix(line, "wasm error: "), guestTextMax)
}

func exitDetail(code uint32) string { return fmt.Sprintf("it exited with code %d", code) }

func tooLarge(got, limit int) string {
	return fmt.Sprintf("the answer has %d bytes, %d are allowed", got, limit)
}
