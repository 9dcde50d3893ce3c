package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"waymark/abi"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/term"
	"waymark/host"
)

func (a *app) runCommand() *cobra.Command {
	var s settings
	var asJSON, explain bool
	var role string
	cmd := &cobra.Command{
		Use:   "run FILE.wasm [DIR]",
		Short: "Show what a module finds, what it reads and what it costs",
		Long: `Run lets the resolvers of a module look at a directory (the current one if none is
given), or at one file, once and as the agent would, and shows what they found, read,
asked for in vain, logged and used.

The exit code is 1 when the module isn't admitted or a resolver fails; what the others
found is printed all the same.`,
		Example: `  harness run acme.wasm
  harness run acme.wasm ~/project --explain
  harness run acme.wasm ~/project --resolver cursor-rules --config plugin.toml
  harness run acme.wasm ~/project --json | jq '.resolvers[] | {resolver, fuel}'`,
		Args: cli.Named("FILE.wasm", "[DIR]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 1 {
				dir = args[1]
			}
			r, err := parseRole(role)
			if err != nil {
				return err
			}
			return a.runOnce(cmd.Context(), &s, args[0], host.RootSpec{Path: dir, Role: r}, asJSON, explain)
		},
	}
	s.addFlags(cmd)
	cmd.Flags().StringVar(&role, "role", "", "why the directory is looked at: instructions, skills or mcp (default: no reason of its own)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&explain, "explain", false, "show what each resolver was asked, everything that it looked at, and what was left out")
	return cmd
}

// parseRole checks a root's role.
func parseRole(text string) (abi.Role, error) {
	switch r := abi.Role(text); r {
	case abi.RoleNone, abi.RoleInstructions, abi.RoleSkills, abi.RoleMCP:
		return r, nil
	}
	return "", usage("--role %q: use instructions, skills or mcp", text)
}

func (a *app) runOnce(ctx context.Context, s *settings, file string, root host.RootSpec, asJSON, explain bool) (err error) {
	e, err := a.open(ctx, s, file, func(o *host.Options) { o.Roots = []host.RootSpec{root} })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	report, err := e.Refresh(ctx)
	if err != nil {
		return err
	}
	result := e.result(report)
	if asJSON {
		err = term.JSON(a.stdout, result)
	} else {
		p := runPrinter{w: a.stdout, explain: explain}
		err = p.print(result)
	}
	if err != nil {
		return err
	}
	return result.failed()
}
