package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"waymark/internal/text"
)

// Wrong gives wrong flags and arguments the exit code of wrong usage, for a
// command and all below it, and says which command or flag may have been meant.
func Wrong(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return Usage("%w%s; see '%s --help'", flagError(err), meant(nearFlag(cmd, err)), cmd.CommandPath())
	})
	wrongArgs(cmd)
}

// flagError says of a flag's error what was wrong and what the flag takes.
func flagError(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	f := bad.GetFlag()
	switch kind := f.Value.Type(); {
	case kind == "bool":
		return fmt.Errorf("--%s %q: use true or false, or leave the value out", f.Name, bad.GetValue())
	case kind == "duration":
		return fmt.Errorf("--%s %q: use a duration like 30s or 1m30s", f.Name, bad.GetValue())
	case strings.HasPrefix(kind, "uint"):
		return fmt.Errorf("--%s %q: use a whole number from 0 that isn't too large", f.Name, bad.GetValue())
	case strings.HasPrefix(kind, "int"):
		return fmt.Errorf("--%s %q: use a whole number that isn't too large", f.Name, bad.GetValue())
	case strings.HasPrefix(kind, "float"):
		return fmt.Errorf("--%s %q: use a number", f.Name, bad.GetValue())
	}
	return fmt.Errorf("--%s %q: %w", f.Name, bad.GetValue(), errors.Unwrap(bad))
}

func wrongArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err == nil {
				return nil
			}
			line, _, _ := strings.Cut(err.Error(), "\n") // cobra adds suggestions
			switch {
			case len(args) > 0 && cmd.HasAvailableSubCommands():
				line = fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath()) + meant(nearCommand(cmd, args[0]))
			case len(args) > 0 && strings.HasPrefix(line, "unknown command"): // of cobra.NoArgs, where there are none
				line = fmt.Sprintf("unexpected argument %q", args[0])
			}
			return Usage("%s; see '%s --help'", line, cmd.CommandPath())
		}
	}
	for _, sub := range cmd.Commands() {
		wrongArgs(sub)
	}
}

// meant asks whether that was meant, unless it is empty.
func meant(that string) string {
	if that == "" {
		return ""
	}
	return " (did you mean " + that + "?)"
}

// nearCommand finds a command that somebody may have meant by a word after
// parent: one with a similar name, or those of that name one level down.
func nearCommand(parent *cobra.Command, word string) string {
	var names []string
	for _, sub := range parent.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	if near := text.Nearest(word, names); near != "" {
		return "'" + parent.CommandPath() + " " + near + "'"
	}
	var found []string
	for _, sub := range parent.Commands() {
		for _, deeper := range sub.Commands() {
			if deeper.IsAvailableCommand() && deeper.Name() == word {
				found = append(found, "'"+deeper.CommandPath()+"'")
			}
		}
	}
	return strings.Join(found, " or ")
}

// nearFlag finds the flag that may have been meant by one that a command
// doesn't have.
func nearFlag(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	word := unknown.GetSpecifiedName()
	if short := unknown.GetSpecifiedShortnames(); len(short) > 1 { // a name with one dash
		word, _, _ = strings.Cut(short, "=")
	}
	if near := text.Nearest(word, names); near != "" {
		return "--" + near
	}
	return ""
}
