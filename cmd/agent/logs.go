package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
)

func (a *app) logsCommand() *cobra.Command {
	var conn connection
	var chat chatFlag
	var follow, asJSON bool
	tail := int64(-1)
	cmd := &cobra.Command{
		Use:   "logs ID",
		Short: "Print the output of a process that was started through the agent",
		Long: `Logs prints the output of a process, standard output and standard error together. It
says on standard error where output is no longer kept. With -f it continues until the
process ends, also over restarts of the agent. ID is an ID from 'agent ps', or the
beginning of one.

To a file or a pipe it writes the exact output. On a terminal it omits control
sequences.

The exit code is 3 if there is no such process, or no agent runs.`,
		Example: `  agent logs 5f0c21d4
  agent logs -f --tail 20 5f0c21d4
  agent logs 5f0c21d4 > build.log`,
		Args: cli.Named("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("tail") && tail < 0 {
				return cli.Usage("--tail %d: use a whole number from 0", tail)
			}
			c, err := processClient(conn.reader, &chat)
			if err != nil {
				return err
			}
			p, err := processNamed(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return a.logsJSON(cmd.Context(), c, p, tail)
			}
			l := logs{client: c, id: p.ID, out: a.stdout, notes: a.stderr, follow: follow}
			if cli.IsTerminal(a.stdout) {
				l.out = &visible{w: a.stdout}
			}
			return l.print(cmd.Context(), tail)
		},
	}
	conn.addFlags(cmd)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "continue until the process ends")
	cmd.Flags().Int64Var(&tail, "tail", -1, "print only the last `lines`; without it all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: the process and its output as text")
	cmd.MarkFlagsMutuallyExclusive("follow", "json")
	chat.add(cmd.Flags(), "only processes of this chat")
	return cmd
}

// logPage is how much output is asked for at once, in bytes.
const logPage = 1 << 20

// logs prints the output of one process.
type logs struct {
	client     client.Client
	id         string
	out, notes io.Writer
	follow     bool
}

// print prints all output, or the last lines of it.
func (l *logs) print(ctx context.Context, tail int64) error {
	from := int64(0)
	if tail >= 0 {
		var err error
		if from, err = l.lastLines(ctx, tail); err != nil {
			return err
		}
	}
	if l.follow {
		return l.rest(ctx, from)
	}
	for {
		page, err := l.client.ProcessOutput(ctx, l.id, agentapi.OutputOptions{Offset: &from, Limit: logPage, Raw: true})
		if err != nil {
			return err
		}
		if err := l.write(page); err != nil {
			return err
		}
		switch next := *page.NextOffset; {
		case next != from:
			from = next
		case page.Lost != "":
			return &client.LostError{Reason: page.Lost}
		default:
			return nil
		}
	}
}

// rest prints what comes from an offset on, until the process has ended.
func (l *logs) rest(ctx context.Context, from int64) error {
	for data, err := range client.FollowFrom(ctx, l.client, l.id, from) {
		var omitted *client.OmittedError
		var lost *client.LostError
		switch {
		case err == nil:
			if _, err := l.out.Write(data); err != nil {
				return err
			}
		case errors.As(err, &omitted):
			l.note(omitted)
		case errors.As(err, &lost), client.CodeOf(err) != 0 && client.CodeOf(err) < 500:
			return err
		default:
			l.note(err)
		}
	}
	return ctx.Err()
}

func (l *logs) write(page *agentapi.ProcessOutput) error {
	if page.NextOffset == nil {
		return errors.New("the agent's answer has no next_offset")
	}
	if page.OmittedBytes > 0 {
		l.note(&client.OmittedError{Bytes: page.OmittedBytes})
	}
	_, err := l.out.Write(page.Data)
	return err
}

func (l *logs) note(err error) {
	_, _ = fmt.Fprintf(l.notes, "agent: %v\n", err)
}

// lastLines returns where the last lines begin. It goes back from the end, page by
// page; a line that has begun counts.
func (l *logs) lastLines(ctx context.Context, lines int64) (int64, error) {
	end, err := l.length(ctx)
	if err != nil || lines == 0 {
		return end, err
	}
	for to := end; to > 0; {
		from := max(0, to-logPage)
		page, err := l.client.ProcessOutput(ctx, l.id, agentapi.OutputOptions{Offset: &from, Limit: to - from, Raw: true})
		if err != nil {
			return 0, err
		}
		start := from + page.OmittedBytes
		data := page.Data[:min(int64(len(page.Data)), max(0, to-start))]
		for at := len(data); ; {
			at = bytes.LastIndexByte(data[:at], '\n')
			if at < 0 {
				break
			}
			if next := start + int64(at) + 1; next < end {
				if lines--; lines <= 0 {
					return next, nil
				}
			}
		}
		if page.OmittedBytes > 0 { // nothing before this is kept, or not without a gap
			return start, nil
		}
		to = from
	}
	return 0, nil
}

// length is how much a process has written.
func (l *logs) length(ctx context.Context) (int64, error) {
	view, err := l.client.ProcessOutput(ctx, l.id, agentapi.OutputOptions{})
	if err != nil {
		return 0, err
	}
	if view.Truncated != nil {
		return view.Truncated.OriginalBytes, nil
	}
	from := int64(0) // no more than a view shows
	page, err := l.client.ProcessOutput(ctx, l.id, agentapi.OutputOptions{Offset: &from, Limit: logPage, Raw: true})
	if err != nil {
		return 0, err
	}
	return int64(len(page.Data)), nil
}

// logsJSON prints the process with its output as text.
func (a *app) logsJSON(ctx context.Context, c client.Client, p *agentapi.Process, tail int64) error {
	var b bytes.Buffer
	l := logs{client: c, id: p.ID, out: &b, notes: io.Discard}
	err := l.print(ctx, tail)
	var lost *client.LostError
	if err != nil && !errors.As(err, &lost) {
		return err
	}
	return cli.JSON(a.stdout, struct {
		*agentapi.Process
		Output string `json:"output"`
	}{p, string([]rune(b.String()))})
}
