package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"waymark/cmd/harness/internal/toolchain"
	"waymark/cmd/internal/cli"
)

func (a *app) sdkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sdk",
		Short: "Update the kit that a resolver is built with",
	}
	cli.Group(cmd)
	cmd.AddCommand(a.sdkUpdateCommand())
	return cmd
}

func (a *app) sdkUpdateCommand() *cobra.Command {
	var force, asJSON bool
	cmd := &cobra.Command{
		Use:   "update [DIR]",
		Short: "Replace a resolver's kit by the one in this program",
		Long: `Update replaces the directory sdk of a resolver (by default in the current directory) by
the kit in this program, and shows the old and the new version. If the kit was changed
by hand, it requires --force.`,
		Example: `  harness sdk update
  harness sdk update acme-rules --json`,
		Args: cli.Named("[DIR]"),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			u, err := toolchain.Update(dir, force)
			if err != nil {
				return err
			}
			switch {
			case asJSON:
				return cli.JSON(a.stdout, u)
			case u.Changed:
				_, err = fmt.Fprintf(a.stdout, "%s: from %s to %s\n", cli.Visible(u.Dir), cli.Visible(u.From.String()), u.To)
			default:
				_, err = fmt.Fprintf(a.stdout, "%s: %s is current\n", cli.Visible(u.Dir), u.To)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "discard manual changes of the kit")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
