package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/hub/api"
	"waymark/hub/client"
)

func newPins() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pins",
		Short: "Pin snapshots, and show what has changed since",
		Long: `A pin keeps an agent's snapshot as it is, whatever the agent pushes. When the agent's
snapshot changes, the pin drifts, and the hub reports this once. Refreshing the pin
takes the agent's current snapshot. Only the state of MCP servers is always current.
Chats create pins themselves; these commands show them, and create some by hand.`,
		Example: `  hub pins create dev-1 --name "review of the parser"
  hub pins list
  hub diff 0f8e4f5c-7a39-4b53-a5c5-9d1d3c6f2f10
  hub pins refresh 0f8e4f5c-7a39-4b53-a5c5-9d1d3c6f2f10`,
	}
	cli.Group(cmd)
	cmd.AddCommand(newPinsList(), newPinsCreate(), newPinsShow(), newPinsRefresh(), newPinsDelete())
	return cmd
}

func newPinsList() *cobra.Command {
	var r reader
	cmd := &cobra.Command{
		Use:     "list [AGENT]",
		Short:   "List the pins of one agent or of all",
		Example: "  hub pins list\n  hub pins list dev-1 --json",
		Args:    cli.Named("[AGENT]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.with(cmd, func(ctx context.Context, c client.Client) error {
				agent := ""
				if len(args) > 0 {
					agent = args[0] // which may be gone
					if id, err := agentOf(ctx, c, args[0]); err == nil {
						agent = id
					}
				}
				pins, err := c.Pins(ctx, agent)
				if err != nil {
					return err
				}
				return printPins(cmd.OutOrStdout(), pins, r.json)
			})
		},
		ValidArgsFunction: r.offer(agentIDs),
	}
	r.addJSON(cmd)
	return cmd
}

// pinState is the state of a pin in a word or two.
func pinState(p *api.Pin) string {
	switch {
	case p.AgentGone:
		return "agent gone"
	case p.DriftedAt != nil:
		return "drifted " + stamp(*p.DriftedAt)
	case p.Revision == 0:
		return "empty"
	}
	return "in step"
}

func printPins(w io.Writer, pins []api.Pin, asJSON bool) error {
	header := []string{"ID", "AGENT", "NAME", "REVISION", "PINNED", "STATE"}
	return cli.List(w, asJSON, pins, "there are no pins; hub pins create makes one", header, func(p *api.Pin) []string {
		return []string{p.ID, p.AgentID, cli.Dash(cli.Visible(p.Name)), strconv.FormatInt(p.Revision, 10), stampOf(p.PinnedAt), pinState(p)}
	})
}

func newPinsCreate() *cobra.Command {
	var r reader
	var name string
	cmd := &cobra.Command{
		Use:   "create AGENT",
		Short: "Pin an agent's current snapshot",
		Long: `Pins an agent's current snapshot. The pin of an agent that has not pushed yet is empty,
and takes the first snapshot. Without --json, stdout has only the pin's id.`,
		Example: "  hub pins create dev-1 --name \"review of the parser\"\n  pin=$(hub pins create dev-1)",
		Args:    cli.Named("AGENT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.with(cmd, func(ctx context.Context, c client.Client) error {
				agent, err := agentOf(ctx, c, args[0])
				if err != nil {
					return err
				}
				pin, err := c.CreatePin(ctx, agent, name)
				if err != nil {
					return err
				}
				if r.json {
					return cli.JSON(cmd.OutOrStdout(), pin)
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), pin.ID)
				return err
			})
		},
		ValidArgsFunction: r.offer(agentIDs),
	}
	r.addJSON(cmd)
	cmd.Flags().StringVar(&name, "name", "", "`name` for people")
	return cmd
}

// newPinsOne makes a command for one pin.
func newPinsOne(cmd *cobra.Command, do func(context.Context, client.Client, string) (*api.Pin, error)) *cobra.Command {
	var r reader
	cmd.Args = cli.Named("the pin's ID")
	cmd.ValidArgsFunction = r.offer(pinIDs)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return r.with(cmd, func(ctx context.Context, c client.Client) error {
			pin, err := do(ctx, c, args[0])
			if err != nil || pin == nil {
				return err
			}
			if r.json {
				return cli.JSON(cmd.OutOrStdout(), pin)
			}
			return printPins(cmd.OutOrStdout(), []api.Pin{*pin}, false)
		})
	}
	r.addJSON(cmd)
	return cmd
}

func newPinsShow() *cobra.Command {
	return newPinsOne(&cobra.Command{
		Use: "show ID", Short: "Show one pin",
		Long: `Shows one pin. 'hub context --pin ID' shows its contents, 'hub diff ID' what has changed
since.`,
		Example: "  hub pins show 0f8e4f5c-7a39-4b53-a5c5-9d1d3c6f2f10 --json",
	}, func(ctx context.Context, c client.Client, id string) (*api.Pin, error) { return c.Pin(ctx, id) })
}

func newPinsRefresh() *cobra.Command {
	return newPinsOne(&cobra.Command{
		Use: "refresh ID", Short: "Refresh a pin with the agent's current snapshot",
		Long:    "Replaces a pin's contents by the agent's current snapshot, and clears the drift.",
		Example: "  hub pins refresh 0f8e4f5c-7a39-4b53-a5c5-9d1d3c6f2f10",
	}, func(ctx context.Context, c client.Client, id string) (*api.Pin, error) {
		return c.RefreshPin(ctx, id)
	})
}

func newPinsDelete() *cobra.Command {
	var r reader
	cmd := &cobra.Command{
		Use: "delete ID", Short: "Delete a pin",
		Long:    "Deletes a pin permanently. Exits with 3 if there is no such pin.",
		Example: "  hub pins delete 0f8e4f5c-7a39-4b53-a5c5-9d1d3c6f2f10",
		Args:    cli.Named("the pin's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.with(cmd, func(ctx context.Context, c client.Client) error { return c.DeletePin(ctx, args[0]) })
		},
		ValidArgsFunction: r.offer(pinIDs),
	}
	r.add(cmd)
	return cmd
}
