package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
)

// allProcesses is the limit for listing all processes: as many as the agent lists.
const allProcesses = 10000

// chatFlag is the flag that names the calling chat.
type chatFlag struct{ ids []string }

func (c *chatFlag) add(f *pflag.FlagSet, what string) {
	f.StringArrayVar(&c.ids, "chat", nil, what+"; may be repeated: its `ID` first, then those of the chats above it")
}

// caller returns the chat; the zero Caller if none is named.
func (c *chatFlag) caller() (who agentapi.Caller, err error) {
	for i, text := range c.ids {
		id, err := uuid.Parse(text)
		if err != nil || id == uuid.Nil {
			return who, cli.Usage("--chat %q is not the ID of a chat, such as 1f2e3d4c-…, which has 36 characters", text)
		}
		if i == 0 {
			who.Chat = id
		} else {
			who.Ancestors = append(who.Ancestors, id)
		}
	}
	return who, nil
}

// processClient returns a client for the named chat.
func processClient(dial func() (client.Client, error), chat *chatFlag) (client.Client, error) {
	who, err := chat.caller()
	if err != nil {
		return nil, err
	}
	c, err := dial()
	if err != nil {
		return nil, err
	}
	return c.For(who), nil
}

// processNamed finds the process with an id or a prefix of one.
func processNamed(ctx context.Context, c client.Client, id string) (*agentapi.Process, error) {
	list, err := c.ListProcesses(ctx, allProcesses)
	if err != nil {
		return nil, err
	}
	var found []*agentapi.Process
	for i := range list.Processes {
		p := &list.Processes[i]
		if p.ID == id {
			return p, nil
		}
		if id != "" && strings.HasPrefix(p.ID, id) {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, &cli.Error{Code: cli.CodeNo, Err: fmt.Errorf("there is no process %q: 'agent ps -a' lists them", id)}
	}
	return nil, cli.Usage("%q is the beginning of %d ids: write more of it", id, len(found))
}

// knownProcesses completes ids of processes, of the running ones only if running is set.
func knownProcesses(running bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return fromAgent(cmd, text, func(ctx context.Context, c client.Client) (list []string, err error) {
			all, err := c.ListProcesses(ctx, allProcesses)
			if err != nil {
				return nil, err
			}
			for i := range all.Processes {
				if all.Processes[i].Running || len(all.Processes[i].Left) > 0 || !running {
					list = append(list, all.Processes[i].ID)
				}
			}
			return list, nil
		})
	}
}

func (a *app) psCommand() *cobra.Command {
	var conn connection
	var chat chatFlag
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "List the processes that chats and 'agent exec' have started",
		Long: `Ps lists the running processes in the workspace that were started through the agent, the
newest first, and ended ones that have left others running. With -a it also lists ended ones, as long as their output is kept.
Processes outlive the agent; 'agent stop' ends them. 'agent list' lists agents.

The exit code is 3 if no agent runs.`,
		Example: `  agent ps
  agent ps -a --json | jq '.processes[] | select(.exit_code != 0)'
  agent ps --chat 1f2e3d4c-5b6a-4978-8695-a4b3c2d1e0f9`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := processClient(conn.reader, &chat)
			if err != nil {
				return err
			}
			list, err := c.ListProcesses(cmd.Context(), allProcesses)
			if err != nil {
				return err
			}
			if !all {
				list.Processes = slices.DeleteFunc(list.Processes, func(p agentapi.Process) bool { return !p.Running && len(p.Left) == 0 })
			}
			if asJSON {
				return cli.JSON(a.stdout, list)
			}
			return a.printProcesses(list.Processes, all)
		},
	}
	conn.addFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also list those that have ended")
	chat.add(cmd.Flags(), "only those of this chat")
	return cmd
}

func (a *app) printProcesses(list []agentapi.Process, all bool) error {
	hint := "nothing runs: 'agent ps -a' lists what has ended"
	if all {
		hint = "no processes: start one with 'agent exec -- COMMAND'"
	}
	return cli.List(a.stdout, false, list, hint, []string{"ID", "STATUS", "STARTED", "DIRECTORY", "COMMAND"}, func(p *agentapi.Process) []string {
		return []string{shortID(list, p.ID), processStatus(p), ago(p.StartedAtUnix), cli.Visible(p.WorkDir), oneLine(p.Command)}
	})
}

// shortID shortens an id to what tells it from the others, at least 8 characters.
func shortID(list []agentapi.Process, id string) string {
	n := min(8, len(id))
	for i := range list {
		for other := list[i].ID; other != id && n < len(id) && strings.HasPrefix(other, id[:n]); {
			n++
		}
	}
	return cli.Visible(id[:n])
}

func processStatus(p *agentapi.Process) string {
	switch {
	case p.Running:
		return "running"
	case p.Lost != "":
		return "lost: " + cli.Visible(p.Lost)
	case p.ExitCode == nil:
		return "ended"
	}
	status := fmt.Sprintf("exited %d", *p.ExitCode)
	if p.TimedOutMS > 0 {
		status += fmt.Sprintf(" after its timeout of %s", time.Duration(p.TimedOutMS)*time.Millisecond)
	}
	if len(p.Left) > 0 {
		status += fmt.Sprintf(", left %s running", cli.Count(len(p.Left), "process"))
	}
	return status
}

func ago(unix int64) string {
	d := max(0, time.Since(time.Unix(unix, 0)))
	if d < 48*time.Hour {
		return d.Truncate(time.Second).String() + " ago"
	}
	return fmt.Sprintf("%d days ago", int(d.Hours())/24)
}

func (a *app) killCommand() *cobra.Command {
	var conn connection
	var chat chatFlag
	var asJSON bool
	name := "terminate"
	cmd := &cobra.Command{
		Use:   "kill ID…",
		Short: "Send a signal to processes that were started through the agent",
		Long: `Kill sends a signal to a process and its process group: SIGTERM, or what --signal names.
If the process has ended, the signal goes to what it has left running.
ID is an ID from 'agent ps', or the beginning of one. Kill doesn't wait for the end;
'agent logs -f ID' does.

The exit code is 3 if there is no such process, it has ended, or no agent runs.`,
		Example: `  agent kill 5f0c21d4
  agent kill --signal kill 5f0c21d4`,
		Args: cli.Named("ID…"),
		RunE: func(cmd *cobra.Command, ids []string) error {
			signal, known := signalNames[strings.ToLower(strings.TrimPrefix(strings.ToUpper(name), "SIG"))]
			if !known {
				return cli.Usage("--signal %q: use terminate, kill, interrupt or hangup", name)
			}
			c, err := processClient(conn.client, &chat)
			if err != nil {
				return err
			}
			type killed struct {
				ID     string `json:"id"`
				Signal string `json:"signal"`
			}
			done := []killed{}
			for _, id := range ids {
				p, err := processNamed(cmd.Context(), c, id)
				if err == nil {
					err = c.SignalProcess(cmd.Context(), p.ID, signal)
				}
				if err != nil {
					return ended(err)
				}
				done = append(done, killed{p.ID, signal})
				if asJSON {
					continue
				}
				if _, err := fmt.Fprintf(a.stdout, "%s: %s\n", cli.Visible(p.ID), signal); err != nil {
					return err
				}
			}
			if asJSON {
				return cli.JSON(a.stdout, done)
			}
			return nil
		},
	}
	conn.addFlags(cmd)
	cmd.Flags().StringVarP(&name, "signal", "s", name, "`name` of the signal: terminate, kill, interrupt or hangup")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	chat.add(cmd.Flags(), "only processes of this chat")
	return cmd
}

// signalNames are the names of signals in the API.
var signalNames = map[string]string{
	"terminate": "terminate", "term": "terminate", "15": "terminate", "kill": "kill", "9": "kill",
	"interrupt": "interrupt", "int": "interrupt", "2": "interrupt", "hangup": "hangup", "hup": "hangup", "1": "hangup",
}

// ended gives the error "it has ended" the exit code for no.
func ended(err error) error {
	if client.CodeOf(err) == 409 {
		return &cli.Error{Code: cli.CodeNo, Err: err}
	}
	return err
}
