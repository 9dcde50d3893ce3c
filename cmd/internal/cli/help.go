package cli

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// helpWidth is how many columns help takes. A terminal may have more: longer
// lines are harder to read.
const helpWidth = 80

// printHelp has a command and all below it print help that fits helpWidth.
// Cobra's own breaks no lines, and those of a flag with its text are long.
func printHelp(root *cobra.Command) {
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := fmt.Fprint(cmd.OutOrStderr(), usageText(cmd))
		return err
	})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		about := cmp.Or(cmd.Long, cmd.Short)
		_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s", reflow(strings.TrimSpace(about), helpWidth), usageText(cmd))
	})
}

// usageText is how a command is called: the same sections as cobra's.
func usageText(cmd *cobra.Command) string {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() && !onlySubcommands(cmd) {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", cmd.CommandPath())
	}
	section := func(title, text string) {
		if text = strings.TrimRight(text, " \n"); text != "" {
			fmt.Fprintf(&b, "\n%s:\n%s\n", title, text)
		}
	}
	section("Examples", cmd.Example)
	section("Commands", commandList(cmd))
	section("Flags", cmd.LocalFlags().FlagUsagesWrapped(helpWidth))
	section("Global flags", cmd.InheritedFlags().FlagUsagesWrapped(helpWidth))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n'%s COMMAND --help' says more about a command.\n", cmd.CommandPath())
	}
	return b.String()
}

// onlySubcommands reports whether a command does nothing by itself; see Group.
func onlySubcommands(cmd *cobra.Command) bool { return cmd.Annotations[isGroup] != "" }

// commandList lists the subcommands with their short texts.
func commandList(cmd *cobra.Command) string {
	var b strings.Builder
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() && sub.Name() != "help" {
			continue
		}
		margin := sub.NamePadding() + 4 // as wide as the longest name of all
		text := strings.ReplaceAll(reflow(sub.Short, helpWidth-margin), "\n", "\n"+strings.Repeat(" ", margin))
		fmt.Fprintf(&b, "  %-*s%s\n", margin-2, sub.Name(), text)
	}
	return b.String()
}

// reflow breaks the lines of paragraphs anew so that they fit a width, in
// characters. A line that begins with white space stays as it is, and so does a
// word that is longer.
func reflow(text string, width int) string {
	var out []string
	line, open := "", false
	end := func() {
		if open {
			out = append(out, line)
		}
		line, open = "", false
	}
	for _, given := range strings.Split(text, "\n") {
		if given == "" || given[0] == ' ' || given[0] == '\t' {
			end()
			out = append(out, given)
			continue
		}
		for _, word := range strings.Fields(given) {
			if open && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
				end()
			}
			if open {
				line += " "
			}
			line, open = line+word, true
		}
	}
	end()
	return strings.Join(out, "\n")
}
