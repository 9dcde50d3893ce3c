package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"waymark/agent"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
	"waymark/host"
	"waymark/host/config"
	"waymark/host/why"
)

// printCovered lists what isn't used file by file.
func printCovered(w io.Writer, report *why.Coverage, base string) error {
	if len(report.Groups) == 0 {
		_, err := fmt.Fprintln(w, "all files of agents that lie here are used")
		return err
	}
	t := cli.NewTable(w, "PATH", "REASON", "WHAT", "READ BY")
	for _, g := range report.Groups {
		for _, f := range g.Files {
			t.Row(cli.Shorten(f.Path, base), string(g.Reason), cli.Dash(cli.Visible(f.As)), cli.Visible(strings.Join(f.Readers, ", ")))
		}
	}
	err := t.Flush()
	if err == nil && report.Partial {
		_, err = fmt.Fprintln(w, "there may be more: not all was looked at")
	}
	return err
}

// whyAll lists the files that aren't used: as the running agent knows them, or as 'agent
// run' would.
func (a *app) whyAll(ctx context.Context, conn *connection, s *agent.Options, own bool, paths *config.Paths, asJSON bool) error {
	report, err := a.coverage(ctx, conn, s, own, paths)
	switch {
	case err != nil:
		return err
	case asJSON:
		return cli.JSON(a.stdout, report)
	}
	return printCovered(a.stdout, report, here())
}

func (a *app) coverage(ctx context.Context, conn *connection, s *agent.Options, own bool, paths *config.Paths) (report *why.Coverage, err error) {
	if !own {
		c, err := conn.reader()
		if err == nil {
			report, err = c.Coverage(ctx)
		}
		if !errors.Is(err, client.ErrNotRunning) || !conn.unnamed() {
			return report, err
		}
		a.progress("no agent is running: looking as 'agent run' would")
	}
	err = a.lookOnce(ctx, s, paths, func(h *host.Host) (err error) {
		report, err = h.Coverage(ctx)
		return err
	})
	return report, err
}
