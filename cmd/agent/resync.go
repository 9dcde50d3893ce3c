package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
)

// resynced is the output of resync --json.
type resynced struct {
	Before  uint64   `json:"before"` // the version before the resync
	Version uint64   `json:"version"`
	Changes []change `json:"changes"`
}

func (a *app) resyncCommand() *cobra.Command {
	var conn connection
	var asJSON bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "resync",
		Short: "Have the running agent check everything again now",
		Long: `Resync returns when the agent's snapshot has every change that was made to files before
the call, and prints the resulting changes. The agent notices changes by itself. Resync
is for scripts that have just made a change, and for file systems without events.

The exit code is 3 if no agent runs.`,
		Example: `  git pull && agent resync
  agent resync --json | jq .version`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if timeout <= 0 {
				return cli.Usage("--timeout %s: use a duration above 0, like 30s", timeout)
			}
			c, err := conn.client()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), timeout, fmt.Errorf("it hasn't finished within %s, as --timeout says", timeout))
			defer cancel()
			return causeOf(ctx, a.resync(ctx, c, asJSON))
		},
	}
	conn.addFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "`time` to wait, such as 30s")
	return cmd
}

func (a *app) resync(ctx context.Context, c client.Client, asJSON bool) error {
	prev, err := c.Snapshot(ctx, client.SnapshotOptions{})
	if err != nil {
		return err
	}
	next, err := c.Resync(ctx)
	if err != nil {
		return err
	}
	list := changes(prev, next, time.Now())
	if asJSON {
		return cli.JSON(a.stdout, resynced{prev.Version, next.Version, append([]change{}, list...)})
	}
	what := "nothing has changed"
	if prev.Version != next.Version {
		what = fmt.Sprintf("was %d", prev.Version)
	}
	if _, err := fmt.Fprintf(a.stdout, "version %d, %s, hash %s: %s\n",
		next.Version, cli.Count(len(next.Resources), "resource"), cli.Short(next.AggregateHash.String()), what); err != nil {
		return err
	}
	out := changePrinter{w: a.stdout, base: baseOf(ctx, c)}
	return out.put(list...)
}
