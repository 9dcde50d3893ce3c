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

	"waymark/cmd/internal/cli"
	"waymark/hub/api"
	"waymark/hub/client"
	"waymark/hub/store"
	"waymark/internal/text"
	"waymark/snapshot"
)

func newAgents() *cobra.Command {
	var r reader
	var q client.AgentQuery
	var state string
	cmd := &cobra.Command{
		Use:   "agents [WORD…]",
		Short: "List the agents and what they pushed last",
		Long: `Lists the agents of a hub, or those in whose id, name, host, directory, version or labels
all of the words occur: whether they are connected, on which host and in which
version, their labels, and what they pushed last. VERSION is that of the snapshot. If
several agents have the same token, the hub accepts the newest one and counts the
others: "connected, 1 more not heard". Give each agent its own token.`,
		Example: `  hub agents
  hub agents build prod --state away
  hub agents --attention waiting_servers
  hub agents --label env=prod --sort last_push_at --desc --json
  hub agents --url https://hub.example.com --token-file reader.token`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if q.Text, q.State = strings.Join(args, " "), api.AgentState(state); q.Limit < 0 {
				return usage(cmd, "--limit %d: want a number from 1", q.Limit)
			}
			return r.with(cmd, func(ctx context.Context, c client.Client) error {
				agents, err := findAgents(ctx, c, q)
				if err != nil {
					return err
				}
				if !r.json && q.Sort == "" {
					slices.SortFunc(agents, func(a, b api.Agent) int { return text.Natural(a.ID, b.ID) })
				}
				return printAgents(cmd.OutOrStdout(), agents, r.json)
			})
		},
	}
	r.addJSON(cmd)
	f := cmd.Flags()
	f.StringVar(&q.Sort, "sort", "", "`field` to sort by, such as name, state or last_push_at (default id)")
	f.BoolVar(&q.Descending, "desc", false, "reverse the order")
	f.StringVar(&state, "state", "", "only agents in this `state`: connected, away or never_connected")
	f.StringArrayVar(&q.Labels, "label", nil, "only agents with this label, `NAME=VALUE`; can be repeated, all must match")
	f.StringVar(&q.Attention, "attention", "", "only agents that need attention for this `reason`, such as waiting_servers, or for any")
	f.IntVar(&q.Limit, "limit", 0, "`number` of agents to list (default all)")
	complete(cmd, "state", string(api.StateConnected), string(api.StateAway), string(api.StateNeverConnected))
	complete(cmd, "attention", attentions()...)
	complete(cmd, "sort", "id", "name", "state", "hostname", "last_push_at", "away_since", "attention", "failing_plugins", "drifted_pins", "resources", "root", "labels", "agent_version")
	cmd.AddCommand(newAgentsRemove(), newAgentsLabel(), newAgentsRename())
	return cmd
}

// attentions are the reasons of --attention.
func attentions() []string {
	words := []string{store.AttentionAny}
	for _, reason := range store.Attentions() {
		words = append(words, string(reason))
	}
	return words
}

// findAgents returns as many agents as the query limits them to, or all.
func findAgents(ctx context.Context, c client.Client, q client.AgentQuery) (list []api.Agent, err error) {
	limit := q.Limit
	for {
		q.Limit = agentsPage
		if limit > 0 {
			q.Limit = min(agentsPage, limit-len(list))
		}
		page, err := c.FindAgents(ctx, q)
		if err != nil {
			return nil, err
		}
		list, q.After = append(list, page.Agents...), page.Next
		if q.After == "" || limit > 0 && len(list) >= limit {
			return list, nil
		}
	}
}

// agentsPage is the length of a page of agents.
const agentsPage = 1000

func newAgentsRemove() *cobra.Command {
	var o operator
	cmd := &cobra.Command{
		Use:   "remove ID",
		Short: "Remove an agent, its tokens and its history",
		Long: `Removes an agent from the database: its tokens, its snapshot and its history. A running
hub ends its sessions. Its pins remain, and show that the agent is gone. If a file of
--tokens still names the agent, the hub creates it again at its next start, empty. Exits
with 3 if there is no such agent.`,
		Example: "  hub agents remove dev-1\n  hub agents remove dev-1 --db postgres://hub@db/waymark",
		Args:    cli.Named("the agent's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd, func(ctx context.Context, c client.Client) error {
				agent, err := agentOf(ctx, c, args[0])
				if err != nil {
					return err
				}
				if agent != args[0] {
					fmt.Fprintf(cmd.ErrOrStderr(), "agent %s\n", agent)
				}
				return c.RemoveAgent(ctx, agent)
			})
		},
	}
	o.add(cmd)
	return cmd
}

func newAgentsRename() *cobra.Command {
	var o operator
	cmd := &cobra.Command{
		Use:     "rename ID NAME",
		Short:   "Give an agent another name",
		Long:    `Gives an agent a name for people; "" takes it away. Its id stays. Exits with 3 if there is no such agent.`,
		Example: "  hub agents rename 0f8e4f5c payments\n  hub agents rename payments ''",
		Args:    cli.Named("the agent's ID", "its NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd, func(ctx context.Context, c client.Client) error {
				agent, err := agentOf(ctx, c, args[0])
				if err == nil {
					_, err = c.RenameAgent(ctx, agent, args[1])
				}
				return err
			})
		},
	}
	o.add(cmd)
	return cmd
}

func printAgents(w io.Writer, agents []api.Agent, asJSON bool) error {
	header := []string{"ID", "NAME", "STATE", "HOST", "AGENT", "LABELS", "RESOURCES", "DISCOVERY", "VERSION", "REVISION", "PUSHED"}
	return cli.List(w, asJSON, agents, "there are no agents; hub token create --role agent makes a token for one", header, func(a *api.Agent) []string {
		return []string{
			a.ID, cli.Dash(cli.Visible(a.Name)), connection(a), cli.Dash(cli.Visible(a.Hostname)), cli.Dash(cli.Visible(a.AgentVersion)),
			cli.Dash(store.Labels(a.Labels).String()), strconv.Itoa(a.Resources), discovery(a),
			strconv.FormatUint(a.Version, 10), strconv.FormatInt(a.Revision, 10), stampOf(a.UpdatedAt),
		}
	})
}

// discovery says whether the agent's discovery is incomplete.
func discovery(a *api.Agent) string {
	if a.Revision == 0 {
		return "-"
	}
	return cli.Visible(string(cmp.Or(a.Discovery.Phase, snapshot.PhaseComplete)))
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
