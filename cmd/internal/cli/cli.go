// Package cli is what the commands' command lines have in common: exit codes,
// errors that carry one, and what a shell is offered.
//
// It has no state, and everything in it may be called by any goroutine.
package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	CodeOK     = 0
	CodeFailed = 1
	CodeUsage  = 2
	// CodeNo: the answer is no. Nothing runs, not found, not admitted.
	CodeNo = 3
)

// Error is an error with an exit code of its own. One without a text ends the
// program with that code and says nothing, because it has been said.
type Error struct {
	Code int
	Err  error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Usage says that a command line is wrong.
func Usage(format string, args ...any) error {
	return &Error{CodeUsage, fmt.Errorf(format, args...)}
}

// Code is what a program exits with.
func Code(err error) int {
	var coded *Error
	switch {
	case err == nil:
		return CodeOK
	case errors.As(err, &coded):
		return coded.Code
	}
	return CodeFailed
}

// Wrong gives wrong flags and arguments the exit code of wrong usage, for a
// command and all below it.
func Wrong(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return Usage("%w; see '%s --help'", err, cmd.CommandPath())
	})
	wrongArgs(cmd)
}

func wrongArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err == nil {
				return nil
			}
			line, _, _ := strings.Cut(err.Error(), "\n") // cobra adds suggestions
			return Usage("%s; see '%s --help'", line, cmd.CommandPath())
		}
	}
	for _, sub := range cmd.Commands() {
		wrongArgs(sub)
	}
}

// Named takes arguments of these names, and says which is missing. One in
// brackets may be left out, as may those after it; a last one that ends in "…"
// stands for any number.
func Named(names ...string) cobra.PositionalArgs {
	least := slices.IndexFunc(names, func(name string) bool {
		return strings.HasPrefix(name, "[") || strings.HasSuffix(name, "…")
	})
	if least < 0 {
		least = len(names)
	}
	open := strings.HasSuffix(names[len(names)-1], "…")
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("%s is missing", names[len(args)])
		case len(args) > len(names) && !open:
			return fmt.Errorf("unexpected argument %q", args[len(names)])
		}
		return nil
	}
}

// Logger makes a logger of a format: text or json.
func Logger(w io.Writer, format string, level slog.Level) (*slog.Logger, error) {
	opts := &slog.HandlerOptions{Level: level}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	return nil, Usage("--log-format %q: use text or json", format)
}
