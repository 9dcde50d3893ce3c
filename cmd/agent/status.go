package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/agentapi/client"
	"waymark/agentapi/status"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/resources"
	"waymark/host/push"
	"waymark/internal/text"
	"waymark/snapshot"
)

func (a *app) statusCommand() *cobra.Command {
	var conn connection
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the state of the running agent",
		Long: `Status shows where the running agent looks, how many resources it has found, how it
notices changes, and the state of the push to its hub. 'agent doctor' says what to do
about problems. The exit code is 3 if no agent runs.`,
		Example: `  agent status
  agent status --json | jq -r .push.state`,
		Args: cobra.NoArgs,
		RunE: asking(conn.reader, func(ctx context.Context, c client.Client, _ []string) error { return a.status(ctx, c, asJSON) }),
	}
	conn.addFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) status(ctx context.Context, c client.Client, asJSON bool) error {
	s, err := c.Status(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.JSON(a.stdout, s)
	}
	return printStatus(a.stdout, s)
}

func printStatus(w io.Writer, s *status.Status) error {
	t := cli.NewTable(w)
	row := func(name, format string, args ...any) { t.Row(name, fmt.Sprintf(format, args...)) }
	row("pid", "%d", s.PID)
	row("up", "%s", (time.Duration(s.UptimeSeconds * float64(time.Second))).Round(time.Second))
	row("roots", "%s", cli.Dash(cli.Visible(strings.Join(s.Roots, ", "))))
	for _, r := range s.Refused {
		row("not looked at", "%s: %s", cli.Visible(r.Path), cli.Visible(r.Error))
	}
	for i := range s.Children {
		row("projects", "%s", projectsLine(&s.Children[i]))
	}
	row("snapshot", "version %d, %s", s.Version, cli.Count(s.Resources, "resource"))
	if s.SnapshotError != "" {
		row("problem", "%s", cli.Visible(s.SnapshotError))
	}
	if resources.HasDiscovery(s.Discovery) {
		row("discovery", "%s", s.Discovery.Summary())
	}
	if s.Held {
		row("waiting", "%s", "the first snapshot is held back until the file of --wait-for is there; 'agent ready' makes it now")
	}
	row("watch", "%s", watchLine(&s.Watch))
	if s.Services != nil {
		row("services", "%s", servicesLine(s.Services))
		row("processes", "%s", processesLine(s.Services))
	}
	if s.MCP != nil {
		row("mcp servers", "%s", mcpLine(s.MCP))
		for _, hint := range mcpHints(s.MCP) {
			row("", "%s", cli.Visible(hint))
		}
	}
	if s.ConfigError != "" {
		row("configuration", "not in force: %s", cli.Visible(s.ConfigError))
	}
	if s.Hub != "" {
		row("hub", "%s", s.Hub)
	}
	if s.Push != nil {
		printPush(row, s.Push)
	}
	for _, p := range s.Plugins {
		line := string(p.State) + ", " + p.Path
		if p.Error != "" {
			line += ": " + p.Error
		}
		row("plugin "+cli.Dash(p.Name), "%s", cli.Visible(line))
	}
	return t.Flush()
}

// projectsLine says which repositories in a root are resolved.
func projectsLine(c *status.Children) string {
	const most = 5
	line := fmt.Sprintf("%d in %s", len(c.Names), cli.Visible(c.Root))
	if len(c.Names) > 0 {
		line += ": " + cli.Visible(strings.Join(c.Names[:min(len(c.Names), most)], ", "))
	}
	if len(c.Names) > most {
		line += ", …"
	}
	if c.More > 0 {
		line += fmt.Sprintf("; %d more not looked into", c.More)
	}
	if c.Unasked > 0 {
		line += fmt.Sprintf("; %d more directories not asked", c.Unasked)
	}
	return line
}

// servicesLine says what chats may use.
func servicesLine(s *status.Services) string {
	var on []string
	for _, service := range []struct {
		name string
		on   bool
	}{{"processes", s.Processes}, {"files", s.Files}, {"git", s.Git}} {
		if service.on {
			on = append(on, service.name)
		}
	}
	line := cli.Dash(strings.Join(on, ", "))
	if s.TCP {
		line += ", over TCP too"
	}
	if s.Hub {
		line += ", through the hub with a capability"
	}
	switch s.Secrets {
	case status.SecretsHidden:
		line += fmt.Sprintf("; the places of secrets are hidden from processes by Landlock (version %d)", s.Landlock)
	case status.SecretsAdvisory:
		line += "; without Landlock the secret list is advisory: processes can read what it names"
	case status.SecretsOff:
		line += "; services.hide_secrets is off: processes can read what the secret list names"
	}
	return line
}

// processesLine says what processes are held.
func processesLine(s *status.Services) string {
	switch s.Supervisor {
	case status.SupervisorNone:
		return "none was started"
	case status.SupervisorFailed:
		return "what holds them doesn't answer: " + cli.Visible(s.Error)
	}
	return fmt.Sprintf("%d running, %d held", s.Running, s.Held)
}

// mcpLine says how the MCP servers are.
func mcpLine(s *status.MCP) string {
	var parts []string
	for _, outcome := range slices.Sorted(maps.Keys(s.Outcomes)) {
		parts = append(parts, fmt.Sprintf("%d %s", s.Outcomes[outcome], resources.Outcome(outcome)))
	}
	switch {
	case len(parts) == 0 && s.Phase == snapshot.PhasePending:
		return "not looked for yet"
	case len(parts) == 0 && len(s.Invalid) == 0:
		return "none is configured"
	case len(parts) == 0:
		return "none that can be used"
	}
	line := strings.Join(parts, ", ") + "; " + cli.Count(s.Tools, "tool")
	if s.HeldTools > 0 {
		line += fmt.Sprintf(", %d held back", s.HeldTools)
	}
	return line
}

// mcpHints say what a person can do for MCP servers.
func mcpHints(s *status.MCP) (hints []string) {
	for _, name := range s.Waiting {
		hints = append(hints, fmt.Sprintf("%s waits for an approval: agent mcp approve %s", name, name))
	}
	for _, name := range s.SignIn {
		hints = append(hints, fmt.Sprintf("%s asks for a sign-in: agent mcp login %s", name, name))
	}
	for _, name := range s.Failed {
		hints = append(hints, fmt.Sprintf("%s doesn't answer: agent mcp logs %s", name, name))
	}
	if len(s.Unconfined) > 0 {
		hints = append(hints, "without a profile: "+strings.Join(s.Unconfined, ", "))
	}
	return append(hints, mcpInvalid(s)...)
}

// mcpInvalid says which parts of the files are invalid.
func mcpInvalid(s *status.MCP) (list []string) {
	const most = 10
	for i, bad := range s.Invalid {
		if i == most {
			return append(list, fmt.Sprintf("%d more can't be used: agent mcp list", len(s.Invalid)-i))
		}
		what := cli.Visible(cli.Shorten(bad.Source, here()))
		if bad.Name != "" {
			what = cli.Visible(bad.Name) + " in " + what
		}
		list = append(list, what+" can't be used: "+cli.Visible(bad.Error))
	}
	return list
}

// watchLine says how changes are detected.
func watchLine(w *status.Watch) string {
	line := w.Mode + ", " + text.Count(w.Directories, "directory", "directories")
	if w.Silent {
		line += ", some on a file system that doesn't tell of all changes"
	}
	if w.Error != "" {
		line += ": " + cli.Visible(w.Error)
	}
	return line
}

func printPush(row func(name, format string, args ...any), p *push.Status) {
	row("peer", "%s", p.Peer)
	row("state", "%s", p.State)
	if last := p.LastAccepted; last != nil {
		row("accepted", "version %d at %s, hash %s", last.Version, last.At.Format(time.RFC3339), cli.Short(last.Hash.String()))
	} else {
		row("accepted", "nothing yet")
	}
	if p.LastError != "" {
		row("last error", "%s", cli.Visible(p.LastError))
	}
	switch p.Reverse.State {
	case push.ReverseOpen, push.ReverseUnimplemented:
		row("channel", "%s", p.Reverse.State)
	case push.ReverseClosed:
		row("channel", "%s", cli.Visible(strings.TrimSuffix("closed: "+p.Reverse.LastError, ": ")))
	}
	if p.HeldBack.Count > 0 {
		var reasons []string
		for _, r := range slices.Sorted(maps.Keys(p.HeldBack.Reasons)) {
			reasons = append(reasons, fmt.Sprintf("%d %s", p.HeldBack.Reasons[r], r))
		}
		row("held back", "%s: %s", cli.Count(p.HeldBack.Count, "resource"), strings.Join(reasons, ", "))
	}
}
