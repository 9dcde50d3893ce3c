package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"waymark/cmd/internal/cli"
	"waymark/host/config"
	"waymark/host/watch"
	"waymark/workspace/access"
)

func (a *app) auditCommand() *cobra.Command {
	var conn connection
	var asJSON, follow bool
	var last int
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show what was done through the agent, and with which token",
		Long: `Audit prints the workspace's audit log: each call that acted or was refused, with its
time, the token's id, the chat that it was made for, its target and the HTTP status. The
log has no contents; --json adds a SHA-256 of the request.

Audit reads the files in the workspace's state directory, whether the agent runs or not.
The log has a maximum size ([services] audit). The oldest lines of the token with the
most lines are dropped first, and no token but the control token has more than a
quarter. Repeated refusals are counted. The exit code is 3 if there is no log.`,
		Example: `  agent audit
  agent audit -f
  agent audit --json | jq -r 'select(.code >= 400)'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if last < 0 {
				return cli.Usage("--last %d: name a number of lines", last)
			}
			state, err := conn.state()
			if err != nil {
				return err
			}
			return a.audit(cmd.Context(), state, last, follow, asJSON)
		},
	}
	conn.addFlags(cmd)
	f := cmd.Flags()
	f.BoolVarP(&follow, "follow", "f", false, "follow new lines until interrupted")
	f.IntVarP(&last, "last", "n", 0, "print only the last `number` of lines; 0 prints all")
	f.BoolVar(&asJSON, "json", false, "print JSON, one object on each line")
	return cmd
}

// state returns the state directory of the selected agent. If none runs and none is named,
// it is that of the working directory.
func (c *connection) state() (string, error) {
	t, err := c.find(anybody)
	switch {
	case err == nil && t.instance != nil:
		return t.instance.State.Path(), nil
	case err == nil && !c.unnamed():
		return "", &cli.Error{Code: cli.CodeNo, Err: fmt.Errorf("no workspace of yours is served at %s", cli.Visible(c.listen))}
	case cli.Code(err) == cli.CodeUsage:
		return "", err
	}
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return "", err
	}
	here, err := paths.Workspace(".")
	if err != nil {
		return "", err
	}
	return here.State.Path(), nil
}

// audit prints the log in a state directory.
func (a *app) audit(ctx context.Context, state string, last int, follow, asJSON bool) error {
	list, end, err := access.ReadLog(state)
	if err != nil {
		return err
	}
	if len(list) == 0 && !follow {
		return &cli.Error{Code: cli.CodeNo, Err: fmt.Errorf("nothing was done in this workspace through an agent: there is no audit log in %s", state)}
	}
	if last > 0 {
		list = list[max(0, len(list)-last):]
	}
	if err := printRecords(a.stdout, list, asJSON); err != nil || !follow {
		return err
	}
	return a.followAudit(ctx, state, end, asJSON)
}

// followAudit prints new records until ctx ends.
func (a *app) followAudit(ctx context.Context, state string, end access.LogPosition, asJSON bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := watch.New(watch.Options{})
	w.Set("audit", []watch.Dir{{Path: state, Names: access.AuditFiles()}})
	var g errgroup.Group
	g.Go(func() error { return w.Run(ctx) })
	g.Go(func() error {
		defer cancel()
		for {
			var list []access.Record
			var err error
			if list, end, err = access.ReadLogFrom(state, end); err != nil {
				return err
			}
			if err := printRecords(a.stdout, list, asJSON); err != nil {
				return err
			}
			if _, err := w.Wait(ctx); err != nil {
				return nil // interrupted, which is the normal end
			}
		}
	})
	err := g.Wait()
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	return err
}

func printRecords(w io.Writer, list []access.Record, asJSON bool) error {
	var out strings.Builder
	for i := range list {
		r := &list[i]
		if asJSON {
			line, err := json.Marshal(r)
			if err != nil {
				return err
			}
			out.Write(append(line, '\n'))
			continue
		}
		line := fmt.Sprintf("%s  %d  %-10s  %s", r.Time.Local().Format(time.DateTime), r.Code, r.Token, r.Action)
		if len(r.On) > 0 {
			line += "  " + strings.Join(r.On, " ")
		}
		if r.Chat != "" {
			line += "  chat " + r.Chat
		}
		if r.Repeated > 0 {
			line += fmt.Sprintf("  (and %s more of the token in that minute)", cli.Count(r.Repeated, "refusal"))
		}
		out.WriteString(cli.Visible(line) + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}
