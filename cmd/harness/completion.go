package main

import (
	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
)

// completions says what a shell offers for arguments and flags.
func completions() *cli.Completions {
	module := cli.Files("wasm")
	return &cli.Completions{
		Arguments: map[string]cobra.CompletionFunc{
			"harness build":      cli.InOrder(false, cli.Directories),
			"harness sdk update": cli.InOrder(false, cli.Directories),
			"harness inspect":    cli.InOrder(false, module),
			"harness check":      cli.InOrder(false, module),
			"harness run":        cli.InOrder(false, module, cli.Directories),
			"harness bench":      cli.InOrder(false, module, cli.Directories),
			"harness watch":      cli.InOrder(false, module, cli.Directories),
			"harness test":       cli.InOrder(true, module, cli.Files("txtar")),
		},
		Flags: map[string]cobra.CompletionFunc{
			"log-format": cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp),
			"config":     cli.Files("toml"),
			"resolver":   cobra.NoFileCompletions,
			"keep":       cli.Directories,
			"dir":        cli.Directories,
			"output":     cli.Files("wasm"),
			"lang":       cobra.FixedCompletions([]string{"go", "c", "assemblyscript"}, cobra.ShellCompDirectiveNoFileComp),
			"role":       cobra.FixedCompletions([]string{"instructions", "skills", "mcp"}, cobra.ShellCompDirectiveNoFileComp),
			"run":        cobra.NoFileCompletions, "count": cobra.NoFileCompletions, "benchtime": cobra.NoFileCompletions,
		},
	}
}
