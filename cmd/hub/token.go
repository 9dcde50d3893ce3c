package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"waymark/hub"
	"waymark/hub/store"
)

func newToken() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke the tokens of agents and readers",
		Long: `An agent's token lets it push, and says which agent it is. A reader's token
opens the HTTP API. The hub keeps only hashes: a token is shown once, when it
is made. All of this also works while the hub runs.`,
	}
	group(cmd)
	cmd.AddCommand(newTokenCreate(), newTokenList(), newTokenRevoke())
	return cmd
}

// withStore opens the database for the time of f.
func withStore(cmd *cobra.Command, db string, f func(store.Store) error) (err error) {
	if db == "" {
		if db, err = hub.DefaultDB(); err != nil {
			return err
		}
	}
	if err := checkDB(db); err != nil {
		return err
	}
	st, err := databases().Open(cmd.Context(), db, hub.StoreOptions{})
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, st.Close()) }()
	return f(st)
}

func newTokenCreate() *cobra.Command {
	var db string
	var token store.NewToken
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "create --role agent|reader",
		Short: "Make a token and show it, this once",
		Long: `Makes a token. With --role agent it belongs to the agent that --agent names;
without --agent, to a new one with a random id. An agent can have several
tokens. Without --json, stdout has the token alone.`,
		Example: `  hub token create --role reader --name laptop
  hub token create --role agent --agent dev-1 --name "build machine" > agent.token
  hub token create --role agent --json`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case token.Role == "":
				return usage(cmd, "--role is missing: want agent or reader")
			case token.Role != store.RoleAgent && token.Role != store.RoleReader:
				return usage(cmd, "--role %q: want agent or reader", token.Role)
			case token.Role == store.RoleReader && cmd.Flags().Changed("agent"):
				return usage(cmd, "--agent goes with --role agent only: a reader sees all agents")
			case cmd.Flags().Changed("agent"):
				if err := store.CheckAgentID(token.AgentID); err != nil {
					return usage(cmd, "%w", err)
				}
			}
			return withStore(cmd, db, func(st store.Store) error {
				text, made, err := hub.CreateToken(cmd.Context(), st, token)
				if err != nil {
					return err
				}
				return showCreated(cmd, text, made, asJSON)
			})
		},
	}
	addDB(cmd, &db)
	cmd.Flags().StringVar((*string)(&token.Role), "role", "", "what the token opens: `agent` or reader")
	cmd.Flags().StringVar(&token.AgentID, "agent", "", "`id` of the agent (default a new UUID)")
	cmd.Flags().StringVar(&token.Name, "name", "", "`name` for people, of the token and its agent")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	complete(cmd, "role", string(store.RoleAgent), string(store.RoleReader))
	return cmd
}

func showCreated(cmd *cobra.Command, text string, made store.Token, asJSON bool) error {
	if asJSON {
		return printJSON(cmd.OutOrStdout(), struct {
			Token string `json:"token"`
			tokenJSON
		}{text, toJSON(&made)})
	}
	if made.Role == store.RoleAgent {
		fmt.Fprintf(cmd.ErrOrStderr(), "agent %s, token %s; the token is shown only now:\n", made.AgentID, made.ID)
	} else {
		fmt.Fprintf(cmd.ErrOrStderr(), "reader, token %s; the token is shown only now:\n", made.ID)
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), text)
	return err
}

func newTokenList() *cobra.Command {
	var db string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List all tokens, revoked ones too",
		Example: "  hub token list\n  hub token list --json",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd, db, func(st store.Store) error {
				tokens, err := st.Tokens(cmd.Context())
				if err != nil {
					return err
				}
				return showTokens(cmd.OutOrStdout(), tokens, asJSON)
			})
		},
	}
	addDB(cmd, &db)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func showTokens(w io.Writer, tokens []store.Token, asJSON bool) error {
	if asJSON {
		list := make([]tokenJSON, 0, len(tokens))
		for i := range tokens {
			list = append(list, toJSON(&tokens[i]))
		}
		return printJSON(w, list)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tROLE\tAGENT\tNAME\tFROM\tCREATED\tLAST USED\tSTATE")
	for i := range tokens {
		t := &tokens[i]
		from, state := "created", "valid"
		if t.Provisioned {
			from = "file"
		}
		if t.Revoked() {
			state = "revoked " + stamp(t.RevokedAt)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.Role, cmp.Or(t.AgentID, "-"), cmp.Or(t.Name, "-"),
			from, stamp(t.CreatedAt), stamp(t.LastUsedAt), state)
	}
	return table.Flush()
}

func newTokenRevoke() *cobra.Command {
	var db string
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Make a token invalid, for ever and at once",
		Long: `Revokes the token with this id (not its text: see hub token list). A running
hub refuses its next call. Exits with 3 when there is no such token.`,
		Example: "  hub token revoke 0f8e4f5c-7a39-4b53-a5c5-9d1d3c6f2f10",
		Args:    exactly("the token's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if store.CheckTokenText(store.RoleAgent, args[0]) == nil || store.CheckTokenText(store.RoleReader, args[0]) == nil {
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

// tokenJSON is a token in JSON; times that never were are null.
type tokenJSON struct {
	ID          string     `json:"id"`
	Role        store.Role `json:"role"`
	AgentID     string     `json:"agent_id"`
	Name        string     `json:"name"`
	Provisioned bool       `json:"provisioned"`
	CreatedAt   time.Time  `json:"created_at"`
	LastUsedAt  *time.Time `json:"last_used_at"`
	RevokedAt   *time.Time `json:"revoked_at"`
}

func toJSON(t *store.Token) tokenJSON {
	j := tokenJSON{
		ID: t.ID, Role: t.Role, AgentID: t.AgentID, Name: t.Name,
		Provisioned: t.Provisioned, CreatedAt: t.CreatedAt,
	}
	if !t.LastUsedAt.IsZero() {
		j.LastUsedAt = &t.LastUsedAt
	}
	if t.Revoked() {
		j.RevokedAt = &t.RevokedAt
	}
	return j
}

func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// stamp is a time for a table.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format("2006-01-02 15:04Z")
}
