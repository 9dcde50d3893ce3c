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
	"waymark/cmd/internal/term"
	"waymark/host/vfs"
	"waymark/workspace/access"
)

func (a *app) tokenCommand() *cobra.Command {
	var conn connection
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke tokens for who acts in the workspace",
		Long: `Who can open the agent's socket may read. What acts needs a token: to start processes,
write files, approve plugins. Commands show the control token by themselves, which is a
file in the workspace's state directory. For a chat server, or for one chat, make a token
that allows less: it has scopes, an end, and may have a fence.

The agent keeps only hashes: a token is shown once, when it is made.`,
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
		Short: "Make a token and show it, this once",
		Long: `Create makes a token and prints it. Without --scope it allows processes, files and mcp.

With --plan it has a fence: it can write that one file, which is in the workspace and
needn't exist yet, and processes that are started with it can write nothing else either,
where the kernel has Landlock. Where it hasn't, they aren't started.

Without --grant-secrets what is on the secret list can't be read or written with it, and
processes that are started with it don't see those places. With --grant-secrets '*' they
are as free as you are.

With --for-hub it is a capability: what a chat at the hub may have done here, where
services.hub is true. It is good for nothing else, and over no socket. Without --scope it
only reads; --tool narrows it to some tools. It stays in the workspace, has no secrets,
and ends after at most 31 days. Give it to the chat server, not to the hub: that one
passes it on with each call and keeps none.`,
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
	flags.StringSliceVar(&f.token.Scopes, "scope", nil, "`scopes`, separated by commas: processes, files, mcp, approve, tokens, stop; may be repeated")
	flags.StringVar(&f.token.Plan, "plan", "", "the one `file` that can be written with it")
	flags.StringArrayVar(&f.token.Secrets, "grant-secrets", nil, "`entry` of the secret list that it may see, as it is spelled there, or '*' for all; may be repeated")
	flags.DurationVar(&f.expires, "expires", 0, "after what `time` it ends: 30m, 8h, at most 8760h (default 8h)")
	flags.BoolVar(&f.forHub, "for-hub", false, "make a capability, which a chat shows through a hub")
	flags.StringArrayVar(&f.hub.Tools, "tool", nil, "with --for-hub: `name` of a tool it is good for, or a pattern such as 'tracker__*'; may be repeated (default all that the scopes leave)")
	flags.StringVar(&f.hub.Chat, "chat", "", "with --for-hub: `id` of the chat it is for, a UUID (default one of its own)")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// maxTokenLife is what an agent takes.
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
		return term.JSON(a.stdout, made)
	}
	if _, err := fmt.Fprintln(a.stdout, made.Secret); err != nil {
		return err
	}
	may := cmp.Or(strings.Join(made.Scopes, ", "), "reading")
	line := fmt.Sprintf("%s: %s%s, until %s", made.ID, may, throughHub(made.Hub), made.ExpiresAt.Local().Format(time.DateTime))
	if made.Plan != "" {
		line += ", writes only " + made.Plan
	}
	_, err = fmt.Fprintln(cmd.ErrOrStderr(), term.Visible(line))
	return err
}

func (a *app) tokenListCommand(conn *connection) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tokens that are valid",
		Long: `List shows the tokens that were made and haven't ended, without the tokens themselves,
and by which other token each was made, with which it ends.`,
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
	return term.List(a.stdout, asJSON, list, "there are no tokens but the control token", header, func(t *agentapi.Token) []string {
		return []string{
			t.ID, term.Dash(strings.Join(t.Scopes, ",")), t.ExpiresAt.Local().Format(time.DateTime), t.MintedBy,
			term.Dash(term.Visible(strings.Join(t.Secrets, " "))), term.Dash(term.Visible(t.Plan)),
			term.Dash(strings.TrimSpace(term.Visible(throughHub(t.Hub)))),
		}
	})
}

// throughHub says what a capability is good for; "" for another token.
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
		Short: "End a token, and those that were made with it",
		Long: `Revoke ends a token at once, by its id, and all that were made with it. The exit code
is 3 when there is none of that id, or no agent runs.`,
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
			_, err = fmt.Fprintf(a.stdout, "%s is revoked\n", term.Visible(args[0]))
			return err
		},
		ValidArgsFunction: cli.InOrder(false, knownTokens),
	}
}

// knownTokens offers the ids of tokens.
func knownTokens(cmd *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return fromAgent(cmd, text, func(ctx context.Context, c client.Client) (list []string, err error) {
		all, err := c.Tokens(ctx)
		for i := range all {
			list = append(list, all[i].ID)
		}
		return list, err
	})
}

// scopeNames and secretNames are what a shell offers for flags.
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
