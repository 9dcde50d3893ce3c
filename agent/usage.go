package agent

import "fmt"

// usageError says that a flag or a variable is wrong.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Unwrap returns what is wrong.
func (e usageError) Unwrap() error { return e.error }

// ExitCode is what a program ends with that was called in this way.
func (usageError) ExitCode() int { return 2 }
