package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	xterm "golang.org/x/term"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
	"waymark/snapshot"
)

// mcpApproveSettings are the flags of approve.
type mcpApproveSettings struct {
	yes, tools, asJSON bool
	changed            bool
	digests            []string
	give               agentapi.ApproveMCPServer
	ports              []uint
	portsGiven         bool
}

func (a *app) mcpApproveCommand(conn *connection) *cobra.Command {
	var s mcpApproveSettings
	cmd := &cobra.Command{
		Use:   "approve NAME | --changed",
		Short: "Approve a server, as it is",
		Long: `Approve shows what a server is, what it may do and what has changed since its last
approval, asks, and approves exactly that. It refuses changes that happen meanwhile.
Without a terminal, --yes approves the current state. --digest restricts this to what
you have seen before: to the digest of the definition, of its values on this machine
(hmac:), or of tools that are held back (tools:), as 'agent mcp show' prints them.

A server runs confined: it reads the workspace and the system, and writes to a directory
of its own. The flags allow it more, and replace those of the previous approval. Without
flags a valid approval keeps its permissions, and a changed server gets none.

Tools are pinned when they are first seen. A changed tool is held back, and shown here
with its changes; --tools accepts it.

--develop is for developers of a server: for eight hours its files in the workspace may
change without a new approval. The server must be confined and receives no secrets.
Meanwhile processes of chats can't write to the workspace, and servers that may write
files wait. An edit of one of its files through the agent, another approval or a denial
ends it.

--changed shows all servers that have changed since their approval, with the tools that
are held back, and asks once for all. A state that was approved before needs no new
approval. You can't approve all new servers at once. The exit code is 3 if there is no
such server, or no agent runs.`,
		Example: `  agent mcp approve github
  agent mcp approve notes --write notes --unix
  agent mcp approve github --ports 443 --env GITHUB_TOKEN
  agent mcp approve notes --develop
  agent mcp approve --changed
  agent mcp approve github --yes --digest sha256:2c26b46b68ff
  agent mcp approve github --yes --tools --digest tools:fcde2b2edba5`,
		Args: func(cmd *cobra.Command, args []string) error {
			if s.changed {
				return cobra.NoArgs(cmd, args)
			}
			return cli.Named("NAME")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s.portsGiven = cmd.Flags().Changed("ports")
			if err := s.check(); err != nil {
				return err
			}
			c, err := conn.client()
			if err != nil {
				return err
			}
			if s.changed {
				return a.approveChanged(cmd.Context(), c, &s)
			}
			return a.approveMCP(cmd.Context(), c, args[0], &s)
		},
		ValidArgsFunction: cli.InOrder(false, mcpServerNames),
	}
	f := cmd.Flags()
	f.BoolVarP(&s.yes, "yes", "y", false, "don't ask")
	f.BoolVar(&s.changed, "changed", false, "approve all changes of servers since their approval")
	f.BoolVar(&s.give.Develop, "develop", false, "let its files in the workspace change for eight hours")
	f.BoolVar(&s.tools, "tools", false, "also accept the tools that are held back")
	f.StringSliceVar(&s.digests, "digest", nil, "approve only what has this `digest`, or one that begins so (8 digits at least); may be repeated")
	f.StringSliceVar(&s.give.Read, "read", nil, "let it read this `path`, absolute or from the workspace; may be repeated")
	f.StringSliceVar(&s.give.Write, "write", nil, "let it write below this `path`, \".\" is the workspace; may be repeated")
	f.UintSliceVar(&s.ports, "ports", nil, "let it connect only to these TCP `ports`; 0 allows none")
	f.BoolVar(&s.give.Unix, "unix", false, "let it connect to Unix sockets")
	f.StringSliceVar(&s.give.Env, "env", nil, "give it this `variable` of the agent; may be repeated")
	f.BoolVar(&s.give.Unconfined, "unconfined", false, "don't confine it at all")
	f.StringSliceVar(&s.give.Asks, "ask", nil, "let it ask the callers of its tools for `this`: elicitation, elicitation-url, sampling or roots; may be repeated")
	f.BoolVar(&s.asJSON, "json", false, "print JSON: the server's new state; needs --yes")
	return cmd
}

// check validates the flags.
func (s *mcpApproveSettings) check() error {
	if s.asJSON && !s.yes {
		return cli.Usage("--json needs --yes: there is nobody to ask")
	}
	for _, digest := range s.digests {
		if _, _, digits := digestKind(digest); len(digits) < digestMin {
			return cli.Usage("--digest %q: give at least the first %d digits", digest, digestMin)
		}
	}
	if s.portsGiven {
		s.give.Ports = []uint16{}
	}
	for _, port := range s.ports {
		if port > 65535 || port == 0 && len(s.ports) > 1 {
			return cli.Usage("--ports %d: use ports from 1 to 65535, or 0 alone for none", port)
		}
		if port > 0 {
			s.give.Ports = append(s.give.Ports, uint16(port))
		}
	}
	if s.changed && (s.asJSON || len(s.digests) > 0 || s.give.Widens() || s.give.Develop) {
		return cli.Usage("--changed is for several servers: name one for what is to be different with it")
	}
	for _, name := range s.give.Env {
		if name == "" || strings.ContainsAny(name, "= \t\n") {
			return cli.Usage("--env: use the name of a variable, without a value")
		}
	}
	return nil
}

// digestKinds are the prefixes of digests and what they are digests of.
var digestKinds = [][2]string{{"sha256:", "definition"}, {"hmac:", "machine's digest"}, {"tools:", "held back part"}}

// digestKind splits a digest given by a user. Digits alone are a definition's digest.
func digestKind(digest string) (prefix, of, digits string) {
	digest = strings.ToLower(digest)
	for _, kind := range digestKinds {
		if digits, ok := strings.CutPrefix(digest, kind[0]); ok {
			return kind[0], kind[1], digits
		}
	}
	return digestKinds[0][0], digestKinds[0][1], digest
}

// other returns a sentence about a given digest that isn't the server's, or "".
func (s *mcpApproveSettings) other(d *agentapi.MCPServerDetail) string {
	for _, digest := range s.digests {
		prefix, of, digits := digestKind(digest)
		is := map[string]string{"sha256:": d.Definition, "hmac:": d.Local, "tools:": d.HeldDigest}[prefix]
		if !strings.HasPrefix(is, prefix+digits) {
			return fmt.Sprintf("the %s of %s is %s, and not what --digest names", of, d.Name, cmp.Or(is, "nothing"))
		}
	}
	return ""
}

// keep takes the grants of the current approval for all that no flag sets.
func (s *mcpApproveSettings) keep(holds *agentapi.MCPApproval) {
	if !s.give.Widens() && holds != nil && !holds.Denied && holds.Widening != nil {
		s.give.MCPWidening = *holds.Widening
	}
}

func (a *app) approveMCP(ctx context.Context, c client.Client, name string, s *mcpApproveSettings) error {
	d, err := c.MCPServer(ctx, name)
	if err != nil {
		return err
	}
	if other := s.other(d); other != "" {
		return &cli.Error{Code: cli.CodeNo, Err: fmt.Errorf("%s: look at it again with 'agent mcp show %s'", other, name)}
	}
	if !s.asJSON {
		if err := a.showForApproval(d, s); err != nil {
			return err
		}
	}
	if approved := d.Approval != nil && !d.Approval.Denied; approved && !s.give.Develop && d.DevelopedUntil == nil && !s.give.Widens() && len(d.Held) == 0 && d.Outcome != snapshot.OutcomeNeedsApproval {
		a.side("%s is approved already, as it is", cli.Visible(name))
		return a.printSettled(ctx, c, name, s.asJSON)
	}
	if err := s.ask(a.stderr, os.Stdin, d.Name, len(d.Held)); err != nil {
		return err
	}
	return a.approveShown(ctx, c, d, s)
}

// approveShown approves a server exactly as it was shown.
func (a *app) approveShown(ctx context.Context, c client.Client, d *agentapi.MCPServerDetail, s *mcpApproveSettings) error {
	one := *s
	one.keep(d.Approval)
	give := one.give
	give.Definition, give.Local = d.Definition, d.Local
	if s.tools {
		give.Held = d.HeldDigest
	}
	if err := c.ApproveMCPServer(ctx, d.Name, give); err != nil {
		return err
	}
	if !s.asJSON {
		a.side("%s is approved", cli.Visible(d.Name))
	}
	return a.printSettled(ctx, c, d.Name, s.asJSON)
}

// approveChanged shows what changed in all servers since their approval, and approves all
// of it.
func (a *app) approveChanged(ctx context.Context, c client.Client, s *mcpApproveSettings) error {
	list, err := c.MCPServers(ctx, "", 0)
	if err != nil {
		return err
	}
	var changed []*agentapi.MCPServerDetail
	for i := range list.Servers {
		d, err := c.MCPServer(ctx, list.Servers[i].Name)
		if err != nil {
			return err
		}
		if (d.Outcome == snapshot.OutcomeNeedsApproval && len(d.Changes) > 0) || len(d.Held) > 0 {
			changed = append(changed, d)
		}
	}
	if len(changed) == 0 {
		a.side("nothing has changed since it was approved")
		return nil
	}
	out := cli.Lines{W: a.stdout}
	for _, d := range changed {
		out.Printf("%s:", cli.Visible(d.Name))
		if err := printMCPChanges(a.stdout, d); err != nil {
			return err
		}
		out.Printf("")
	}
	s.tools = true // they were shown
	if out.Err != nil {
		return out.Err
	}
	if err := s.ask(a.stderr, os.Stdin, cli.Count(len(changed), "server"), 0); err != nil {
		return err
	}
	var errs []error
	for _, d := range changed {
		errs = append(errs, a.approveShown(ctx, c, d, s))
	}
	return errors.Join(errs...)
}

// showForApproval prints what the approval is about.
func (a *app) showForApproval(d *agentapi.MCPServerDetail, s *mcpApproveSettings) error {
	if err := printMCPServer(a.stdout, d); err != nil {
		return err
	}
	out := cli.Lines{W: a.stdout}
	if s.give.Widens() {
		out.Printf("\nthis approval lets it in addition:")
	}
	for _, line := range given(&s.give.MCPWidening) {
		out.Printf("  %s", cli.Visible(line))
	}
	if s.give.Develop {
		out.Printf("\nfor eight hours its files of the workspace may change without a question")
	}
	return out.Err
}

// errNotApproved is the result of the answer no.
var errNotApproved = errors.New("not approved")

// ask asks whether to approve the named server, and about its held-back tools.
func (s *mcpApproveSettings) ask(out io.Writer, in *os.File, what string, held int) error {
	if s.yes {
		return nil
	}
	if !xterm.IsTerminal(int(in.Fd())) {
		return cli.Usage("there is no terminal to ask on: look at what is shown, and say --yes")
	}
	answers := bufio.NewReader(in)
	yes := func(format string, args ...any) bool {
		_, _ = fmt.Fprintf(out, format+" [y/N] ", args...)
		line, _ := answers.ReadString('\n') // end of input means no
		line = strings.ToLower(strings.TrimSpace(line))
		return line == "y" || line == "yes"
	}
	if !yes("\nlet %s start, as it is shown?", cli.Visible(what)) {
		return &cli.Error{Code: cli.CodeFailed, Err: errNotApproved}
	}
	if held > 0 && !s.tools {
		s.tools = yes("take %s, too?", cli.Count(held, "held back tool"))
	}
	return nil
}

// mcpChangeCommand completes a command that changes a server, and prints the result.
func (a *app) mcpChangeCommand(conn *connection, change func(client.Client, context.Context, string) error, cmd *cobra.Command) *cobra.Command {
	var asJSON bool
	cmd.Args, cmd.ValidArgsFunction = cli.Named("NAME"), cli.InOrder(false, mcpServerNames)
	cmd.RunE = asking(conn.client, func(ctx context.Context, c client.Client, args []string) error {
		if err := change(c, ctx, args[0]); err != nil {
			return err
		}
		return a.printSettled(ctx, c, args[0], asJSON)
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) mcpDenyCommand(conn *connection) *cobra.Command {
	return a.mcpChangeCommand(conn, client.Client.DenyMCPServer, &cobra.Command{
		Use:   "deny NAME",
		Short: "Deny a server, as it is, and end it",
		Long: `Deny revokes an approval: the server ends, and doesn't start again until it is approved.
It also denies what the operator's configuration or a hub has approved on this machine.
If the server changes, it needs a new decision.

The exit code is 3 if there is no such server, or no agent runs.`,
		Example: `  agent mcp deny github`,
	})
}

func (a *app) mcpRestartCommand(conn *connection) *cobra.Command {
	return a.mcpChangeCommand(conn, client.Client.RestartMCPServer, &cobra.Command{
		Use:   "restart NAME",
		Short: "End a server and connect it again",
		Long: `Restart ends a server, if it runs, and connects it again at once, also if it has failed
and would be retried later. It doesn't approve a server that waits for an approval.

The exit code is 3 if there is no such server, or no agent runs.`,
		Example: `  agent mcp restart github`,
	})
}

// digestMin is how many digits of a digest tell files apart.
const digestMin = 8
