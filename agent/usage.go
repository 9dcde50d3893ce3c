package agent

import "fmt"

// usageError reports a wrong flag or variable.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Unwrap returns the cause.
func (e usageError) Unwrap() error { return e.error }

// ExitCode is the exit status for wrong usage.
func (usageError) ExitCode() int { return 2 }
