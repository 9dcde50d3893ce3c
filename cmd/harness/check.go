package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"waymark/cmd/harness/internal/conform"
	"waymark/cmd/internal/cli"
	"waymark/internal/text"
)

func (a *app) checkCommand() *cobra.Command {
	var s settings
	var keep string
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "check FILE.wasm",
		Short: "Check that a module follows the ABI and behaves well in any workspace",
		Long: `Check tests a module with the agent's own engine. It creates workspaces from what the
resolvers declare in reads, and then makes them worse: links that lead out or in
circles, pipes and huge files instead of text, bytes that aren't text, front matter that
never ends, thousands of files. It compares runs that must be equal, sends requests that
later hosts may send, and checks how much of its limits each run used. At the end, if
nothing has failed, it runs the module in the stock Extism SDK, in a separate process,
and compares the answers: a module must run on any Extism host.

Fix all failures: an agent would refuse the module, drop its results, or show stale
results. A warning means that it works, but not well.

The exit code is 1 if something fails.`,
		Example: `  harness check acme.wasm
  harness check acme.wasm --resolver cursor-rules --config plugin.toml
  harness check acme.wasm --keep /tmp/ws
  harness run acme.wasm /tmp/ws/*-fifo/workspace
  harness check acme.wasm --json | jq '.findings[] | select(.severity=="fail")'`,
		Args: cli.Named("FILE.wasm"),
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := a.check(cmd.Context(), &s, args[0], keep)
			if err != nil {
				return err
			}
			if asJSON {
				err = cli.JSON(a.stdout, report)
			} else {
				err = checkPrinter{a.stdout, all}.printReport(report)
			}
			if err == nil && !report.OK() {
				err = printed(cli.CodeFailed)
			}
			return err
		},
	}
	s.addFlags(cmd)
	cmd.Flags().StringVar(&keep, "keep", "", "create the workspaces in `DIR`, a new one, and keep them")
	cmd.Flags().BoolVar(&all, "all", false, "name every workspace in which a finding occurred")
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
	var once sync.Once // the module is loaded many times, but compiled once
	opts.Progress = func(line string) { once.Do(func() { a.progress(line) }) }
	report, err := conform.Check(ctx, conform.Options{File: file, Host: opts, Dir: keep, Extism: a.extism})
	if err == nil && s.resolver != "" && report.OK() && !slices.Contains(report.Resolvers, s.resolver) {
		return nil, usage("%s has no resolver %q; see harness inspect %s", cmp.Or(report.Module, file), s.resolver, file)
	}
	return report, err
}

// checkPrinter prints a report for a person.
type checkPrinter struct {
	w io.Writer
	// all says to name all workspaces, not just the first ones.
	all bool
}

// detailMax is the most that is shown of a finding, because a panic has a long traceback.
// JSON has all of it.
const detailMax = 300

func (p checkPrinter) printReport(r *conform.Report) error {
	if r.Module != "" {
		_, _ = fmt.Fprintf(p.w, "%s %s, sha256 %s, %s\n", r.Module, cli.Visible(r.Version), cli.Short(r.Digest), strings.Join(r.Resolvers, ", "))
	}
	for i := range r.Findings {
		f := r.Findings[i]
		if i+1 < len(r.Findings) && r.Findings[i+1].Hint == f.Hint {
			f.Hint = "" // it is printed below the last finding it is for
		}
		p.finding(&f)
	}
	_, err := fmt.Fprintf(p.w, "%d fail, %d warn, %d pass; %s\n", r.Fails, r.Warns, r.Passes, cli.Count(r.Runs, "run"))
	if r.Dir != "" && err == nil {
		_, err = fmt.Fprintf(p.w, "the workspaces are in %s\n", cli.Visible(r.Dir))
	}
	return err
}

// finding prints one line, and details below it.
func (p checkPrinter) finding(f *conform.Finding) {
	severity := string(f.Severity)
	if f.Severity == conform.Fail {
		severity = strings.ToUpper(severity) // it must stand out among many other lines
	}
	detail := f.Detail
	if f.Resolver != "" {
		detail = f.Resolver + ": " + detail
	}
	_, _ = fmt.Fprintf(p.w, "  %-4s  %-11s  %s\n", severity, f.Rule, text.Cut(cli.Visible(detail), detailMax))
	const below = "                       "
	if where := p.where(f.Workspaces); where != "" && f.Severity != conform.Pass {
		_, _ = fmt.Fprintf(p.w, "%sseen in %s\n", below, where)
	}
	if f.Hint != "" {
		_, _ = fmt.Fprintf(p.w, "%s→ %s\n", below, cli.Visible(f.Hint))
	}
}

func (p checkPrinter) where(workspaces []string) string {
	const some = 3
	if n := len(workspaces) - some; n > 0 && !p.all {
		return fmt.Sprintf("%s and %s", strings.Join(workspaces[:some], ", "), cli.Count(n, "other"))
	}
	return strings.Join(workspaces, ", ")
}
