package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"waymark/cmd/harness/internal/toolchain"
	"waymark/cmd/internal/cli"
)

// buildAnswer is the output of build --json.
type buildAnswer struct {
	Lang  toolchain.Lang `json:"lang"`
	File  string         `json:"file"`
	Bytes int64          `json:"bytes"`
}

func (a *app) buildCommand() *cobra.Command {
	var opts toolchain.Options
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "build [DIR]",
		Short: "Build the module of a resolver",
		Long: `Build detects the language of the source in a directory (by default the current one),
and calls that language's toolchain: go for Go, clang for C, and the compiler in
node_modules for AssemblyScript. If a part of it is missing, build says which, and how
to get it.

Build writes the module completely or not at all; equal source makes equal bytes.`,
		Example: `  harness build
  harness build acme --output ~/.config/waymark/plugins/acme.wasm
  harness build --offline --json`,
		Args: cli.Named("[DIR]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			lang, err := toolchain.Detect(dir)
			if err != nil {
				return err
			}
			opts.Stderr = a.stderr
			file, err := toolchain.Build(cmd.Context(), dir, opts)
			if err != nil {
				return buildError(err)
			}
			info, err := os.Stat(file)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.JSON(a.stdout, buildAnswer{lang, file, info.Size()})
			}
			_, err = fmt.Fprintf(a.stdout, "built %s (%s, %s)\n", cli.Visible(file), lang, cli.Size(info.Size()))
			return err
		},
	}
	cmd.Flags().StringVarP(&opts.Output, "output", "o", "", "write `FILE` (default: DIR/NAME.wasm, NAME being that of DIR)")
	cmd.Flags().BoolVar(&opts.Offline, "offline", false, "don't let the toolchain download anything")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// buildError is for errors that the toolchain hasn't printed on standard error already.
func buildError(err error) error { return fmt.Errorf("nothing was built: %w", err) }
