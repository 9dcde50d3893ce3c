package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
	"waymark/host/vfs"
	"waymark/workspace/access"
)

func (a *app) tokenCommand() *cobra.Command {
	var conn connection
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke tokens for clients that act in the workspace",
		Long: `Anyone who can open the agent's socket may read. Actions need a token: to start
processes, write files, approve plugins. Commands use the control token automatically,
which is a file in the workspace's state directory. For a chat server, or for one chat,
create a token that allows less: it has scopes and an expiry, and may have a fence.

The agent keeps only hashes, so a token is shown once, when it is created.`,
		Example: `  agent token create
  agent token create --plan PLAN.md --expires 2h
  agent token list
  agent token revoke k3v9x2m7qa`,
	}
	cli.Group(cmd)
	conn.addFlags(cmd)
	cmd.AddCommand(a.tokenCreateCommand(&conn), a.tokenListCommand(&conn), a.tokenRevokeCommand(&conn))
	return cmd
}

// newTokenFlags are the flags of token create.
type newTokenFlags struct {
	token   agentapi.NewToken
	expires time.Duration
	json    bool
	// forHub makes a capability of it, with hub.
	forHub bool
	hub    agentapi.Capability
}

func (a *app) tokenCreateCommand(conn *connection) *cobra.Command {
	var f newTokenFlags
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a token and show it once",
		Long: `Create creates a token and prints it. Without --scope it allows processes, files and
mcp.

With --plan it has a fence: it can write only that file, which must be in the workspace
and need not exist yet. Processes that are started with it can't write anything else
either. On a kernel without Landlock no processes are started with it.

Without --grant-secrets it can't read or write what is on the secret list, and processes
that are started with it don't see those places in your home directory. With
--grant-secrets '*' they are as free as you are.

With --for-hub it is a capability: it defines what a chat at the hub may do here, if
services.hub is true. It allows nothing else, and nothing over a socket. Without --scope
it only reads; --tool restricts it to some tools. It is limited to the workspace, has no
secrets, and expires after at most 31 days. Give it to the chat server, not to the hub:
the hub forwards it with each call and doesn't store it.`,
		Example: `  agent token create --json
  agent token create --scope files --expires 30m
  agent token create --plan docs/PLAN.md
  agent token create --grant-secrets '.env*'
  agent token create --for-hub
  agent token create --for-hub --scope files --tool read_file --tool edit_files`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.createToken(cmd, conn, &f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.token.Scopes, "scope", nil, "`scopes`, separated by commas: processes, files, mcp, approve, tokens, stop, desktop, desktop-view; may be repeated")
	flags.StringVar(&f.token.Plan, "plan", "", "the only `file` that can be written with it")
	flags.StringArrayVar(&f.token.Secrets, "grant-secrets", nil, "`entry` of the secret list that it may see, as it is spelled there, or '*' for all; may be repeated")
	flags.DurationVar(&f.expires, "expires", 0, "`time` until it expires: 30m, 8h, at most 8760h (default 8h)")
	flags.BoolVar(&f.forHub, "for-hub", false, "create a capability, which a chat shows through a hub")
	flags.StringArrayVar(&f.hub.Tools, "tool", nil, "with --for-hub: `name` of a tool that it allows, or a pattern such as 'tracker__*'; may be repeated (default all that the scopes allow)")
	flags.StringVar(&f.hub.Chat, "chat", "", "with --for-hub: `id` of the chat that it is for, a UUID (default a new one)")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// maxTokenLife is the longest life that an agent accepts.
const maxTokenLife = 365 * 24 * time.Hour

func (a *app) createToken(cmd *cobra.Command, conn *connection, f *newTokenFlags) (err error) {
	if cmd.Flags().Changed("expires") {
		if f.expires <= 0 || f.expires > maxTokenLife {
			return cli.Usage("--expires %s: name a time above 0 and of at most 8760h, such as 8h", f.expires)
		}
		at := time.Now().Add(f.expires).UTC()
		f.token.ExpiresAt = &at
	}
	switch {
	case f.forHub:
		f.token.Hub = &f.hub
	case len(f.hub.Tools) > 0 || f.hub.Chat != "":
		return cli.Usage("--tool and --chat are for a capability: add --for-hub")
	}
	if cmd.Flags().Changed("plan") {
		if f.token.Plan, err = absolutePath(f.token.Plan); err != nil {
			return err
		}
	}
	c, err := conn.client()
	if err != nil {
		return err
	}
	made, err := c.CreateToken(cmd.Context(), f.token)
	if err != nil {
		return err
	}
	if f.json {
		return cli.JSON(a.stdout, made)
	}
	if _, err := fmt.Fprintln(a.stdout, made.Secret); err != nil {
		return err
	}
	may := cmp.Or(strings.Join(made.Scopes, ", "), "reading")
	line := fmt.Sprintf("%s: %s%s, until %s", made.ID, may, throughHub(made.Hub), made.ExpiresAt.Local().Format(time.DateTime))
	if made.Plan != "" {
		line += ", writes only " + made.Plan
	}
	_, err = fmt.Fprintln(cmd.ErrOrStderr(), cli.Visible(line))
	return err
}

func (a *app) tokenListCommand(conn *connection) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the valid tokens",
		Long: `List shows the valid tokens, without their text, and for each the token that created it,
with which it ends.`,
		Example: `  agent token list
  agent token list --json | jq -r '.[].id'`,
		Args: cobra.NoArgs,
		RunE: asking(conn.reader, func(ctx context.Context, c client.Client, _ []string) error {
			list, err := c.Tokens(ctx)
			if err != nil {
				return err
			}
			return a.printTokens(append([]agentapi.Token{}, list...), asJSON)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) printTokens(list []agentapi.Token, asJSON bool) error {
	header := []string{"ID", "SCOPES", "EXPIRES", "MADE BY", "SECRETS", "PLAN", "FOR"}
	return cli.List(a.stdout, asJSON, list, "there are no tokens but the control token", header, func(t *agentapi.Token) []string {
		return []string{
			t.ID, cli.Dash(strings.Join(t.Scopes, ",")), t.ExpiresAt.Local().Format(time.DateTime), t.MintedBy,
			cli.Dash(cli.Visible(strings.Join(t.Secrets, " "))), cli.Dash(cli.Visible(t.Plan)),
			cli.Dash(strings.TrimSpace(cli.Visible(throughHub(t.Hub)))),
		}
	})
}

// throughHub says what a capability can be used for; "" for another token.
func throughHub(c *agentapi.Capability) string {
	switch {
	case c == nil:
		return ""
	case len(c.Tools) == 0:
		return " through a hub"
	}
	return " through a hub: " + strings.Join(c.Tools, " ")
}

func (a *app) tokenRevokeCommand(conn *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "Revoke a token, and those created with it",
		Long: `Revoke ends a token at once, by its id, and all tokens created with it. The exit code is
3 if there is no token with that id, or no agent runs.`,
		Example: `  agent token revoke k3v9x2m7qa`,
		Args:    cli.Named("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "" {
				return cli.Usage("an empty id names no token: see 'agent token list'")
			}
			c, err := conn.client()
			if err != nil {
				return err
			}
			if err := c.RevokeToken(cmd.Context(), args[0]); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "%s is revoked\n", cli.Visible(args[0]))
			return err
		},
		ValidArgsFunction: cli.InOrder(false, knownTokens),
	}
}

// knownTokens completes the ids of tokens.
func knownTokens(cmd *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return fromAgent(cmd, text, func(ctx context.Context, c client.Client) (list []string, err error) {
		all, err := c.Tokens(ctx)
		for i := range all {
			list = append(list, all[i].ID)
		}
		return list, err
	})
}

// scopeNames and secretNames complete the values of flags.
func scopeNames() (list []cobra.Completion) {
	for _, scope := range access.Scopes() {
		list = append(list, string(scope))
	}
	return list
}

func secretNames() []cobra.Completion {
	list := []cobra.Completion{"*"}
	for _, secret := range vfs.SecretPatterns() {
		list = append(list, secret.Pattern)
	}
	return list
}
