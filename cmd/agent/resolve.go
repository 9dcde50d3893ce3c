package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/cmd/internal/cli"
	"waymark/host"
	"waymark/host/config"
	"waymark/host/resolve"
	"waymark/host/why"
	"waymark/snapshot"
)

func (a *app) resolveCommand() *cobra.Command {
	var s agent.Settings
	var asJSON, explain bool
	cmd := &cobra.Command{
		Use:   "resolve [DIR]…",
		Short: "Show once what is found in directories",
		Long: `Resolve looks into the given directories (by default the current one), in order of
precedence, and prints what it finds, there and in repositories in directories at their
top. It doesn't look at the home directory, and pushes nothing.

It fails if a resolver failed or a plugin was refused, and prints the other results all
the same.`,
		Example: `  agent resolve
  agent resolve --json ~/project | jq '.resources[].id'
  agent resolve --plugins ./my-resolver --explain .`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.resolve(cmd.Context(), &s, args, asJSON, explain)
		},
	}
	addSettings(cmd, &s)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the snapshot as JSON")
	cmd.Flags().BoolVar(&explain, "explain", false, "show on standard error what was done for each resolver and root")
	return cmd
}

func (a *app) resolve(ctx context.Context, s *agent.Settings, dirs []string, asJSON, explain bool) (err error) {
	log, err := a.logger()
	if err != nil {
		return err
	}
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return err
	}
	c, err := s.Load(paths)
	if err != nil {
		return err
	}
	defer a.RecordRuns(ctx, paths, log)()
	opts := a.HostOptions(s, c, paths, log)
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	for _, dir := range dirs {
		opts.Roots = append(opts.Roots, host.RootSpec{Path: dir, Within: above(dir, dirs), Children: true})
	}
	h, err := host.New(opts)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := h.Close(); err == nil {
			err = cerr
		}
	}()
	if err := h.Load(ctx); err != nil {
		return err
	}
	report, err := h.Refresh(ctx)
	if err != nil {
		return err
	}
	if explain {
		a.explain(report)
	}
	unused, err := h.Coverage(ctx)
	if err != nil {
		return err
	}
	if err := a.printReport(report, unused, dirs, asJSON, log); err != nil {
		return err
	}
	return unusable(report.Snapshot.Plugins)
}

// above lists the ancestors of a directory: links to them don't leave it.
func above(dir string, dirs []string) []string {
	var list []string
	dir, err := filepath.Abs(dir)
	for _, other := range dirs {
		other, oerr := filepath.Abs(other)
		if err == nil && oerr == nil && other != dir && strings.HasPrefix(dir, strings.TrimSuffix(other, "/")+"/") {
			list = append(list, other)
		}
	}
	return list
}

func (a *app) printReport(report *host.Report, unused *why.Coverage, dirs []string, asJSON bool, log *slog.Logger) error {
	for _, n := range report.Notes {
		if n.Reason == snapshot.ReasonDeduplicated && n.Winner != n.ID {
			log.Info("not listed", slog.String("path", n.Path), slog.String("reason", string(n.Reason)), slog.String("detail", n.Detail))
		}
	}
	if asJSON {
		text, err := withCoverage(report.Snapshot, unused)
		if err != nil {
			return err
		}
		return cli.JSON(a.stdout, text)
	}
	base := ""
	if len(dirs) == 1 && len(report.Outcomes) > 0 {
		base = report.Outcomes[0].Root
	}
	if err := printSnapshot(a.stdout, report.Snapshot, base); err != nil {
		return err
	}
	return printCoverage(a.stdout, unused)
}

// explain prints what each resolver did, and why.
func (a *app) explain(report *host.Report) {
	for _, o := range report.Outcomes {
		_, _ = fmt.Fprintf(a.stderr, "%s in %s: %s\n", o.Resolver, o.Root, how(o))
		for _, d := range o.Denied {
			_, _ = fmt.Fprintf(a.stderr, "  denied: %s (%s)\n", cli.Visible(d.Path), d.Reason)
		}
		for _, l := range o.Logs {
			_, _ = fmt.Fprintf(a.stderr, "  %s: %s\n", l.Level, l.Text)
		}
	}
	_, _ = fmt.Fprintf(a.stderr, "resolved in %s\n", report.Duration.Round(10*time.Microsecond))
}

func how(o resolve.Outcome) string {
	took := fmt.Sprintf("%s (fuel %d)", o.Duration.Round(10*time.Microsecond), o.Fuel)
	switch {
	case o.Err != nil:
		return "failed: " + o.Err.Error()
	case o.Rewritten:
		return fmt.Sprintf("reused, %s, with the new text of %s", cli.Count(len(o.Candidates), "find"), cli.Visible(o.Changed))
	case o.Reused:
		return "reused, " + cli.Count(len(o.Candidates), "find")
	case o.Changed != "":
		return fmt.Sprintf("re-run because %s changed, %s in %s", cli.Visible(o.Changed), cli.Count(len(o.Candidates), "find"), took)
	}
	return fmt.Sprintf("run for the first time, %s in %s", cli.Count(len(o.Candidates), "find"), took)
}
