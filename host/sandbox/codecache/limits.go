package codecache

import (
	"fmt"
	"time"
)

// Limits bounds the compilation of one module in a child. Zero fields mean the
// default.
type Limits struct {
	// Time is wall-clock time. Default 30 s: the largest real module takes 3.
	Time time.Duration
	// Memory is what the child may have, in bytes. Default 1 GiB: the largest
	// real module takes 112 MB.
	Memory int64
	// Output bounds each file of native code, in bytes. Default 256 MiB.
	Output int64
	// Workers is the number of goroutines that compile. Default 2.
	Workers int
}

func (l Limits) withDefaults() Limits {
	if l.Time <= 0 {
		l.Time = 30 * time.Second
	}
	if l.Memory <= 0 {
		l.Memory = 1 << 30
	}
	if l.Output <= 0 || l.Output > partMax {
		l.Output = partMax
	}
	if l.Workers <= 0 {
		l.Workers = 2
	}
	return l
}

func (l Limits) exceeded(what string) *LimitError {
	switch what {
	case "time":
		return &LimitError{what, l.Time.String()}
	case "memory":
		return &LimitError{what, mebibytes(l.Memory)}
	}
	return &LimitError{what, mebibytes(l.Output)}
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// LimitError says that compiling a module took too much.
type LimitError struct {
	// What is "time", "memory" or "output".
	What string
	// Limit is what was allowed, for people.
	Limit string
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("compiling it takes more than %s of %s: split its largest functions, or use fewer locals in them", e.Limit, e.What)
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
