package codecache

import (
	"fmt"
	"time"

	"waymark/internal/defaults"
)

// Limits bounds the compilation of one module in a child. Zero fields mean the
// default.
type Limits struct {
	// Time is processor time, that of all threads together. Default 1 min: the largest
	// real module takes 5 s.
	Time time.Duration
	// Wait is wall-clock time, and bounds how long somebody waits where a machine gives
	// the child next to no processor time, or has stopped it. Default 6 min.
	Wait time.Duration
	// Memory is what the child may have, in bytes. Default 1 GiB: the largest
	// real module takes 112 MB.
	Memory int64
	// Output bounds each file of native code, in bytes. Default 256 MiB.
	Output int64
	// Workers is the number of goroutines that compile. Default 2.
	Workers int
}

func (l Limits) withDefaults() Limits {
	l = defaults.Or(l, Limits{Time: time.Minute, Wait: 6 * time.Minute, Memory: 1 << 30, Output: partMax, Workers: 2})
	l.Output = min(l.Output, partMax)
	return l
}

// own are the limits for the program's own module, which is known to come to an end:
// without it nothing works on a machine that is slow, or an emulated one.
func (l Limits) own() Limits {
	l.Time *= 5
	l.Wait *= 5
	return l
}

func (l Limits) exceeded(what string) *LimitError {
	switch what {
	case "time":
		return &LimitError{"processor time", l.Time.String()}
	case "memory":
		return &LimitError{what, mebibytes(l.Memory)}
	}
	return &LimitError{what, mebibytes(l.Output)}
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// LimitError says that compiling a module took too much.
type LimitError struct {
	// What is "processor time", "memory" or "output".
	What string
	// Limit is what was allowed, for people.
	Limit string
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("compiling it takes more than %s of %s: split its largest functions, or use fewer locals in them", e.Limit, e.What)
}

// BusyError says that a module wasn't compiled in time because the machine was at
// something else. The module isn't to blame, and another try may do.
type BusyError struct {
	// Waited is wall-clock time, Used the processor time that the compiler was given.
	Waited, Used time.Duration
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("this machine is slow or busy: in %s compiling was given %s of processor time. "+
		"Try again when there is less to do; a running agent does so by itself", e.Waited, e.Used.Round(10*time.Millisecond))
}

// ModuleError says that a module can't be compiled.
type ModuleError struct {
	// Stage is "rewrite" or "compile".
	Stage string
	// Text is one line, bounded.
	Text string
}

func (e *ModuleError) Error() string { return e.Stage + ": " + e.Text }

// maxErrorText bounds a ModuleError's Text, in bytes.
const maxErrorText = 1 << 10
