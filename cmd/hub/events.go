package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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
)

// eventsFlags are the flags of hub events.
type eventsFlags struct {
	reader
	follow     bool
	after      string
	agent, pin string
	since      string
}

func newEvents() *cobra.Command {
	var f eventsFlags
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Show events: pushes, drift of pins, agents that come and go",
		Long: `Shows the events of a hub, one on each line. With --follow it continues until stopped,
also over restarts of the hub, without missing or repeating a revision. It begins with
the next event (and the agents that moved in the last minute), or after --after. Without
--follow it shows the events after --after (by default all that the hub keeps: those of a
day), up to the newest, and ends.

A line begins with the position for --after. If there are many, it shows the newest of each
agent and pin. --since shows every push since then that is kept, and what the push has
added, changed and removed. With --json each line is an object: {"type","cursor",…}.`,
		Example: `  hub events --follow
  hub events --since 24h
  hub events --follow --after 5f0c2a91b3d4.0.17 --agent dev-1 --json
  hub events`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.since != "" && (f.follow || f.pin != "" || cmd.Flags().Changed("after")) {
				return usage(cmd, "--since goes without --follow, --after and --pin")
			}
			if f.follow && !cmd.Flags().Changed("after") {
				f.after = client.Now
			}
			return f.with(cmd, func(ctx context.Context, c client.Client) error {
				if f.since != "" {
					return f.history(ctx, cmd, c)
				}
				return f.run(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr(), c)
			})
		},
	}
	f.addJSON(cmd)
	flags := cmd.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, "continue until stopped")
	flags.StringVar(&f.after, "after", "", "`position` after which to begin")
	flags.StringVar(&f.since, "since", "", "`time` ago, such as 90m or 7d, or a date, since which to show all pushes")
	flags.StringVar(&f.agent, "agent", "", "show only events of the agent with this `id`")
	flags.StringVar(&f.pin, "pin", "", "show only events of the pin with this `id`")
	for name, ids := range map[string]func(context.Context, client.Client) ([]string, error){"agent": agentIDs, "pin": pinIDs} {
		_ = cmd.RegisterFlagCompletionFunc(name, func(cmd *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return f.offer(ids)(cmd, nil, text)
		})
	}
	return cmd
}

func (f *eventsFlags) run(ctx context.Context, stdout, stderr io.Writer, c client.Client) error {
	var lost error
	for e, err := range c.Events(ctx, client.EventOptions{After: f.after, AgentID: f.agent, PinID: f.pin, Once: !f.follow}) {
		if lost = err; err != nil {
			if !f.follow {
				return err
			}
			// The last one, if no more follows, is the command's own error.
			fmt.Fprintf(stderr, "hub: %v\n", err)
			continue
		}
		if f.follow || e.Type != api.EventAgent {
			if err := f.print(stdout, &e); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return nil // asked to stop
	}
	return lost
}

// history prints all pushes since a time, of the agents that pushed since then.
func (f *eventsFlags) history(ctx context.Context, cmd *cobra.Command, c client.Client) error {
	since, err := ago(f.since, time.Now())
	if err != nil {
		return usage(cmd, "--since %q: %w", f.since, err)
	}
	var list []client.Event
	query := client.AgentQuery{Limit: 500, Sort: "last_push_at", Descending: true}
	for more := true; more; {
		page, err := c.FindAgents(ctx, query)
		if err != nil {
			return err
		}
		for i := range page.Agents {
			a := &page.Agents[i]
			if a.LastPushAt == nil || a.LastPushAt.Before(since) {
				page.Next = "" // nor has any later page
				break
			}
			if f.agent != "" && f.agent != a.ID {
				continue
			}
			history, err := c.History(ctx, a.ID, 0)
			if errors.Is(err, client.ErrNotFound) {
				continue // removed meanwhile
			}
			if err != nil {
				return err
			}
			for _, ch := range history {
				if !ch.At.Before(since) {
					list = append(list, client.Event{Type: api.EventContext, Context: &api.ContextEvent{
						AgentID: a.ID, Revision: ch.Revision, Version: ch.Version, AggregateHash: ch.AggregateHash, Discovery: ch.Discovery, Changed: []string{},
						More: ch.Added + ch.Changed + ch.Removed, At: ch.At, Counts: api.Counts{Added: ch.Added, Changed: ch.Changed, Removed: ch.Removed}, FailingPlugins: ch.FailingPlugins,
					}})
				}
			}
		}
		query.After, more = page.Next, page.Next != ""
	}
	slices.SortFunc(list, func(a, b client.Event) int { return a.Context.At.Compare(b.Context.At) })
	for i := range list {
		if err := f.print(cmd.OutOrStdout(), &list[i]); err != nil {
			return err
		}
	}
	return nil
}

// ago parses a time before now, or a date.
func ago(text string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.Add(-time.Duration(n) * 24 * time.Hour), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, errors.New("want a duration such as 90m or 7d, or a date such as 2027-01-31 or 2027-01-31T12:00:00Z")
}

// eventJSON is an event on one line.
type eventJSON struct {
	Type    string            `json:"type"`
	Cursor  string            `json:"cursor,omitempty"`
	Context *api.ContextEvent `json:"context,omitempty"`
	Pin     *api.Pin          `json:"pin,omitempty"`
	Agent   *api.Agent        `json:"agent,omitempty"`
	Reset   *api.ResetEvent   `json:"reset,omitempty"`
}

func (f *eventsFlags) print(w io.Writer, e *client.Event) error {
	if f.json {
		return json.NewEncoder(w).Encode(eventJSON{e.Type, e.Cursor, e.Context, e.Pin, e.Agent, e.Reset})
	}
	at := "-"
	switch {
	case e.Context != nil && !e.Context.At.IsZero(): // older hubs don't send it
		at = stamp(e.Context.At)
	case e.Pin != nil && e.Pin.DriftedAt != nil:
		at = stamp(*e.Pin.DriftedAt)
	case e.Agent != nil && e.Agent.AwaySince != nil:
		at = stamp(*e.Agent.AwaySince)
	}
	_, err := fmt.Fprintf(w, "%s\t%s\t%s\n", cmp.Or(e.Cursor, "-"), at, eventText(e))
	return err
}

// eventText describes an event.
func eventText(e *client.Event) string {
	switch e.Type {
	case api.EventContext:
		return "agent " + e.Context.AgentID + " pushed version " + fmt.Sprint(e.Context.Version) + countsText(e.Context) + changedText(e.Context) + discoveryText(e.Context)
	case api.EventPin:
		p := e.Pin
		text := "pin " + p.ID + named(p.Name) + " of agent " + p.AgentID
		switch {
		case p.Deleted:
			return text + " was deleted"
		case p.DriftedAt != nil:
			return text + fmt.Sprintf(" has drifted since revision %d", p.DriftRevision)
		case p.Revision == 0:
			return text + " is empty"
		}
		return text + fmt.Sprintf(" holds revision %d", p.Revision)
	case api.EventAgent:
		switch {
		case e.Agent.Removed:
			return "agent " + e.Agent.ID + " was removed"
		case e.Agent.Connected && e.Agent.NotHeard > 0:
			return fmt.Sprintf("agent %s%s is connected; %d more with its token not heard", e.Agent.ID, named(e.Agent.Name), e.Agent.NotHeard)
		case e.Agent.Connected:
			return "agent " + e.Agent.ID + named(e.Agent.Name) + " is connected"
		}
		return "agent " + e.Agent.ID + named(e.Agent.Name) + " is away"
	case api.EventReset:
		return "events were lost, read everything again: " + cli.Visible(e.Reset.Reason)
	}
	return e.Type
}

// countsText counts the changes of resources and of plugins.
func countsText(e *api.ContextEvent) string {
	var text strings.Builder
	for _, did := range []struct {
		verb string
		n    int
	}{{"added", e.Counts.Added}, {"changed", e.Counts.Changed}, {"removed", e.Counts.Removed}} {
		if did.n > 0 {
			fmt.Fprintf(&text, ", %s %d", did.verb, did.n)
		}
	}
	if e.FailingPlugins > 0 {
		fmt.Fprintf(&text, ", %s", cli.Count(e.FailingPlugins, "plugin")+" failing")
	}
	return text.String()
}

// discoveryText says that discovery is incomplete or, if nothing else has changed, what its
// result is.
func discoveryText(e *api.ContextEvent) string {
	if !e.Discovery.Pending() && (len(e.Changed) > 0 || len(e.Discovery.Outcomes) == 0) {
		return ""
	}
	return "; discovery " + e.Discovery.String()
}

func named(name string) string {
	if name == "" {
		return ""
	}
	return " (" + cli.Visible(name) + ")"
}

// shownChanges is how many ids a line names.
const shownChanges = 3

func changedText(e *api.ContextEvent) string {
	if len(e.Changed) == 0 {
		return ""
	}
	shown := e.Changed[:min(shownChanges, len(e.Changed))]
	text := ": " + cli.Visible(strings.Join(shown, ", "))
	if more := len(e.Changed) - len(shown) + e.More; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
