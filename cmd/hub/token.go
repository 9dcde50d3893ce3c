package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/term"
	"waymark/hub"
	"waymark/hub/store"
)

func newToken() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke the tokens of agents, readers and operators",
		Long: `An agent's token lets it push, and determines which agent it is. A reader's token reads
the HTTP API, for all agents or for some. An operator's reads all of it, and adds and
revokes approvals ('hub approvals'). The hub stores only hashes, so a token is shown
once, when it is created. These commands work on the hub's database (--db or HUB_DB),
also while the hub runs.`,
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
	db, expires, out string
	agents, labels   []string
	token            store.NewToken
	json             bool
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
	addDB(cmd, &f.db)
	flags := cmd.Flags()
	flags.StringVar((*string)(&f.token.Role), "role", "", "`role` of the token's holder: agent, which pushes, reader or operator")
	flags.StringArrayVar(&f.agents, "agent", nil, "`id` of the agent (default a new UUID), or of one that a reader sees (default all); can be repeated for a reader")
	flags.StringArrayVar(&f.labels, "label", nil, "`NAME=VALUE` that an agent must have for a reader to see it; can be repeated, all must match")
	flags.StringVar(&f.token.Name, "name", "", "`name` for people, of the token and its agent")
	flags.StringVar(&f.expires, "expires", "", "`when` the token expires: 24h, 30d, or a date (default never)")
	flags.StringVar(&f.out, "out", "", "new `file` to write the token to, with mode 0600, instead of showing it")
	flags.BoolVar(&f.json, "json", false, "print JSON")
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
	return withStore(cmd, f.db, func(st store.Store) error {
		if f.out == "" {
			text, made, err := hub.CreateToken(cmd.Context(), st, f.token)
			if err != nil {
				return err
			}
			return f.print(cmd, text, made)
		}
		made, err := hub.CreateTokenFile(cmd.Context(), st, f.token, f.out)
		if errors.Is(err, fs.ErrExist) {
			return existsAlready(f.out)
		}
		if err != nil {
			return err
		}
		return f.print(cmd, "", made)
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

// print prints a new token; text is empty if it is in a file.
func (f *createFlags) print(cmd *cobra.Command, text string, made store.Token) error {
	if f.json {
		return term.JSON(cmd.OutOrStdout(), struct {
			Token string `json:"token,omitempty"`
			File  string `json:"file,omitempty"`
			tokenJSON
		}{text, f.out, toJSON(&made)})
	}
	who := string(made.Role)
	if made.Role == store.RoleAgent {
		who = "agent " + made.AgentID
	} else if made.Scope != nil {
		who += " of " + strings.Join(made.Scope, ", ")
	}
	if made.ScopeLabels != nil {
		who += " of agents with " + made.ScopeLabels.String()
	}
	if !made.ExpiresAt.IsZero() {
		who += ", until " + stamp(made.ExpiresAt)
	}
	if text == "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s, token %s; the token is in %s\n", who, made.ID, f.out)
		return nil
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s, token %s; the token is shown only now:\n", who, made.ID)
	_, err := fmt.Fprintln(cmd.OutOrStdout(), text)
	return err
}

func newTokenList() *cobra.Command {
	var asJSON bool
	cmd := onStore(&cobra.Command{
		Use:   "list",
		Short: "List all tokens, also revoked and expired ones",
		Long: `Lists all tokens: their role, when they were created and last used, to a minute, what a
reader's token shows, and when they expire. Times are in UTC.`,
		Example: "  hub token list\n  hub token list --json",
		Args:    cobra.NoArgs,
	}, func(cmd *cobra.Command, _ []string, st store.Store) error {
		tokens, err := st.Tokens(cmd.Context())
		if err != nil {
			return err
		}
		return printTokens(cmd.OutOrStdout(), tokens, asJSON)
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printTokens(w io.Writer, tokens []store.Token, asJSON bool) error {
	if asJSON {
		list := make([]tokenJSON, 0, len(tokens))
		for i := range tokens {
			list = append(list, toJSON(&tokens[i]))
		}
		return term.JSON(w, list)
	}
	header := []string{"ID", "ROLE", "AGENT", "NAME", "FROM", "CREATED", "LAST USED", "SCOPE", "EXPIRES", "STATE"}
	return term.List(w, false, tokens, "there are no tokens; hub token create makes one", header, func(t *store.Token) []string {
		from, state := "created", "valid"
		if t.Provisioned {
			from = "file"
		}
		switch {
		case t.Revoked():
			state = "revoked " + stamp(t.RevokedAt)
		case t.Expired(time.Now()):
			state = "expired"
		}
		scope := "-"
		switch {
		case t.ScopeLabels != nil:
			scope = strings.Join(append(t.Scope, t.ScopeLabels.String()), ",")
		case t.Scope != nil:
			scope = strings.Join(t.Scope, ",")
		case t.Role != store.RoleAgent:
			scope = "all"
		}
		return []string{
			t.ID, string(t.Role), term.Dash(t.AgentID), term.Dash(term.Visible(t.Name)), from,
			stamp(t.CreatedAt), stamp(t.LastUsedAt), scope, stamp(t.ExpiresAt), state,
		}
	})
}

func newTokenRevoke() *cobra.Command {
	var db string
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
			return withStore(cmd, db, func(st store.Store) error {
				return st.RevokeToken(cmd.Context(), args[0])
			})
		},
	}
	addDB(cmd, &db)
	return cmd
}

// tokenJSON is a token in JSON; missing times are null.
type tokenJSON struct {
	ID          string     `json:"id"`
	Role        store.Role `json:"role"`
	AgentID     string     `json:"agent_id"`
	Name        string     `json:"name"`
	Provisioned bool       `json:"provisioned"`
	// Scope is null for a reader of all agents, and for an agent.
	Scope []string `json:"scope"`
	// ScopeLabels is null if labels don't limit the token.
	ScopeLabels store.Labels `json:"scope_labels"`
	// EnrolledBy is the id of the code or key with which it was made.
	EnrolledBy string     `json:"enrolled_by,omitempty"`
	CreatedAt  time.Time  `json:"created_at"`
	LastUsedAt *time.Time `json:"last_used_at"`
	ExpiresAt  *time.Time `json:"expires_at"`
	RevokedAt  *time.Time `json:"revoked_at"`
}

func toJSON(t *store.Token) tokenJSON {
	j := tokenJSON{
		ID: t.ID, Role: t.Role, AgentID: t.AgentID, Name: t.Name,
		Provisioned: t.Provisioned, CreatedAt: t.CreatedAt, Scope: t.Scope, ScopeLabels: t.ScopeLabels, EnrolledBy: t.EnrolledBy,
	}
	if !t.ExpiresAt.IsZero() {
		j.ExpiresAt = &t.ExpiresAt
	}
	if !t.LastUsedAt.IsZero() {
		j.LastUsedAt = &t.LastUsedAt
	}
	if t.Revoked() {
		j.RevokedAt = &t.RevokedAt
	}
	return j
}

// stamp formats a time for a table.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format("2006-01-02 15:04Z")
}
