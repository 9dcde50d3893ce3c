package codecache

import (
	"fmt"
	"strings"
)

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

// oneLine bounds a text and makes it one line.
func oneLine(text string) string {
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "?")
	if len(text) > textMax/4 {
		text = strings.ToValidUTF8(text[:textMax/4], "") + " …"
	}
	return text
}
