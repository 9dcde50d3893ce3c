package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"waymark/host/api"
	"waymark/host/config"
	"waymark/host/push"
)

func (a *app) statusCommand() *cobra.Command {
	var asJSON bool
	var listen string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Ask the running agent how it is doing",
		Long: `Status asks the agent that serves the local socket. The exit code is 3 when none
is running.`,
		Example: `  agent status
  agent status --json | jq -r .push.state`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			places, err := config.FindPlaces(config.Environment{})
			if err != nil {
				return err
			}
			socket, err := socketPath(listen, places)
			if err != nil {
				return err
			}
			return a.status(cmd.Context(), api.NewClient(socket), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&listen, "listen", "", "where the agent listens, if not in the usual place: unix:PATH")
	return cmd
}

func (a *app) status(ctx context.Context, client *api.Client, asJSON bool) error {
	s, err := client.Status(ctx)
	if errors.Is(err, api.ErrNotRunning) {
		return &codeError{exitNo, err}
	}
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(a.stdout, s)
	}
	return printStatus(a.stdout, s)
}

func printStatus(w io.Writer, s *api.Status) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	row("pid", "%d", s.PID)
	row("up", "%s", (time.Duration(s.UptimeSeconds * float64(time.Second))).Round(time.Second))
	row("roots", "%s", dash(visible(strings.Join(s.Roots, ", "))))
	row("snapshot", "version %d, %s", s.Version, count(s.Resources, "resource"))
	row("watch", "%s", s.Watch)
	if s.Hub != "" {
		row("hub", "%s", s.Hub)
	}
	if s.Push != nil {
		printPush(row, s.Push)
	}
	for _, p := range s.Plugins {
		line := string(p.State) + ", " + p.Path
		if p.Error != "" {
			line += ": " + p.Error
		}
		row("plugin "+dash(p.Name), "%s", visible(line))
	}
	return t.Flush()
}

func printPush(row func(name, format string, args ...any), p *push.Status) {
	row("peer", "%s", p.Peer)
	row("state", "%s", p.State)
	if last := p.LastAccepted; last != nil {
		row("accepted", "version %d at %s, hash %s", last.Version, last.At.Format(time.RFC3339), short(last.Hash.String()))
	} else {
		row("accepted", "nothing yet")
	}
	if p.LastError != "" {
		row("last error", "%s", visible(p.LastError))
	}
	if p.HeldBack.Count > 0 {
		var reasons []string
		for r, n := range p.HeldBack.Reasons {
			reasons = append(reasons, fmt.Sprintf("%d %s", n, r))
		}
		row("held back", "%s: %s", count(p.HeldBack.Count, "resource"), strings.Join(reasons, ", "))
	}
}

// socketPath finds the agent's socket: a --listen flag, else the usual place.
func socketPath(listen string, places *config.Places) (string, error) {
	if listen == "" {
		return places.Socket, nil
	}
	scheme, rest, _ := strings.Cut(listen, ":")
	switch {
	case scheme == "unix" && strings.TrimPrefix(rest, "//") != "":
		return strings.TrimPrefix(rest, "//"), nil
	case scheme == "tcp":
		return "", usage("--listen %q: the local API listens on Unix sockets only in this build; use unix:PATH", listen)
	}
	return "", usage("--listen %q: use unix:PATH", listen)
}
