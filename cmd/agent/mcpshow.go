package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/resources"
)

func (a *app) mcpShowCommand(conn *connection) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show what a server is, what it may do, and what it offers",
		Long: `Show prints everything that you need to decide on an approval: the program or URL, the
variables that the server gets (by name), the pinned files, what it may do, what has
changed since its last approval, and its tools.

Show doesn't know the values of variables and headers, and masks arguments that look
like secrets. The exit code is 3 if there is no such server, or no agent runs.`,
		Example: `  agent mcp show github
  agent mcp show github --json | jq -r .definition`,
		Args: cli.Named("NAME"),
		RunE: asking(conn.reader, func(ctx context.Context, c client.Client, args []string) error {
			s, err := c.MCPServer(ctx, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return cli.JSON(a.stdout, s)
			}
			if err := printMCPServer(a.stdout, s); err != nil {
				return err
			}
			return printMCPOffer(a.stdout, s)
		}),
		ValidArgsFunction: cli.InOrder(false, mcpServerNames),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printMCPServer prints what an approval decision needs.
func printMCPServer(w io.Writer, s *agentapi.MCPServerDetail) error {
	t := cli.NewTable(w)
	row := func(name, text string) {
		if text != "" {
			t.Row(name, cli.Visible(text))
		}
	}
	row("server", s.Name)
	row("title", s.Title)
	row("outcome", strings.Join(slices.DeleteFunc([]string{resources.Outcome(s.Outcome), s.Error}, func(s string) bool { return s == "" }), ": "))
	row("from", fmt.Sprintf("%s (%s)", s.Source, s.Origin))
	row("in place of", strings.Join(s.Shadows, ", "))
	row("transport", s.Transport)
	row("command", s.Command)
	row("arguments", quoted(s.Args))
	row("directory", s.Cwd)
	row("variables", strings.Join(s.EnvNames, ", "))
	row("host", s.URLHost)
	row("headers", strings.Join(s.HeaderNames, ", "))
	row("redacted", strings.Join(s.Redacted, ", "))
	row("definition", s.Definition)
	row("on this machine", s.Local)
	row("pinned", mcpPinned(s.Pinned))
	for _, f := range s.Files {
		row("", f.Path+", sha256 "+f.SHA256)
	}
	for i, may := range s.May {
		row([]string{"may", ""}[min(i, 1)], may)
	}
	row("approval", mcpApproval(s.Approval))
	if s.Approval != nil && s.Approval.Widening != nil {
		row("it lets it", strings.Join(given(s.Approval.Widening), "; "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return printMCPChanges(w, s)
}

// quoted quotes arguments as for a shell, so that it shows where each ends.
func quoted(args []string) string {
	list := make([]string, len(args))
	for i, arg := range args {
		if list[i] = arg; arg == "" || strings.ContainsAny(arg, " \t\n\"'\\$`") {
			list[i] = strconv.Quote(arg)
		}
	}
	return strings.Join(list, " ")
}

// mcpPinned says what a change is asked for again.
func mcpPinned(pinned string) string {
	switch pinned {
	case "entry":
		return "the entry alone: the program is fetched or decided elsewhere, and its changes aren't asked for"
	case "partial":
		return "the entry and the files it names, not what those load in turn"
	case "full":
		return "the entry and all that it runs"
	}
	return pinned
}

func mcpApproval(p *agentapi.MCPApproval) string {
	if p == nil {
		return "none"
	}
	text := "approved by "
	if p.Denied {
		text = "denied by "
	}
	switch p.By {
	case "operator":
		text += "the operator's configuration"
	case "hub":
		text += "a signature that the hub has handed out"
	case "workspace":
		text += "mcp.trust = \"workspace\""
	default:
		text += "the " + p.By
	}
	if p.ID != "" {
		text += ", id " + p.ID
	}
	if p.Until != nil {
		text += ", until " + p.Until.Local().Format(time.RFC3339)
	}
	return text
}

// printMCPChanges prints the differences to the last approval, and the held-back tools, as
// diffs.
func printMCPChanges(w io.Writer, s *agentapi.MCPServerDetail) error {
	out := cli.Lines{W: w}
	screen := cli.ScreenOf(w)
	if len(s.Changes) > 0 {
		out.Printf("\nchanged since it was approved:")
	}
	for _, c := range s.Changes {
		out.Printf("  %s", cli.Visible(c.Part))
		if c.Before == "" && c.After == "" {
			out.Printf("    (a secret, which isn't shown)")
		}
		for _, side := range []struct{ sign, text string }{{"-", c.Before}, {"+", c.After}} {
			for line := range strings.Lines(side.text) {
				out.Printf("    %s", screen.DiffLine(side.sign+strings.TrimSuffix(line, "\n")))
			}
		}
	}
	if len(s.Held) > 0 {
		out.Printf("\nheld back until they are approved (%s):", cli.Visible(s.HeldDigest))
	}
	for _, h := range s.Held {
		name := cmp.Or(h.Name, "the server's instructions")
		if h.New {
			name += " (new)"
		}
		out.Printf("  %s", cli.Visible(name))
		for line := range strings.Lines(h.Diff) {
			out.Printf("    %s", screen.DiffLine(strings.TrimSuffix(line, "\n")))
		}
	}
	return out.Err
}

// printMCPOffer prints the server's description of itself, and its tools.
func printMCPOffer(w io.Writer, s *agentapi.MCPServerDetail) error {
	out := cli.Lines{W: w}
	if v := s.Versions; v.Name != "" || v.Protocol != "" {
		out.Printf("\nit calls itself %s", cli.Visible(strings.TrimSpace(v.Name+" "+v.Version)+", protocol "+cmp.Or(v.Protocol, "unknown")))
	}
	if s.Instructions != "" {
		out.Printf("\ninstructions:\n  %s", cli.VisibleLines(strings.TrimSpace(s.Instructions), "  "))
	}
	if len(s.Findings) > 0 {
		out.Printf("\nfindings:")
	}
	for _, f := range s.Findings {
		out.Printf("  %s", cli.Visible(strings.Join(slices.DeleteFunc([]string{f.Tool, f.Text}, func(s string) bool { return s == "" }), ": ")))
	}
	if len(s.Tools) > 0 {
		out.Printf("\ntools:")
	}
	for i := range s.Tools {
		tool := &s.Tools[i]
		out.Printf("  %s %s", cli.Visible(tool.Name), cli.Visible(mcpArguments(tool)))
		if text := strings.TrimSpace(cmp.Or(tool.Description, tool.Title)); text != "" {
			out.Printf("      %s", cli.VisibleLines(text, "      "))
		}
	}
	return out.Err
}

// given says in sentences what an approval grants beyond the profile.
func given(g *agentapi.MCPWidening) (list []string) {
	add := func(on bool, format string, args ...any) {
		if on {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	add(g.Unconfined, "run without a profile: whatever you may")
	add(len(g.Read) > 0, "read %s", strings.Join(g.Read, ", "))
	add(len(g.Write) > 0, "write %s", strings.Join(g.Write, ", "))
	add(g.Ports != nil && len(g.Ports) == 0, "connect to no TCP port")
	add(len(g.Ports) > 0, "connect to the TCP ports %s and no others", strings.Trim(fmt.Sprint(g.Ports), "[]"))
	add(g.Unix, "connect to Unix sockets")
	add(len(g.Asks) > 0, "ask the callers of its tools for %s", strings.Join(g.Asks, ", "))
	add(len(g.Env) > 0, "get the agent's variables %s", strings.Join(g.Env, ", "))
	return list
}
