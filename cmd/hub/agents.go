package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/term"
	"waymark/hub/api"
	"waymark/hub/client"
	"waymark/hub/store"
	"waymark/internal/text"
	"waymark/snapshot"
)

func newAgents() *cobra.Command {
	var r reader
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "List the agents and what they pushed last",
		Long: `Lists all agents of a hub: whether they are connected, on which host and in which
version, their labels, and what they pushed last. VERSION is that of the snapshot. If
several agents have the same token, the hub accepts the newest one and counts the
others: "connected, 1 more not heard". Give each agent its own token.`,
		Example: "  hub agents\n  hub agents --json\n  hub agents --url https://hub.example.com --token-file reader.token",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.with(cmd, func(ctx context.Context, c client.Client) error {
				agents, err := c.Agents(ctx)
				if err != nil {
					return err
				}
				return printAgents(cmd.OutOrStdout(), agents, r.json)
			})
		},
	}
	r.addJSON(cmd)
	cmd.AddCommand(newAgentsRemove(), newAgentsLabel())
	return cmd
}

func newAgentsRemove() *cobra.Command {
	return onStore(&cobra.Command{
		Use:   "remove ID",
		Short: "Remove an agent, its tokens and its history",
		Long: `Removes an agent from the database: its tokens, its snapshot and its history. A running
hub ends its sessions. Its pins remain, and show that the agent is gone. If a file of
--tokens still names the agent, the hub creates it again at its next start, empty. Exits
with 3 if there is no such agent.`,
		Example: "  hub agents remove dev-1\n  hub agents remove dev-1 --db postgres://hub@db/waymark",
		Args:    cli.Named("the agent's ID"),
	}, func(cmd *cobra.Command, args []string, st store.Store) error {
		return st.RemoveAgent(cmd.Context(), args[0])
	})
}

func printAgents(w io.Writer, agents []api.Agent, asJSON bool) error {
	if !asJSON {
		agents = slices.SortedFunc(slices.Values(agents), func(a, b api.Agent) int { return text.Natural(a.ID, b.ID) })
	}
	header := []string{"ID", "NAME", "STATE", "HOST", "AGENT", "LABELS", "RESOURCES", "DISCOVERY", "VERSION", "REVISION", "PUSHED"}
	return term.List(w, asJSON, agents, "there are no agents; hub token create --role agent makes a token for one", header, func(a *api.Agent) []string {
		return []string{
			a.ID, term.Dash(term.Visible(a.Name)), connection(a), term.Dash(term.Visible(a.Hostname)), term.Dash(term.Visible(a.AgentVersion)),
			term.Dash(store.Labels(a.Labels).String()), strconv.Itoa(a.Resources), discovery(a),
			strconv.FormatUint(a.Version, 10), strconv.FormatInt(a.Revision, 10), stampOf(a.UpdatedAt),
		}
	})
}

// discovery says whether the agent's discovery is incomplete.
func discovery(a *api.Agent) string {
	if a.Revision == 0 {
		return "-"
	}
	return term.Visible(string(cmp.Or(a.Discovery.Phase, snapshot.PhaseComplete)))
}

// connection says whether the agent is connected, or since when it is away, and whether
// others with its token are connected.
func connection(a *api.Agent) string {
	switch {
	case a.State == api.StateNeverConnected:
		return "never connected"
	case !a.Connected && a.AwaySince != nil:
		return "away since " + stamp(*a.AwaySince)
	case !a.Connected:
		return "away"
	case a.NotHeard > 0:
		return fmt.Sprintf("connected, %d more not heard", a.NotHeard)
	}
	return "connected"
}

// stampOf is stamp for an optional time.
func stampOf(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return stamp(*t)
}
