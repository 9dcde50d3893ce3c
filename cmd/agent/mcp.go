package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/resources"
	"waymark/snapshot"
)

func (a *app) mcpListCommand(conn *connection) *cobra.Command {
	var asJSON, tools, refresh bool
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the MCP servers, or their tools",
		Long: `List shows the servers, their states, and what to do about those that can't be called.
With --tools it shows the tools that can be called now.

List says if it is incomplete: a server that is starting has no tools yet, and --wait
waits for it. The exit code is 3 if no agent runs.`,
		Example: `  agent mcp list
  agent mcp list --wait 30s --json | jq '.servers[].outcome'
  agent mcp list --tools --refresh`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if wait < 0 {
				return cli.Usage("--wait %s: use a duration from 0", wait)
			}
			if refresh && !tools {
				return cli.Usage("--refresh is for --tools: the servers are asked for their tools again")
			}
			dial := conn.reader
			if refresh {
				dial = conn.client
			}
			c, err := dial()
			if err != nil {
				return err
			}
			if tools {
				return a.listMCPTools(cmd.Context(), c, client.MCPToolOptions{Wait: wait, Refresh: refresh}, asJSON)
			}
			return a.listMCP(cmd.Context(), c, wait, asJSON)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.BoolVar(&tools, "tools", false, "list tools")
	f.BoolVar(&refresh, "refresh", false, "with --tools: ask the servers again")
	f.DurationVar(&wait, "wait", 0, "wait at most this `time` for servers that are starting")
	return cmd
}

func (a *app) listMCP(ctx context.Context, c client.Client, wait time.Duration, asJSON bool) error {
	if wait > 0 && !asJSON {
		a.side("waiting for servers that start")
	}
	all, err := c.MCPServers(ctx, "", wait)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.JSON(a.stdout, all)
	}
	if len(all.Servers)+len(all.Invalid) == 0 {
		text := "no servers: .mcp.json in the workspace configures them"
		if all.Phase == snapshot.PhasePending {
			text = "nothing is known yet: --wait waits"
		}
		_, err := fmt.Fprintln(a.stdout, text)
		return err
	}
	t := cli.NewTable(a.stdout, "NAME", "STATE", "TOOLS", "TRANSPORT", "SOURCE", "NOTE")
	for i := range all.Servers {
		s := &all.Servers[i]
		t.Row(cmp.Or(cli.Visible(s.Name), `""`), resources.Outcome(s.Outcome), mcpTools(s), cli.Dash(cli.Visible(s.Transport)), cli.Visible(cli.Shorten(s.Source, here())), cli.Dash(cli.Visible(mcpNote(s))))
	}
	for _, bad := range all.Invalid {
		if !slices.ContainsFunc(all.Servers, func(s agentapi.MCPServer) bool { return s.Source == bad.Source && s.Name == bad.Name }) {
			t.Row(cli.Dash(cli.Visible(bad.Name)), "invalid", "-", "-", cli.Visible(cli.Shorten(bad.Source, here())), cli.Visible(bad.Error))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	a.mcpPending(all.Phase)
	return nil
}

// mcpTools formats the number of tools, if it is known.
func mcpTools(s *agentapi.MCPServer) string {
	switch {
	case s.Held > 0:
		return fmt.Sprintf("%d, %d held back", s.Tools, s.Held)
	case s.CatalogueAt == nil:
		return "-"
	}
	return fmt.Sprint(s.Tools)
}

// mcpNote is the most urgent note on a server.
func mcpNote(s *agentapi.MCPServer) string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	switch {
	case s.Outcome == snapshot.OutcomeNeedsApproval:
		add("agent mcp approve %s", s.Name)
	case s.Outcome == snapshot.OutcomeNeedsAuthorization:
		add("agent mcp login %s", s.Name)
	case s.Error != "":
		add("%s", s.Error)
	case s.State == agentapi.MCPRunning && s.StartedAt != nil:
		add("runs since %s", s.StartedAt.Local().Format("15:04:05"))
	case s.CatalogueAt != nil && s.State == agentapi.MCPKnown:
		add("catalogue of %s, not running", s.CatalogueAt.Local().Format("15:04"))
	}
	if s.Outcome == snapshot.OutcomeFailed && s.RetryAt != nil {
		add("tried again at %s", s.RetryAt.Local().Format("15:04:05"))
	}
	if s.Held > 0 {
		add("agent mcp approve %s takes what is held back", s.Name)
	}
	if s.DevelopedUntil != nil {
		add("developed until %s", s.DevelopedUntil.Local().Format("15:04"))
	}
	if agent.Unconfined(s) {
		add("not confined")
	}
	if s.Findings > 0 {
		add("%s, see agent mcp show %s", cli.Count(s.Findings, "finding"), s.Name)
	}
	return strings.Join(notes, "; ")
}

func (a *app) listMCPTools(ctx context.Context, c client.Client, opts client.MCPToolOptions, asJSON bool) error {
	if (opts.Refresh || opts.Wait > 0) && !asJSON {
		a.side("asking the servers")
	}
	all, err := c.ListMCPTools(ctx, opts)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.JSON(a.stdout, all)
	}
	if err := a.printMCPTools(all.Tools, "no tools can be called: 'agent mcp list' says why"); err != nil {
		return err
	}
	a.mcpPending(all.Phase)
	return nil
}
