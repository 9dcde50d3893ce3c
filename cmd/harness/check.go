package main

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"waymark/cmd/harness/internal/conform"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/term"
)

func (a *app) checkCommand() *cobra.Command {
	var s settings
	var keep string
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "check FILE.wasm",
		Short: "Check that a module keeps to the ABI and behaves well in any workspace",
		Long: `Check puts a module to the test, with the agent's own engine. It makes workspaces from
what the resolvers declare in reads, and then makes them worse: links that lead out or
in circles, pipes and huge files where text should be, bytes that aren't text, front
matter that never ends, thousands of files. It compares runs that must be equal, asks
what later hosts may ask, and looks at what each run has used of its limits. In the
end, when nothing has failed, it runs the module as it is in the stock Extism SDK, in a
process of its own, and compares the answers: it is to run on any Extism host.

What fails must be mended: an agent would refuse the module, drop what it finds, or
show stale results. What is warned of works, but not well.

The exit code is 1 when something fails.`,
		Example: `  harness check acme.wasm
  harness check acme.wasm --resolver cursor-rules --config plugin.toml
  harness check acme.wasm --keep /tmp/workspaces && harness run acme.wasm /tmp/workspaces/*-fifo/workspace
  harness check acme.wasm --json | jq '.findings[] | select(.severity == "fail")'`,
		Args: cli.Named("FILE.wasm"),
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := a.check(cmd.Context(), &s, args[0], keep)
			if err != nil {
				return err
			}
			if asJSON {
				err = term.JSON(a.stdout, report)
			} else {
				err = checkPrinter{a.stdout, all}.show(report)
			}
			if err == nil && !report.OK() {
				err = said(cli.CodeFailed)
			}
			return err
		},
	}
	s.addFlags(cmd)
	cmd.Flags().StringVar(&keep, "keep", "", "make the workspaces in this new directory, and leave them there")
	cmd.Flags().BoolVar(&all, "all", false, "name every workspace that a finding was seen in")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) check(ctx context.Context, s *settings, file, keep string) (*conform.Report, error) {
	if err := moduleThere(file); err != nil {
		return nil, err
	}
	opts, err := a.hostOptions(s)
	if err != nil {
		return nil, err
	}
	var once sync.Once // the module is loaded many times, and compiled once
	opts.Progress = func(line string) { once.Do(func() { a.progress(line) }) }
	report, err := conform.Check(ctx, conform.Options{File: file, Host: opts, Dir: keep, Stock: a.stock})
	if err == nil && s.resolver != "" && report.OK() && !slices.Contains(report.Resolvers, s.resolver) {
		return nil, usage("%s has no resolver %q; see harness inspect %s", cmp.Or(report.Module, file), s.resolver, file)
	}
	return report, err
}
