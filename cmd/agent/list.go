package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/agentapi/client"
	"waymark/agentapi/status"
	"waymark/cmd/internal/cli"
	"waymark/host/config"
)

// listed is an agent in the answer of list --json.
type listed struct {
	agent.Instance
	// State is that of the connection to the hub; empty where the agent doesn't
	// answer, or asks for a token.
	State   string `json:"state"`
	Version uint64 `json:"version"` // of its newest snapshot
	// Hub is the URL of the hub that your agents run themselves, HubHolder that
	// this one runs it.
	Hub       string `json:"hub"`
	HubHolder bool   `json:"hub_holder"`

	other bool // it is the agent of another workspace that answers
}

// listWithin is how long an agent may take to answer.
const listWithin = 2 * time.Second

func (a *app) listCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Show all your running agents",
		Long: `List shows this user's agents that run on this machine: the id of the workspace, the
current root directory, the process, the connection to the hub, and the version of the
newest snapshot. One that runs "on demand" was started for a coding agent, by 'agent mcp
serve --start', and ends when nobody needs it. Of agents that share a hub, one runs it. List doesn't ask an agent on
TCP, because that needs a token.

The exit code is 3 if no agent runs.`,
		Example: `  agent list
  agent list --json | jq -r '.[].listen'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.list(cmd.Context(), asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) list(ctx context.Context, asJSON bool) error {
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return err
	}
	running, err := agent.Instances(ctx, paths)
	if err != nil {
		return err
	}
	if len(running) == 0 {
		return errNoneRuns
	}
	all := a.askAll(ctx, running)
	if asJSON {
		return cli.JSON(a.stdout, all)
	}
	t := cli.NewTable(a.stdout, "ID", "ROOT", "PID", "STATE", "VERSION", "HUB")
	for i := range all {
		l := &all[i]
		hub := cli.Dash(cli.Visible(l.Hub))
		if l.HubHolder {
			hub += ", runs here"
		}
		t.Row(l.ID, cli.Dash(cli.Visible(l.Root)), strconv.Itoa(l.PID), stateOf(l), fmt.Sprint(l.Version), hub)
	}
	return t.Flush()
}

// stateOf is the state of an agent, and that it runs because a coding agent needs it.
func stateOf(l *listed) string {
	if l.OnDemand {
		return cli.Dash(l.State) + ", on demand"
	}
	return cli.Dash(l.State)
}

// askAll asks agents how they are doing, all at once.
func (a *app) askAll(ctx context.Context, running []*agent.Instance) []listed {
	ctx, cancel := context.WithTimeout(ctx, max(listWithin, a.Timeout))
	defer cancel()
	all := make([]listed, len(running))
	var asking sync.WaitGroup
	for i, one := range running {
		all[i].Instance = *one
		if one.Socket() == "" {
			continue // it asks for a token
		}
		asking.Go(func() {
			if s, err := client.New(one.Socket(), client.Options{}).Status(ctx); err == nil {
				all[i].fill(s)
			}
		})
	}
	asking.Wait()
	// One that was killed may have left its address to another.
	return slices.DeleteFunc(all, func(l listed) bool { return l.other })
}

func (l *listed) fill(s *status.Status) {
	l.other = s.Workspace != l.ID
	l.Version, l.Hub, l.HubHolder = s.Version, s.Hub, s.HubHolder
	switch {
	case s.Held:
		l.State = "waiting"
	case s.Push != nil:
		l.State = string(s.Push.State)
	}
}
