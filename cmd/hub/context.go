package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/resources"
	"waymark/hub/api"
	"waymark/hub/client"
	"waymark/snapshot"
)

// contextFlags are the flags of hub context.
type contextFlags struct {
	reader
	revision int64
	pin      string
	format   string
	wait     time.Duration
}

func newContext() *cobra.Command {
	var f contextFlags
	cmd := &cobra.Command{
		Use:   "context [AGENT]",
		Short: "Show what an agent has pushed, or a pin's contents",
		Long: `Shows an agent's snapshot: the newest, or with --revision an older one that the hub
still keeps, or with --pin the contents of a pin. Resources with problems come first,
with the reason. AGENT may be omitted if the hub has only one.

While the agent's discovery is pending, the snapshot is incomplete. --wait waits at most
that long until it is complete; the exit code is 3 if it is still pending.

--format markdown prints text for a prompt: instructions in order, the catalog of
skills, MCP servers, and problems.`,
		Example: `  hub context dev-1
  hub context dev-1 --wait 30s
  hub context dev-1 --revision 17 --json
  hub context dev-1 --format markdown > context.md
  hub context --pin 0f8e4f5c-7a39-4b53-a5c5-9d1d3c6f2f10`,
		Args: cli.Named("[AGENT]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args); err != nil {
				return err
			}
			return f.with(cmd, func(ctx context.Context, c client.Client) error { return f.run(ctx, cmd.OutOrStdout(), c, args) })
		},
		ValidArgsFunction: f.offer(agentIDs),
	}
	f.addJSON(cmd)
	flags := cmd.Flags()
	flags.Int64Var(&f.revision, "revision", 0, "`revision` of the hub to show (default the newest)")
	flags.StringVar(&f.pin, "pin", "", "`id` of a pin to show instead")
	flags.StringVar(&f.format, "format", "table", "`format`: table, json or markdown")
	flags.DurationVar(&f.wait, "wait", 0, "`time` to wait until the discovery is complete, such as 30s")
	complete(cmd, "format", "table", "json", "markdown")
	_ = cmd.RegisterFlagCompletionFunc("pin", func(cmd *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return f.offer(pinIDs)(cmd, nil, text)
	})
	return cmd
}

func (f *contextFlags) check(cmd *cobra.Command, args []string) error {
	switch {
	case !slices.Contains([]string{"table", "json", "markdown"}, f.format):
		return usage(cmd, "--format %q: want table, json or markdown", f.format)
	case f.json && f.format == "markdown":
		return usage(cmd, "--json and --format markdown exclude each other")
	case f.revision < 0:
		return usage(cmd, "--revision %d: revisions begin with 1", f.revision)
	case f.wait < 0:
		return usage(cmd, "--wait %s: a time to wait is above 0, such as 30s", f.wait)
	case f.wait > 0 && (f.pin != "" || f.revision != 0):
		return usage(cmd, "--wait is for the newest: leave --pin and --revision out")
	case f.pin != "" && (len(args) > 0 || f.revision != 0):
		return usage(cmd, "--pin goes without an agent and without --revision")
	}
	return nil
}

func (f *contextFlags) run(ctx context.Context, w io.Writer, c client.Client, args []string) error {
	agent := ""
	if f.pin == "" {
		var err error
		if agent, err = onlyAgent(ctx, c, args); err != nil {
			return err
		}
	}
	var missing error
	if f.wait > 0 {
		var err error
		if missing, err = awaitComplete(ctx, c, agent, f.wait); err != nil {
			return err
		}
	}
	if err := f.show(ctx, w, c, agent); err != nil || missing == nil {
		return err
	}
	return &cli.Error{Code: cli.CodeNo, Err: missing}
}

// show prints the context.
func (f *contextFlags) show(ctx context.Context, w io.Writer, c client.Client, agent string) error {
	if f.format == "markdown" {
		text, err := f.markdown(ctx, c, agent)
		if err != nil {
			return err
		}
		if cli.IsTerminal(w) { // text for a file or a program stays as it is
			text = cli.VisibleLines(text, "")
		}
		_, err = io.WriteString(w, text)
		return err
	}
	s, err := f.snapshot(ctx, c, agent)
	if err != nil {
		return err
	}
	if f.json || f.format == "json" {
		return cli.JSON(w, s)
	}
	return printSnapshot(w, s)
}

// awaitComplete waits until the agent's discovery is complete. missing says why it isn't in
// the end, or is nil.
func awaitComplete(ctx context.Context, c client.Client, agent string, wait time.Duration) (missing, err error) {
	// A hub waits for a minute at most.
	for end := time.Now().Add(wait); ; {
		left := time.Until(end)
		if left <= 0 {
			return fmt.Errorf("the discovery of %s is still pending after %s: more may come", agent, wait), nil
		}
		s, err := c.Context(ctx, agent, client.ContextOptions{Wait: left, Complete: true})
		switch {
		case err != nil || s != nil && !s.Discovery.Pending():
			return nil, err
		case s != nil && s.Away:
			return fmt.Errorf("the discovery of %s is pending, and the agent isn't connected: more may come when it is back", agent), nil
		}
	}
}

func (f *contextFlags) markdown(ctx context.Context, c client.Client, agent string) (string, error) {
	if f.pin != "" {
		return c.PinMarkdown(ctx, f.pin)
	}
	return c.Markdown(ctx, agent, f.revision)
}

func (f *contextFlags) snapshot(ctx context.Context, c client.Client, agent string) (*api.Snapshot, error) {
	if f.pin != "" {
		return c.PinContext(ctx, f.pin)
	}
	return c.Context(ctx, agent, client.ContextOptions{Revision: f.revision})
}

// hasIssue reports whether a resource has a problem.
func hasIssue(r *snapshot.Resource) bool { return r.Status != snapshot.StatusOK || r.Stale }

func printSnapshot(w io.Writer, s *api.Snapshot) error {
	fmt.Fprintf(w, "agent %s, revision %d, version %d, pushed %s, %s, %s, hash %s\n", s.AgentID, s.Revision, s.Version, stamp(s.ReceivedAt),
		cli.Count(len(s.Resources), "resource"), cli.Size(s.PayloadBytes), cli.Dash(cli.Short(s.AggregateHash.String())))
	if s.SnapshotError != "" {
		fmt.Fprintf(w, "%s\n", cli.Visible(s.SnapshotError))
	}
	rows := resources.InOrder(s.Resources)
	slices.SortStableFunc(rows, func(a, b snapshot.Resource) int { return cmp.Compare(rank(&a), rank(&b)) })
	if err := resources.PrintTable(w, rows, ""); err != nil {
		return err
	}
	for i := range rows {
		if r := &rows[i]; r.Error != "" {
			fmt.Fprintf(w, "%s: %s: %s\n", cli.Visible(r.Source), resources.Status(r), cli.Visible(r.Error))
		}
	}
	if err := resources.PrintDiscovery(w, s.Discovery); err != nil {
		return err
	}
	if s.Away {
		fmt.Fprintln(w, "the agent isn't connected: what is still to come doesn't come before it is back")
	}
	for _, p := range s.Plugins {
		if p.State != snapshot.PluginReady {
			fmt.Fprintf(w, "plugin %s is %s: %s\n", cli.Visible(p.Name), cli.Visible(string(p.State)), cli.Dash(cli.Visible(p.Error)))
		}
	}
	return nil
}

// rank sorts what needs attention first.
func rank(r *snapshot.Resource) int {
	if hasIssue(r) {
		return 0
	}
	return 1
}
