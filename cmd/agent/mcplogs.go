package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
)

func (a *app) mcpLogsCommand(conn *connection) *cobra.Command {
	var follow, asJSON bool
	tail := -1
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Print a server's standard error and what happened to it",
		Long: `Logs prints what is kept of a server's log since the agent's start, without the values
of its variables and headers. With -f it continues, over restarts of the server and of
the agent, until interrupted.

The exit code is 3 if there is no such server, or no agent runs.`,
		Example: `  agent mcp logs github
  agent mcp logs -f --tail 20 github`,
		Args: cli.Named("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("tail") && tail < 0 {
				return cli.Usage("--tail %d: use a whole number from 0", tail)
			}
			c, err := conn.reader()
			if err != nil {
				return err
			}
			l := mcpLogs{client: c, name: args[0]}
			text, err := l.all(cmd.Context(), a.stderr)
			if err != nil {
				return err
			}
			text = lastLines(text, tail)
			if asJSON {
				return cli.JSON(a.stdout, struct {
					Name string `json:"name"`
					Text string `json:"text"`
				}{args[0], text})
			}
			l.out = a.stdout
			if cli.IsTerminal(a.stdout) {
				l.out = &visible{w: a.stdout}
			}
			if _, err := io.WriteString(l.out, text); err != nil || !follow {
				return err
			}
			return l.follow(cmd.Context(), a.stderr)
		},
		ValidArgsFunction: cli.InOrder(false, mcpServerNames),
	}
	f := cmd.Flags()
	f.BoolVarP(&follow, "follow", "f", false, "continue until interrupted")
	f.IntVar(&tail, "tail", -1, "print only the last `lines` (default all)")
	f.BoolVar(&asJSON, "json", false, "print JSON: the name and the text")
	cmd.MarkFlagsMutuallyExclusive("follow", "json")
	return cmd
}

// mcpLogs prints the log of a server.
type mcpLogs struct {
	client client.Client
	name   string
	out    io.Writer
	next   int64 // the offset after everything that all returned
}

// all returns the log so far.
func (l *mcpLogs) all(ctx context.Context, notes io.Writer) (string, error) {
	var b strings.Builder
	for {
		page, err := l.client.MCPLogs(ctx, l.name, client.MCPLogOptions{Offset: l.next})
		if err != nil {
			return "", err
		}
		if gone := page.Offset - l.next; gone > 0 {
			(&logs{notes: notes}).note(&client.OmittedError{Bytes: gone})
		}
		b.WriteString(page.Text)
		if page.NextOffset <= l.next {
			return b.String(), nil
		}
		l.next = page.NextOffset
	}
}

// follow prints new output until ctx ends.
func (l *mcpLogs) follow(ctx context.Context, notes io.Writer) error {
	for text, err := range client.FollowMCPLogs(ctx, l.client, l.name, l.next) {
		if code := client.CodeOf(err); code != 0 && code < 500 {
			return err
		}
		if err != nil {
			(&logs{notes: notes}).note(err)
			continue
		}
		if _, err := io.WriteString(l.out, text); err != nil {
			return err
		}
	}
	return ignoreCanceled(ctx.Err())
}

// ignoreCanceled drops the error of being interrupted, which is the normal end.
func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// lastLines returns the last n lines of a text; all if n is negative.
func lastLines(text string, n int) string {
	if n < 0 {
		return text
	}
	end := len(text)
	if strings.HasSuffix(text, "\n") {
		end--
	}
	for at := end; ; n-- {
		if n == 0 {
			return text[min(at+1, len(text)):]
		}
		if at = strings.LastIndexByte(text[:at], '\n'); at < 0 {
			return text
		}
	}
}
