package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/agentapi/client"
)

// stopWithin is how long an agent may take to exit after it said that it ends: longer than
// package stop allows before it forces the end.
const stopWithin = 10 * time.Second

func (a *app) stopCommand() *cobra.Command {
	var conn connection
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "End the running agent and every process that it holds",
		Long: `Stop ends the agent of this directory and all processes that were started through it,
including detached ones. It returns when all have ended.

A signal ends only the agent: its processes continue, and the next agent of the
workspace takes them over. To restart an agent, use a signal.

The exit code is 3 if no agent runs.`,
		Example: `  agent stop`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := conn.find(nobody)
			if err != nil {
				return err
			}
			c := t.client(t.token)
			if err := c.Stop(cmd.Context()); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), max(stopWithin, a.Timeout))
			defer cancel()
			if err := t.gone(ctx, c); err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.stdout, "the agent has ended, and what it held")
			return err
		},
	}
	conn.addFlags(cmd)
	return cmd
}

// gone returns when the agent has released its workspace or, if that can't be determined,
// no longer serves.
func (t *target) gone(ctx context.Context, c client.Client) error {
	for {
		if ended, err := t.ended(ctx, c); ended || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.New("the agent has ended what it held, and doesn't come to its own end: see its log")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (t *target) ended(ctx context.Context, c client.Client) (bool, error) {
	if t.instance == nil {
		return errors.Is(c.Health(ctx), client.ErrNotRunning), nil
	}
	// An agent holds the lock until its very end. One that starts meanwhile waits for it.
	lock := flock.New(t.instance.State.In("lock").Path(), flock.SetPermissions(0o600))
	got, err := lock.TryLock()
	if err != nil {
		return false, fmt.Errorf("%s: %w", lock.Path(), err)
	}
	if !got {
		now, err := agent.ReadInstance(t.instance.State)
		return err == nil && now.PID != t.instance.PID, nil // the next one has started already
	}
	return true, lock.Close()
}
