package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
	"waymark/snapshot"
)

func (a *app) snapshotCommand() *cobra.Command {
	var conn connection
	var asJSON, watch bool
	var payload string
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Show what the running agent has found, and how it changes",
		Long: `Snapshot prints the newest snapshot of the running agent. With --watch it continues to
print every change, one on each line, until interrupted, also over restarts of the
agent. With --json these lines are JSON objects.

While the agent asks MCP servers for their tools or loads modules, the discovery is
pending and the snapshot incomplete. --wait waits at most that long until it is
complete; the exit code is 3 if it is still pending.

--payload prints instead the text of one resource, as a hub receives it, by its id or by
the path of its file or directory.

The exit code is 3 if no agent runs, or there is no such payload.`,
		Example: `  agent snapshot
  agent snapshot --wait 30s
  agent snapshot --watch
  agent snapshot --watch --json | jq 'select(.event == "changed").resource'
  agent snapshot --payload AGENTS.md
  agent snapshot --payload skill:/home/me/project/.agents/skills/foo`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case payload != "" && (watch || asJSON):
				return cli.Usage("--payload prints a text as it is: leave --watch and --json out")
			case wait < 0:
				return cli.Usage("--wait %s: a time to wait is above 0, such as 30s", wait)
			case wait > 0 && (watch || payload != ""):
				return cli.Usage("--wait goes without --watch and --payload")
			}
			c, err := conn.reader()
			if err != nil {
				return err
			}
			switch {
			case payload != "":
				return a.payload(cmd.Context(), c, payload)
			case watch:
				return a.watch(cmd.Context(), c, asJSON)
			}
			return a.snapshot(cmd.Context(), c, wait, asJSON)
		},
	}
	conn.addFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&watch, "watch", false, "continue to print changes")
	cmd.Flags().DurationVar(&wait, "wait", 0, "`time` to wait until the discovery is complete, such as 30s")
	cmd.Flags().StringVar(&payload, "payload", "", "print the text of the resource with this `path` or id instead")
	return cmd
}

func (a *app) snapshot(ctx context.Context, c client.Client, wait time.Duration, asJSON bool) error {
	s, err := awaitComplete(ctx, c, wait)
	if err != nil {
		return err
	}
	if asJSON {
		err = cli.JSON(a.stdout, s)
	} else {
		err = a.printNewest(s, baseOf(ctx, c))
	}
	if err == nil && wait > 0 && s.Discovery.Pending() {
		return &cli.Error{Code: cli.CodeNo, Err: fmt.Errorf("the discovery is still pending after %s: more may come", wait)}
	}
	return err
}

// awaitComplete waits until discovery is complete, up to a limit, and returns the snapshot.
func awaitComplete(ctx context.Context, c client.Client, wait time.Duration) (*snapshot.Snapshot, error) {
	// An agent waits for some minutes at most.
	for end := time.Now().Add(wait); ; {
		left := max(time.Until(end), 0)
		s, err := c.Snapshot(ctx, client.SnapshotOptions{Wait: left, Complete: true})
		if err != nil || left == 0 || !s.Discovery.Pending() {
			return s, err
		}
	}
}

// printNewest prints the agent's newest snapshot as a table.
func (a *app) printNewest(s *snapshot.Snapshot, base string) error {
	if s.Version == 0 {
		_, err := fmt.Fprintln(a.stdout, "no snapshot yet: the agent is starting, or waits until it is told to be ready")
		return err
	}
	return printSnapshot(a.stdout, s, base)
}

// payload prints the text of the resource with an id or a path.
func (a *app) payload(ctx context.Context, c client.Client, name string) error {
	id, err := resourceNamed(ctx, c, name)
	if err != nil {
		return err
	}
	body, err := c.Resource(ctx, id)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(body)
	return err
}

// resourceNamed returns the id of the resource that a name means: an id, or a path relative
// to the working directory.
func resourceNamed(ctx context.Context, c client.Client, name string) (string, error) {
	kind, source, _ := strings.Cut(name, ":")
	if filepath.IsAbs(source) && kind != "" && !strings.Contains(kind, "/") {
		return name, nil // the agent knows whether there is one
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	answers, err := c.Why(ctx, path)
	if err != nil {
		return "", err
	}
	if len(answers) != 1 || !answers[0].Found {
		text := fmt.Sprintf("%s is not in the context", cli.Visible(name))
		for _, a := range answers {
			text += fmt.Sprintf(": %s: %s", a.Reason, cli.Visible(a.Detail))
		}
		return "", &cli.Error{Code: cli.CodeNo, Err: errors.New(text)}
	}
	s, err := c.Snapshot(ctx, client.SnapshotOptions{})
	if err != nil {
		return "", err
	}
	var ids []string
	if r := s.Find(answers[0].ResourceID); r != nil {
		for i := range s.Resources {
			if s.Resources[i].Source == r.Source {
				ids = append(ids, s.Resources[i].ID())
			}
		}
	}
	if len(ids) > 1 {
		return "", cli.Usage("%d resources come from %s: name one of %s", len(ids), cli.Visible(name), cli.Visible(strings.Join(ids, ", ")))
	}
	return answers[0].ResourceID, nil
}

// watch prints the newest snapshot and then changes, until ctx ends.
func (a *app) watch(ctx context.Context, c client.Client, asJSON bool) error {
	w := watching{app: a, out: changePrinter{w: a.stdout, asJSON: asJSON, base: baseOf(ctx, c)}}
	for s, err := range c.Watch(ctx, 0) {
		w.failed = err
		if err != nil {
			s = nil
		}
		if err := w.step(s); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil // interrupted, which is the normal end
	}
	return w.failed
}

// watching is the state of 'agent snapshot --watch': what it has printed so far.
type watching struct {
	app    *app
	out    changePrinter
	last   *snapshot.Snapshot // nil before the first
	failed error              // why the agent doesn't answer; nil if it does
	lost   bool
}

// step prints what a new snapshot changes. nil means that the agent is lost.
func (w *watching) step(s *snapshot.Snapshot) error {
	now := time.Now()
	switch {
	case s == nil && w.last == nil:
		return nil // perhaps it never ran: the end of the watch reports why
	case s == nil:
		w.lost = true
		return w.out.put(change{Time: now, Event: eventLost, Version: w.last.Version, Detail: w.failed.Error()})
	case w.last == nil:
		w.last = s
		return w.first(s, now)
	}
	var list []change
	if w.lost {
		list = append(list, change{Time: now, Event: eventBack, Version: s.Version})
	}
	list = append(list, changes(w.last, s, now)...)
	w.last, w.lost = s, false
	return w.out.put(list...)
}

func (w *watching) first(s *snapshot.Snapshot, now time.Time) error {
	if w.out.asJSON {
		return w.out.put(change{Time: now, Event: eventSnapshot, Version: s.Version, Snapshot: s})
	}
	if err := w.app.printNewest(s, w.out.base); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w.out.w, "watching for changes, until interrupted")
	return err
}
