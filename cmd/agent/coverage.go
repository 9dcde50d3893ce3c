package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"waymark/agent"
	"waymark/agentapi/client"
	"waymark/cmd/internal/term"
	"waymark/host"
	"waymark/host/config"
	"waymark/host/coverage"
	"waymark/snapshot"
)

// printCoverage ends a table with what lies where agents look and isn't used, if there is
// any.
func printCoverage(w io.Writer, report *coverage.Report) error {
	see := ": agent why --all"
	for _, g := range report.Groups {
		if _, err := fmt.Fprintf(w, "not used: %s%s\n", term.Visible(g.Text), see); err != nil {
			return err
		}
		see = ""
	}
	return nil
}

// printCovered lists what isn't used file by file.
func printCovered(w io.Writer, report *coverage.Report, base string) error {
	if len(report.Groups) == 0 {
		_, err := fmt.Fprintln(w, "all files of agents that lie here are used")
		return err
	}
	t := term.NewTable(w, "PATH", "REASON", "WHAT", "READ BY")
	for _, g := range report.Groups {
		for _, f := range g.Files {
			t.Row(term.Shorten(f.Path, base), string(g.Reason), term.Dash(term.Visible(f.As)), term.Visible(strings.Join(f.Readers, ", ")))
		}
	}
	err := t.Flush()
	if err == nil && report.Partial {
		_, err = fmt.Fprintln(w, "there may be more: not all was looked at")
	}
	return err
}

// withCoverage is a snapshot as JSON, with what isn't used behind the rest.
func withCoverage(s *snapshot.Snapshot, report *coverage.Report) (json.RawMessage, error) {
	whole, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	more, err := json.Marshal(report)
	if err != nil {
		return nil, err
	}
	return slices.Concat(bytes.TrimSuffix(whole, []byte("}")), []byte(`,"coverage":`), more, []byte("}")), nil
}

// whyAll lists the files that aren't used: as the running agent knows them, or as 'agent
// run' would.
func (a *app) whyAll(ctx context.Context, conn *connection, s *agent.Options, own bool, paths *config.Paths, asJSON bool) error {
	report, err := a.coverage(ctx, conn, s, own, paths)
	switch {
	case err != nil:
		return err
	case asJSON:
		return term.JSON(a.stdout, report)
	}
	return printCovered(a.stdout, report, here())
}

func (a *app) coverage(ctx context.Context, conn *connection, s *agent.Options, own bool, paths *config.Paths) (report *coverage.Report, err error) {
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
