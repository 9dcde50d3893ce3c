package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Completions says what a shell offers. A command whose path isn't in arguments
// takes none; nil is files.
type Completions struct {
	Arguments map[string]cobra.CompletionFunc // by command path
	Flags     map[string]cobra.CompletionFunc // by flag name, of whatever command
}

// Apply sets them for the commands of a program when it is a shell that calls it with
// these arguments: cobra never forgets the flags that it knows completions of.
func (c *Completions) Apply(root *cobra.Command, args []string) {
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		c.apply(root)
	}
}

// apply sets them for a command and all below it, but for what a command has set
// itself.
func (c *Completions) apply(cmd *cobra.Command) {
	complete, ok := c.Arguments[cmd.CommandPath()]
	if !ok {
		complete = cobra.NoFileCompletions
	}
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = complete
	}
	for name, complete := range c.Flags {
		if cmd.LocalFlags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, complete) // fails for one that has its own
		}
	}
	for _, sub := range cmd.Commands() {
		c.apply(sub)
	}
}

// CompleteWithin bounds what a shell waits for when somebody presses tab. Only
// tests change it.
var CompleteWithin = time.Second

// Offer offers what a server knows, and nothing when it doesn't answer: a shell has no
// place for an error.
func Offer(cmd *cobra.Command, text string, ask func(context.Context) ([]cobra.Completion, error)) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background() // cobra's own completion command has none
	}
	ctx, cancel := context.WithTimeout(ctx, CompleteWithin)
	defer cancel()
	all, err := ask(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.DeleteFunc(all, func(s cobra.Completion) bool {
		name, _, _ := strings.Cut(s, "\t")
		// A control character would be the shell's to interpret.
		return !strings.HasPrefix(s, text) || Visible(name) != name
	}), cobra.ShellCompDirectiveNoFileComp
}

// Directories offers directories.
func Directories(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// Files offers files that end in one of these, and directories on the way.
func Files(extensions ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
}

// InOrder offers each argument what stands in its place; nil offers all files.
// Beyond the last there is nothing, unless that is to be repeated.
func InOrder(repeatLast bool, each ...cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		at := len(args)
		if at >= len(each) {
			if !repeatLast {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			at = len(each) - 1
		}
		if each[at] == nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return each[at](cmd, args, text)
	}
}
