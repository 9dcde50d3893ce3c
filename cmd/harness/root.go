package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"waymark/abi"
	"waymark/cmd/harness/internal/extism"
	"waymark/cmd/internal/cli"
	"waymark/internal/reexec"
)

// app is the state that the program's commands share.
type app struct {
	// compiler compiles modules; nil means that this process does.
	compiler *reexec.Program
	// extism runs a module in the unmodified Extism SDK.
	extism *extism.Child
	// time is the limit of one call if the configuration sets none; 0 means the agent's.
	time time.Duration

	stdout, stderr io.Writer

	log cli.LogFlags
}

func usage(format string, args ...any) error { return cli.Usage(format, args...) }

// printed is an error whose reason has already been printed.
func printed(code int) error { return &cli.Error{Code: code} }

// run runs one command line and returns its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.rootCommand()
	completions().Apply(root, args)
	root.SetArgs(doubled(root, args))
	return cli.Report(a.stderr, "harness", root.ExecuteContext(ctx))
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "harness",
		Short: "Write, test and measure resolvers",
		Long: `A resolver is a WebAssembly module that finds one kind of context in a workspace.
Harness is for authors of resolvers. It has the agent's own engine: a module behaves the
same in a workspace as it does here.`,
		Example: `  harness new acme-rules             create a resolver that passes its test
  harness new --from cursor-rules    copy a complete one, to read and change
  harness build acme-rules           build acme-rules/acme-rules.wasm
  harness test acme.wasm             run the fixtures in testdata
  harness check acme.wasm            check how it behaves in any workspace
  harness inspect acme.wasm          show what it is, and if an agent accepts it
  harness run acme.wasm ~/project    show what it finds, reads, prints and costs
  harness bench acme.wasm ~/project  measure it, in fuel first
  harness watch . ~/project          build, test and run it at every save`,
	}
	a.log.Add(root, "log what the engine does")
	root.AddCommand(
		a.newCommand(),
		a.buildCommand(),
		a.sdkCommand(),
		a.inspectCommand(),
		a.runCommand(),
		a.testCommand(),
		a.checkCommand(),
		a.benchCommand(),
		a.watchCommand(),
		cli.VersionCommand("harness", a.stdout, abi.Version),
	)
	cli.Root(root, a.stdout, a.stderr)
	return root
}

// doubled adds the second dash to flags written with one, as go test's are.
func doubled(root *cobra.Command, args []string) []string {
	known := map[string]bool{}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && len(name) > 1 && known[name] {
			args[i] = "-" + arg
		}
	}
	return args
}

// logger makes the engine's logger. Commands print their findings themselves, so without
// --verbose it discards everything.
func (a *app) logger() (*slog.Logger, error) {
	log, err := a.log.Logger(a.stderr, slog.LevelDebug)
	if err != nil || a.log.Verbose {
		return log, err
	}
	return slog.New(slog.DiscardHandler), nil
}

// progress prints that something takes long.
func (a *app) progress(line string) {
	_, _ = fmt.Fprintln(a.stderr, line)
}

// completions defines what a shell completes for arguments and flags.
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
			"from":       cobra.FixedCompletions(exampleNames(), cobra.ShellCompDirectiveNoFileComp),
			"role":       cobra.FixedCompletions([]string{"instructions", "skills", "mcp"}, cobra.ShellCompDirectiveNoFileComp),
			"run":        cobra.NoFileCompletions, "count": cobra.NoFileCompletions, "benchtime": cobra.NoFileCompletions,
		},
	}
}
