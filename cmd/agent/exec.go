package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	xterm "golang.org/x/term"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/stop"
)

// execSettings are the flags of exec.
type execSettings struct {
	conn     connection
	chat     chatFlag
	detach   bool
	stdin    bool
	terminal bool
	asJSON   bool
	dir      string
	env      []string
	timeout  time.Duration
	profile  string
}

func (a *app) execCommand() *cobra.Command {
	var s execSettings
	cmd := &cobra.Command{
		Use:   "exec [flags] -- COMMAND [ARG…]",
		Short: "Run a command in the workspace, as chats do",
		Long: `Exec runs a command through the agent, in the workspace's directory and with the agent's
environment. The process outlives the agent. Exec prints the exact output of the command
and exits with its exit code, which is 128+N if signal N ended it. It continues over a
restart of the agent. With -d it prints the process's ID and returns; 'agent logs -f ID'
follows the process.

Standard input is forwarded if it isn't a terminal, or with -i. With -t the command runs
in its own terminal. Exec forwards Ctrl-C (SIGINT), SIGTERM and SIGHUP to the command. A
second signal ends exec and leaves the command running; 'agent kill' ends it.

Exec uses no shell: for pipes and variables run one, as below. If the command can't be
started the exit code is 1 or 2. It is 3 if no agent runs.`,
		Example: `  agent exec -- go test ./...
  agent exec -- sh -c 'grep -r TODO . | wc -l'
  agent exec -t -- bash
  id=$(agent exec -d -- make all) && agent logs -f $id`,
		Args: cli.Named("COMMAND", "[ARG]…"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if s.detach && (s.stdin || s.terminal) {
				return cli.Usage("-d doesn't go together with -i and -t: nothing is forwarded")
			}
			if s.asJSON && !s.detach {
				return cli.Usage("--json is for -d: without it the output is the command's")
			}
			start, err := s.start(args)
			if err != nil {
				return err
			}
			c, err := processClient(s.conn.client, &s.chat)
			if err != nil {
				return err
			}
			if s.detach {
				return a.execDetached(cmd.Context(), c, start, s.asJSON)
			}
			return a.execAttached(cmd.Context(), c, start)
		},
	}
	s.conn.addFlags(cmd)
	f := cmd.Flags()
	f.SetInterspersed(false) // flags after COMMAND are the command's, with and without "--"
	f.BoolVarP(&s.detach, "detach", "d", false, "print the process's ID and return")
	f.BoolVarP(&s.stdin, "stdin", "i", false, "forward standard input, also from a terminal")
	f.BoolVarP(&s.terminal, "tty", "t", false, "run it in its own terminal")
	f.StringVarP(&s.dir, "workdir", "w", "", "`directory` to run in (default the workspace's)")
	f.StringArrayVarP(&s.env, "env", "e", nil, "a variable, `NAME=VALUE`, or NAME for its value here; may be repeated")
	f.DurationVar(&s.timeout, "timeout", 0, "end it after this `time`, such as 30s; 0 means never")
	f.StringVar(&s.profile, "profile", "", "confine it more than the token does: `secrets` or plan")
	f.BoolVar(&s.asJSON, "json", false, "with -d: print JSON")
	s.chat.add(f, "run it for a chat")
	return cmd
}

// start returns the request for a command line.
func (s *execSettings) start(args []string) (*agentapi.StartProcess, error) {
	start := &agentapi.StartProcess{Argv: args, Background: s.detach, Profile: s.profile, TimeoutMS: s.timeout.Milliseconds(), Env: map[string]string{}}
	if s.timeout < 0 || s.timeout > 0 && start.TimeoutMS == 0 {
		return nil, cli.Usage("--timeout %s: use a duration from 1ms, or 0", s.timeout)
	}
	if args[0] == "" {
		return nil, cli.Usage("an empty COMMAND names nothing")
	}
	if s.dir != "" {
		dir, err := absolutePath(s.dir)
		if err != nil {
			return nil, err
		}
		start.WorkDir = dir
	}
	for _, text := range s.env {
		name, value, given := strings.Cut(text, "=")
		if name == "" {
			return nil, cli.Usage("--env %q: use NAME=VALUE", text)
		}
		if !given {
			if value, given = os.LookupEnv(name); !given {
				continue
			}
		}
		start.Env[name] = value
	}
	if s.detach {
		return start, nil
	}
	start.Stdin = s.stdin || s.terminal || !xterm.IsTerminal(int(os.Stdin.Fd()))
	if s.terminal {
		size := terminalSize()
		start.PTY = &size
		if _, given := start.Env["TERM"]; !given && os.Getenv("TERM") != "" {
			start.Env["TERM"] = os.Getenv("TERM")
		}
	}
	return start, nil
}

// terminalSize returns the size of this command's terminal. Without a terminal it is zero,
// which leaves the size to the agent.
func terminalSize() agentapi.TerminalSize {
	for _, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		if cols, rows, err := xterm.GetSize(int(f.Fd())); err == nil && cols > 0 && rows > 0 {
			return agentapi.TerminalSize{Rows: uint16(min(rows, 1<<16-1)), Cols: uint16(min(cols, 1<<16-1))}
		}
	}
	return agentapi.TerminalSize{}
}

func (a *app) execDetached(ctx context.Context, c client.Client, start *agentapi.StartProcess, asJSON bool) error {
	started, err := c.StartProcess(ctx, *start)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.JSON(a.stdout, started)
	}
	_, err = fmt.Fprintln(a.stdout, cli.Visible(started.ID))
	return err
}

// patience is how long exec may run after a signal to end: it forwards the signal, and
// waits until the command has ended.
const patience = 24 * time.Hour

// execAttached runs a command as if it were this process.
func (a *app) execAttached(ctx context.Context, c client.Client, start *agentapi.StartProcess) error {
	stop.Allow(ctx, patience)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	started, err := c.StartProcess(ctx, *start)
	if err != nil {
		return err
	}
	// Signals are forwarded to the process and don't cancel the calls.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	r := remote{client: c, id: started.ID, notes: a.stderr, raw: start.PTY != nil}
	defer r.restore()
	if start.PTY != nil {
		r.makeRaw()
		go r.resizes(ctx)
	}
	go r.signals(ctx, signals)
	if start.Stdin {
		go r.forward(ctx, os.Stdin)
	}
	l := logs{client: c, id: started.ID, out: a.stdout, notes: a.stderr, follow: true}
	if err := l.print(ctx, -1); err != nil {
		return err
	}
	return r.exit(ctx)
}

// explain says on standard error what an exit code doesn't.
func (r *remote) explain(out *agentapi.ProcessOutput) {
	if out.TimedOutMS > 0 {
		_, _ = fmt.Fprintf(r.notes, "agent: ended after its timeout of %s\n", time.Duration(out.TimedOutMS)*time.Millisecond)
	}
	if len(out.Left) > 0 {
		_, _ = fmt.Fprintf(r.notes, "agent: it has left %s running: 'agent ps' lists, 'agent kill %s' ends, 'agent logs -f %s' shows the output\n",
			cli.Count(len(out.Left), "process"), r.id, r.id)
	}
}

// remote is the process that exec stands in for.
type remote struct {
	client client.Client
	id     string
	notes  io.Writer
	raw    bool
	state  *xterm.State // of the terminal before makeRaw; nil if unchanged
}

// makeRaw makes the terminal pass on every key, including Ctrl-C.
func (r *remote) makeRaw() {
	fd := int(os.Stdin.Fd())
	if xterm.IsTerminal(fd) {
		r.state, _ = xterm.MakeRaw(fd)
	}
}

func (r *remote) restore() {
	if r.state != nil {
		_ = xterm.Restore(int(os.Stdin.Fd()), r.state)
	}
}

// resizes sends the process each new size of the terminal.
func (r *remote) resizes(ctx context.Context) {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	defer signal.Stop(changed)
	last := agentapi.TerminalSize{}
	for {
		if size := terminalSize(); size != last && size.Rows > 0 {
			last = size
			_ = r.client.ResizeProcess(ctx, r.id, size) // it may have ended
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// signals forwards this command's signals.
func (r *remote) signals(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case s := <-signals:
			name := map[os.Signal]string{syscall.SIGINT: "interrupt", syscall.SIGTERM: "terminate", syscall.SIGHUP: "hangup"}[s]
			if err := r.client.SignalProcess(ctx, r.id, name); err != nil && client.CodeOf(err) != 409 && ctx.Err() == nil {
				r.note(fmt.Errorf("the process was not told: %w", err))
			}
		case <-ctx.Done():
			return
		}
	}
}

// maxInput is the most standard input forwarded in one call, in bytes.
const maxInput = 64 << 10

// forward writes standard input to the process, and closes the process's input at the end.
// Nobody waits for it, because a read from a terminal can't be interrupted.
func (r *remote) forward(ctx context.Context, in io.Reader) {
	buf := make([]byte, maxInput)
	for {
		n, readErr := in.Read(buf)
		input := agentapi.ProcessStdin{DataBase64: slices.Clone(buf[:n]), Close: readErr != nil}
		if n == 0 && readErr == nil {
			continue
		}
		err := r.client.WriteStdin(ctx, r.id, input)
		switch {
		case err == nil && readErr == nil:
			continue
		case err == nil, ctx.Err() != nil, client.CodeOf(err) == 409, client.CodeOf(err) == 404: // it has ended, or closed its input
		default:
			r.note(fmt.Errorf("standard input is not forwarded any more: %w", err))
		}
		return
	}
}

func (r *remote) note(err error) {
	end := "\n"
	if r.raw {
		end = "\r\n"
	}
	_, _ = fmt.Fprintf(r.notes, "agent: %s%s", cli.ErrorText(err), end)
}

// exit returns the end of the process as this command's own.
func (r *remote) exit(ctx context.Context) error {
	from := int64(0)
	page, err := r.client.ProcessOutput(ctx, r.id, agentapi.OutputOptions{Offset: &from, Limit: 1, Raw: true})
	if err != nil {
		return err
	}
	r.explain(page)
	switch {
	case page.Lost != "":
		return &client.LostError{Reason: page.Lost}
	case page.ExitCode == nil:
		return errors.New("the process has ended, and nobody knows how")
	case *page.ExitCode == 0:
		return nil
	}
	return &cli.Error{Code: *page.ExitCode}
}
