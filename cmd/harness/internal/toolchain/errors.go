package toolchain

import (
	"fmt"
	"time"
)

// waitDelay is how long a tool's children may hold its output open after it
// has been killed.
const waitDelay = 5 * time.Second

// MissingError says that a part of a toolchain isn't there.
type MissingError struct {
	// Tool is what is missing, for example "clang" or "wasi-libc".
	Tool string
	// Why says what was looked for, and where.
	Why string
	// How says how to get it.
	How string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is missing: %s; %s", e.Tool, e.Why, e.How)
}

// ToolError says that a tool refused the source.
type ToolError struct {
	Tool string
	// Text is what it said.
	Text string
	Err  error

	shown bool // Text went to Options.Stderr already
}

func (e *ToolError) Error() string {
	if e.shown || e.Text == "" {
		return fmt.Sprintf("%s: %v", e.Tool, e.Err)
	}
	return fmt.Sprintf("%s: %v\n%s", e.Tool, e.Err, e.Text)
}

func (e *ToolError) Unwrap() error { return e.Err }
