// Package cli has what the programs' command lines share: exit codes, errors that carry one,
// shell completion, and how something is shown to people: tables, sizes, numbers, and
// untrusted text; and JSON for programs. On a terminal, tables have colors and fit its width.
//
// It has no state. Everything in it may be called by any goroutine.
package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/internal/errtext"
	"waymark/internal/httpapi/problem"
)

// The exit codes.
const (
	CodeOK     = 0
	CodeFailed = 1
	CodeUsage  = 2
	// CodeNo: the answer is no. Nobody answers, not found, not admitted.
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

// ExitCode is what Code takes of an error; those of other packages may have it, too.
func (e *Error) ExitCode() int { return e.Code }

// Usage says that a command line is wrong.
func Usage(format string, args ...any) error {
	return &Error{CodeUsage, fmt.Errorf(format, args...)}
}

// Code is what a program exits with. That no agent or hub answers, or that it hasn't
// got what was asked for, is a no.
func Code(err error) int {
	var coded interface {
		error
		ExitCode() int
	}
	switch {
	case err == nil:
		return CodeOK
	case errors.As(err, &coded):
		return coded.ExitCode()
	case errors.Is(err, problem.ErrNotFound), errors.As(err, new(problem.Nobody)):
		return CodeNo
	}
	return CodeFailed
}

// ErrorText is what a program prints of an error: in words for people, and
// without what a terminal would act on, since errors quote what was typed and
// what is in files.
func ErrorText(err error) string { return VisibleLines(errtext.Of(err), "") }

// Report prints an error that ends a program, if it has a text, and returns the
// exit code. An error may have an Excerpt to print below: the lines of a file
// that it is about. What such an error unwraps to is told in the same way: it is
// what else is wrong there.
func Report(stderr io.Writer, program string, err error) int {
	if err == nil {
		return CodeOK
	}
	if text := ErrorText(err); text != "" {
		_, _ = fmt.Fprintf(stderr, "%s: %s\n", program, text)
	}
	var about excerpted
	if errors.As(err, &about) {
		_, _ = io.WriteString(stderr, about.Excerpt())
		if more, ok := about.(interface{ Unwrap() []error }); ok {
			for _, err := range more.Unwrap() {
				Report(stderr, program, err)
			}
		}
	}
	return Code(err)
}

// excerpted is an error about some lines of a file.
type excerpted interface {
	error
	Excerpt() string
}

// Root makes a command that has its flags and subcommands, among them that of
// VersionCommand, the root of a program. Errors are for Report to print, and a
// page of flags would hide them.
func Root(root *cobra.Command, stdout, stderr io.Writer) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetOut(stdout)
	root.SetErr(stderr)
	Group(root)
	versionFlag(root)
	printHelp(root)
	root.InitDefaultCompletionCmd() // so that what follows knows it
	Wrong(root)
}

// isGroup is the annotation of what Group has made.
const isGroup = "group"

// Group makes cmd one that only has subcommands: alone it prints its help.
func Group(cmd *cobra.Command) {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[isGroup] = "yes"
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

// LogFlags are the flags of a program that logs.
type LogFlags struct {
	Format  string // text or json
	Verbose bool
}

// Add adds the flags to a command and all below it. The help says what is logged
// when somebody wants to know more.
func (l *LogFlags) Add(cmd *cobra.Command, verbose string) {
	cmd.PersistentFlags().StringVar(&l.Format, "log-format", "text", "`format` of the log on standard error: text or json")
	cmd.PersistentFlags().BoolVarP(&l.Verbose, "verbose", "v", false, verbose)
}

// PlainErrors is for slog.HandlerOptions.ReplaceAttr: errors are logged in words
// for people.
func PlainErrors(_ []string, a slog.Attr) slog.Attr {
	if err, ok := a.Value.Any().(error); ok {
		a.Value = slog.StringValue(errtext.Of(err))
	}
	return a
}

// brief is PlainErrors for who looks on: the day is known, and that most lines
// are no warnings.
func brief(groups []string, a slog.Attr) slog.Attr {
	switch {
	case len(groups) > 0:
	case a.Key == slog.TimeKey:
		a.Value = slog.StringValue(a.Value.Time().Local().Format(time.TimeOnly))
	case a.Key == slog.LevelKey && a.Value.Any() == slog.LevelInfo:
		return slog.Attr{}
	}
	return PlainErrors(groups, a)
}

// Logger makes a logger that leaves out what is below a level.
func (l *LogFlags) Logger(w io.Writer, level slog.Level) (*slog.Logger, error) {
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: PlainErrors}
	switch l.Format {
	case "text":
		if IsTerminal(w) {
			opts.ReplaceAttr = brief
		}
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	return nil, Usage("--log-format %q: use text or json", l.Format)
}
