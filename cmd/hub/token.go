package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/hub/api"
	"waymark/hub/client"
	"waymark/hub/store"
	"waymark/internal/credential"
)

func newToken() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke the tokens of agents, readers and operators",
		Long: `An agent's token lets it push, and determines which agent it is. A reader's token reads
the HTTP API, for all agents or for some. An operator's reads all of it, and adds and
revokes approvals ('hub approvals'). The hub stores only hashes, so a token is shown
once, when it is created.`,
		Example: `  hub token create --role agent --agent dev-1 --out agent.token
  hub token create --role reader --out reader.token
  hub token list
  hub token revoke 0f8e4f5c-7a39-4b53-a5c5-9d1d3c6f2f10`,
	}
	cli.Group(cmd)
	cmd.AddCommand(newTokenCreate(), newTokenList(), newTokenRevoke())
	return cmd
}

// createFlags are the flags of hub token create.
type createFlags struct {
	operator
	expires, out   string
	agents, labels []string
	token          store.NewToken
}

func newTokenCreate() *cobra.Command {
	var f createFlags
	cmd := &cobra.Command{
		Use:   "create --role agent|reader|operator",
		Short: "Create a token and show it once",
		Long: `Creates a token. With --role agent it belongs to the agent that --agent names; without
--agent, to a new one with a random id. An agent can have several tokens.

With --role reader it shows everything, or only the agents that --agent names, which can
be repeated. It then hides all other agents, in lists, events, pins and everywhere else.
The agents need not exist yet. With --label it shows only agents that currently have
those labels; with both, those that match both.

With --role operator it shows everything, and can add and revoke approvals, which
concern all agents.

--expires sets its expiry: after a duration (90m, 24h, 30d), or at a date (2027-01-31,
which is its first moment in UTC, or 2027-01-31T12:00:00Z).

--out writes it to a new file that only you can read, and doesn't show it. Otherwise,
without --json, stdout has only the token.`,
		Example: `  hub token create --role reader --name laptop --out reader.token
  hub token create --role reader --agent dev-1 --agent dev-2 --expires 24h
  hub token create --role reader --label env=prod --out prod.token
  hub token create --role agent --agent dev-1 --out agent.token
  hub token create --role agent --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.addJSON(cmd)
	flags := cmd.Flags()
	flags.StringVar((*string)(&f.token.Role), "role", "", "`role` of the token's holder: agent, which pushes, reader or operator")
	flags.StringArrayVar(&f.agents, "agent", nil, "`id` of the agent (default a new UUID), or of one that a reader sees (default all); can be repeated for a reader")
	flags.StringArrayVar(&f.labels, "label", nil, "`NAME=VALUE` that an agent must have for a reader to see it; can be repeated, all must match")
	flags.StringVar(&f.token.Name, "name", "", "`name` for people, of the token and its agent")
	flags.StringVar(&f.expires, "expires", "", "`when` the token expires: 24h, 30d, or a date (default never)")
	flags.StringVar(&f.out, "out", "", "new `file` to write the token to, with mode 0600, instead of showing it")
	complete(cmd, "role", string(store.RoleAgent), string(store.RoleReader), string(store.RoleOperator))
	complete(cmd, "expires", "24h", "7d", "30d", "365d")
	_ = cmd.MarkFlagFilename("out")
	return cmd
}

// check validates the flags and completes the token with them.
func (f *createFlags) check(cmd *cobra.Command) (err error) {
	switch {
	case f.token.Role == "":
		return usage(cmd, "--role is missing: want agent, reader or operator")
	case f.token.Role != store.RoleAgent && f.token.Role != store.RoleReader && f.token.Role != store.RoleOperator:
		return usage(cmd, "--role %q: want agent, reader or operator", f.token.Role)
	case f.token.Role == store.RoleOperator && len(f.agents) > 0:
		return usage(cmd, "--agent: an operator's token is for all agents; make a reader's for some")
	case f.token.Role == store.RoleAgent && len(f.agents) > 1:
		return usage(cmd, "--agent is given %d times: an agent's token belongs to one; make a token for each", len(f.agents))
	case cmd.Flags().Changed("out") && f.out == "":
		return usage(cmd, "--out: name a file")
	}
	for _, id := range f.agents {
		if err := store.CheckAgentID(id); err != nil {
			return usage(cmd, "%w", err)
		}
	}
	if len(f.labels) > 0 {
		if f.token.Role != store.RoleReader {
			return usage(cmd, "--label is for a reader's token; hub agents label gives labels to an agent")
		}
		if f.token.ScopeLabels, err = store.ParseLabels(f.labels); err != nil {
			return usage(cmd, "--label: %w", err)
		}
	}
	switch {
	case len(f.agents) == 0:
	case f.token.Role == store.RoleAgent:
		f.token.AgentID = f.agents[0]
	default:
		f.token.Scope = f.agents
	}
	if cmd.Flags().Changed("expires") {
		if f.token.ExpiresAt, err = expiry(f.expires, time.Now()); err != nil {
			return usage(cmd, "--expires %q: %w", f.expires, err)
		}
	}
	return nil
}

func (f *createFlags) run(cmd *cobra.Command) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	text := f.token.Role.Kind().New()
	f.token.Hash = credential.HashOf(text)
	if err := f.token.Check(); err != nil {
		return usage(cmd, "%w", err)
	}
	wanted := api.NewToken{
		TokenSHA256: hex.EncodeToString(f.token.Hash[:]), Role: string(f.token.Role), AgentID: f.token.AgentID, Name: f.token.Name,
		Scope: f.token.Scope, ScopeLabels: f.token.ScopeLabels,
	}
	if !f.token.ExpiresAt.IsZero() {
		wanted.ExpiresAt = &f.token.ExpiresAt
	}
	return f.with(cmd, func(ctx context.Context, c client.Client) error {
		made, err := withSecret(f.out, text, func() (*api.Token, error) { return c.CreateToken(ctx, wanted) })
		if err != nil {
			return err
		}
		return f.print(cmd, text, made)
	})
}

// maxExpiry is longer than anybody needs, and within the range of times.
const maxExpiry = 100 * 365 * 24 * time.Hour

// expiry parses a time from now, or a date.
func expiry(text string, now time.Time) (at time.Time, err error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil || n > uint64(maxExpiry/(24*time.Hour)) {
			return at, errors.New("want some days, such as 30d, at most 36500")
		}
		at = now.Add(time.Duration(n) * 24 * time.Hour)
	} else if d, err := time.ParseDuration(text); err == nil {
		if d > maxExpiry {
			return at, errors.New("that is more than a hundred years; leave it out for a token that doesn't expire")
		}
		at = now.Add(d)
	} else if at, err = time.Parse(time.DateOnly, text); err != nil {
		if at, err = time.Parse(time.RFC3339, text); err != nil {
			return at, errors.New("want a duration such as 24h or 30d, or a date such as 2027-01-31 or 2027-01-31T12:00:00Z")
		}
	}
	if at.Year() > 9999 {
		return at, errors.New("the year has more than four digits")
	}
	if !at.After(now) {
		return at, errors.New("that is not in the future")
	}
	return at.UTC(), nil
}

// print prints a new token.
func (f *createFlags) print(cmd *cobra.Command, text string, made *api.Token) error {
	if f.out != "" {
		text = ""
	}
	if f.json {
		return cli.JSON(cmd.OutOrStdout(), struct {
			Text string `json:"token,omitempty"`
			File string `json:"file,omitempty"`
			api.Token
		}{text, f.out, *made})
	}
	who := made.Role
	if made.Role == string(store.RoleAgent) {
		who = "agent " + made.AgentID
	} else if made.Scope != nil {
		who += " of " + strings.Join(made.Scope, ", ")
	}
	if made.ScopeLabels != nil {
		who += " of agents with " + store.Labels(made.ScopeLabels).String()
	}
	if made.ExpiresAt != nil {
		who += ", until " + stamp(*made.ExpiresAt)
	}
	if text == "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s, token %s; the token is in %s\n", cli.Visible(who), made.ID, f.out)
		return nil
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s, token %s; the token is shown only now:\n", cli.Visible(who), made.ID)
	_, err := fmt.Fprintln(cmd.OutOrStdout(), text)
	return err
}

func newTokenList() *cobra.Command {
	var o operator
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List all tokens, also revoked and expired ones",
		Long: `Lists all tokens: their role, when they were created and last used, to a minute, what a
reader's token shows, and when they expire. Times are in UTC.`,
		Example: "  hub token list\n  hub token list --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd, func(ctx context.Context, c client.Client) error {
				tokens, err := c.Tokens(ctx)
				if err != nil {
					return err
				}
				return printTokens(cmd.OutOrStdout(), tokens, o.json)
			})
		},
	}
	o.addJSON(cmd)
	return cmd
}

func printTokens(w io.Writer, tokens []api.Token, asJSON bool) error {
	header := []string{"ID", "ROLE", "AGENT", "NAME", "FROM", "CREATED", "LAST USED", "SCOPE", "EXPIRES", "STATE"}
	return cli.List(w, asJSON, tokens, "there are no tokens; hub token create makes one", header, func(t *api.Token) []string {
		from, state := "created", "valid"
		if t.Provisioned {
			from = "file"
		}
		switch {
		case t.RevokedAt != nil:
			state = "revoked " + stamp(*t.RevokedAt)
		case t.ExpiresAt != nil && credential.Expired(time.Now(), *t.ExpiresAt):
			state = "expired"
		}
		scope := "-"
		switch {
		case t.ScopeLabels != nil:
			scope = strings.Join(append(t.Scope, store.Labels(t.ScopeLabels).String()), ",")
		case t.Scope != nil:
			scope = strings.Join(t.Scope, ",")
		case t.Role != string(store.RoleAgent):
			scope = "all"
		}
		return []string{
			t.ID, t.Role, cli.Dash(t.AgentID), cli.Dash(cli.Visible(t.Name)), from,
			stamp(t.CreatedAt), stampOf(t.LastUsedAt), cli.Visible(scope), stampOf(t.ExpiresAt), state,
		}
	})
}

func newTokenRevoke() *cobra.Command {
	var o operator
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Revoke a token, permanently and at once",
		Long: `Revokes the token with this id (not its text: see 'hub token list'). A running hub
refuses its next call, and within a second ends the connections of an agent, the streams
of a reader, and the sessions of browsers that were signed in with it. Exits with 3 if
there is no such token.`,
		Example: "  hub token revoke 0f8e4f5c-7a39-4b53-a5c5-9d1d3c6f2f10",
		Args:    cli.Named("the token's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, is := store.RoleOfToken(args[0]); is {
				return usage(cmd, "that is a token, not its id; hub token list shows ids")
			}
			return o.with(cmd, func(ctx context.Context, c client.Client) error { return c.RevokeToken(ctx, args[0]) })
		},
	}
	o.add(cmd)
	return cmd
}

// stamp formats a time for a table.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format("2006-01-02 15:04Z")
}
