package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	xterm "golang.org/x/term"

	"waymark/agent/connect"
	"waymark/cmd/internal/cli"
	"waymark/host/config"
	"waymark/internal/udiff"
)

// connectFlags are the flags of connect.
type connectFlags struct {
	print, undo, list, json bool
	all, hook, noStart      bool
	approve                 string
	only                    []string
}

// Values of --approve-tools.
const (
	approveAsk = "ask"
	approveAll = "all"
)

func (a *app) connectCommand() *cobra.Command {
	var s connectFlags
	cmd := &cobra.Command{
		Use:   "connect CLIENT",
		Short: "Connect a coding agent to workspaces, in its configuration",
		Long: `Connect adds one entry to the user's configuration of a coding agent. With it the client
starts 'agent mcp serve --start' in each workspace where it is started. It can then use
the tools of the agent that runs there, its MCP servers, skills and instructions. In a
repository where none runs one is started, which ends ten minutes after its last client;
with --no-start it is left to you to run one. No token is written. Clients are claude, cline, codex, continue, copilot-cli, cursor, gemini,
kilo, opencode and qwen-code.

The entry omits what this client reads itself, skills, instructions and the MCP servers
of its own files; --all includes that. --only offers only some parts, such as
servers,skills, as 'agent mcp serve' takes them. 'agent mcp tools --client' shows what is
left. With --hook a session begins with a few fixed words about the tools; only Claude
Code supports this. Each call replaces the entry according to its flags.

Codex asks before it calls tools that don't only read, and 'codex exec' refuses them.
Connect asks whether to keep this. With --approve-tools=ask it stays; with all Codex
calls all tools of this entry without asking, including those that run commands.

The rest of the file and its comments stay as they are. Connect doesn't change a file
that can't be read as the client would. --print shows the change as a diff, with --undo
what would be removed. --undo restores the file if nobody has changed it since;
otherwise it removes only the entry. Without a CLIENT it undoes all. --list shows what is
connected. The exit code of --undo is 3 if there is nothing to undo.`,
		Example: `  agent connect codex
  agent connect claude --hook
  agent connect opencode --all --print
  agent connect cursor --only servers,skills
  agent connect codex --approve-tools=all
  agent connect codex --undo
  agent connect --undo         # all that are connected
  agent connect --list`,
		Args: func(cmd *cobra.Command, args []string) error {
			if s.list || s.undo && len(args) == 0 {
				return cobra.NoArgs(cmd, args)
			}
			return cli.Named("CLIENT")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.connect(cmd, args, &s) },
		ValidArgsFunction: cli.InOrder(false, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var list []cobra.Completion
			for _, c := range connect.Clients() {
				list = append(list, cobra.CompletionWithDesc(c.ID, c.Name))
			}
			return list, cobra.ShellCompDirectiveNoFileComp
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&s.list, "list", false, "list the clients, and how each is connected")
	f.BoolVar(&s.print, "print", false, "show the change, and change nothing")
	f.BoolVar(&s.undo, "undo", false, "remove what was written")
	f.BoolVar(&s.all, "all", false, "also offer what the client reads itself")
	f.StringSliceVar(&s.only, "only", nil, "offer only these `parts`: tools, skills, instructions, servers, or names of tools, separated by commas")
	f.BoolVar(&s.hook, "hook", false, "add a hook for the start of a session")
	f.BoolVar(&s.noStart, "no-start", false, "never start an agent for the client")
	f.StringVar(&s.approve, "approve-tools", "", "whether the client asks before it calls tools, `ask` or all (default ask; in a terminal connect asks you)")
	f.BoolVar(&s.json, "json", false, "print JSON")
	_ = cmd.RegisterFlagCompletionFunc("only", partNames)
	_ = cmd.RegisterFlagCompletionFunc("approve-tools", cobra.FixedCompletions([]string{approveAsk, approveAll}, cobra.ShellCompDirectiveNoFileComp))
	cmd.AddCommand(a.sessionStartCommand())
	return cmd
}

// connector returns a Connector for this program.
func connector() (*connect.Connector, error) {
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return nil, err
	}
	if paths.Home == "" {
		return nil, errors.New("there is no home directory, where clients have their configuration: set HOME")
	}
	program, err := ownPath()
	if err != nil {
		return nil, err
	}
	return connect.New(connect.Options{Program: program, Home: paths.Home, State: paths.State.In("connect").Path()}), nil
}

// isSame reports whether two paths name the same file.
func isSame(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b) //nolint:gosec // by which name this program was called
	return err == nil && os.SameFile(x, y)
}

// ownPath returns a path at which this program will be found again: the one it was called
// by if that leads to it, because it may be a link that an update moves.
func ownPath() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	if called, err := exec.LookPath(os.Args[0]); err == nil {
		if called, err = filepath.Abs(called); err == nil && isSame(own, called) {
			return called, nil
		}
	}
	return own, nil
}

// check validates the flags and returns the selected client.
func (s *connectFlags) check(cmd *cobra.Command, args []string) (*connect.Client, error) {
	writes := s.all || s.hook || s.noStart || s.only != nil || cmd.Flags().Changed("approve-tools")
	if s.list {
		if writes || s.undo || s.print {
			return nil, cli.Usage("--list goes with --json alone")
		}
		return nil, nil //nolint:nilnil // of a list
	}
	if len(args) == 0 {
		if writes || s.json {
			return nil, cli.Usage("--undo without a CLIENT goes with --print alone")
		}
		return nil, nil //nolint:nilnil // of all
	}
	c := connect.Lookup(args[0])
	switch {
	case c == nil:
		var ids []string
		for _, c := range connect.Clients() {
			ids = append(ids, c.ID)
		}
		return nil, cli.Usage("there is no client %s: use %s", cli.Visible(args[0]), strings.Join(ids, ", "))
	case c.Without != "":
		return nil, cli.Usage("%s", c.Without)
	case s.undo && writes:
		return nil, cli.Usage("--undo takes away all that was written: leave out --all, --only, --hook, --no-start and --approve-tools")
	case s.hook && !c.Hook:
		return nil, cli.Usage("--hook: %s has no hook whose words get into a session", c.Name)
	case cmd.Flags().Changed("approve-tools") && !c.Approves:
		return nil, cli.Usage("--approve-tools: %s decides by its own settings what it asks about", c.Name)
	case cmd.Flags().Changed("approve-tools") && s.approve != approveAsk && s.approve != approveAll:
		return nil, cli.Usage("--approve-tools=%s: use ask or all", cli.Visible(s.approve))
	}
	_, err := (&mcpServe{only: s.only}).options()
	return c, err
}

func (a *app) connect(cmd *cobra.Command, args []string, s *connectFlags) error {
	client, err := s.check(cmd, args)
	if err != nil {
		return err
	}
	c, err := connector()
	if err != nil {
		return err
	}
	switch {
	case s.list:
		return a.listConnections(c.List(), s.json)
	case client == nil:
		return a.undoAll(cmd, s, c.List())
	}
	if client.Approves && s.approve == "" && !s.undo && !s.print && !s.json && xterm.IsTerminal(int(os.Stdin.Fd())) {
		s.approve = askApproval(a.stderr, os.Stdin, client)
	}
	settings := connect.Settings{All: s.all, Only: s.only, Hook: s.hook, NoStart: s.noStart, ApproveTools: s.approve == approveAll}
	var changes []*connect.Change
	switch ctx := cmd.Context(); {
	case s.undo && s.print:
		changes, err = c.PlanUndo(client)
	case s.undo:
		changes, err = c.Undo(ctx, client)
	case s.print:
		changes, err = c.Plan(client, settings)
	default:
		changes, err = c.Connect(ctx, client, settings)
	}
	if wrong := (*connect.FileError)(nil); errors.As(err, &wrong) && wrong.Entry != "" {
		if s.print && !s.json {
			_, _ = fmt.Fprintf(a.stdout, "%s", cli.VisibleLines(wrong.Entry, ""))
		}
		return fmt.Errorf("%w: mend the file, or write the entry by hand, as --print shows it", err)
	}
	if err != nil {
		return err
	}
	if s.json {
		if err := a.connectionJSON(client, changes, s); err != nil {
			return err
		}
	} else if err := a.tellChanges(client, changes, s); err != nil {
		return err
	}
	if s.undo && len(changes) == 0 {
		return &cli.Error{Code: cli.CodeNo, Err: fmt.Errorf("%s isn't connected", client.Name)}
	}
	return nil
}

// undoAll undoes every connection.
func (a *app) undoAll(cmd *cobra.Command, s *connectFlags, list []connect.Connection) error {
	var errs []error
	n := 0
	for i := range list {
		if x := &list[i]; x.Hook || x.State == connect.StateConnected || x.State == connect.StateStale {
			errs = append(errs, a.connect(cmd, []string{x.Client}, s))
			n++
		}
	}
	if n == 0 {
		return &cli.Error{Code: cli.CodeNo, Err: errors.New("no client is connected")}
	}
	return errors.Join(errs...)
}

// askApproval asks whether a client may call tools without asking. Every answer but yes is
// the safe one.
func askApproval(out io.Writer, in io.Reader, c *connect.Client) string {
	if confirmed(out, in, c.Name+" asks before it calls tools that don't only read, such as those that run commands and write\nfiles, and 'codex exec' refuses them. Let it call all tools of this agent without asking?") {
		return approveAll
	}
	return approveAsk
}

func diffOf(ch *connect.Change) string {
	from, to := ch.Path, ch.Path
	if ch.Action == connect.ActionCreated {
		from = os.DevNull
	}
	if ch.Gone {
		to = os.DevNull
	}
	return udiff.Diff(from, to, string(ch.Before), string(ch.After))
}

// tellChanges prints what was done, or with --print would be.
func (a *app) tellChanges(client *connect.Client, changes []*connect.Change, s *connectFlags) error {
	out := cli.Lines{W: a.stdout}
	if s.print {
		for _, ch := range changes {
			if diff := diffOf(ch); diff != "" {
				out.Printf("%s", strings.TrimSuffix(cli.VisibleLines(diff, ""), "\n"))
			} else {
				out.Printf("%s stays as it is", cli.Visible(ch.Path))
			}
		}
		return out.Err
	}
	for _, ch := range changes {
		out.Printf("%s", done(ch))
	}
	switch {
	case out.Err != nil || s.undo && len(changes) == 0:
		return out.Err
	case s.undo:
		a.side("%s is no longer connected; sessions that run keep what they have", client.Name)
		return nil
	}
	if s.noStart {
		a.side("%s is connected: start it in a workspace in which 'agent run' runs", client.Name)
	} else {
		a.side("%s is connected: in a repository where no agent runs it starts one, which ends after it; --no-start changes that", client.Name)
	}
	if !s.all {
		a.side("skills, instructions and MCP servers that it reads by itself are left out; --all offers them, too")
	}
	switch {
	case client.Approves && s.approve == approveAll:
		a.side("it calls all tools of this agent without asking, also those that run commands; --approve-tools=ask ends that")
	case client.Approves:
		a.side("it asks before it calls tools that don't only read, and 'codex exec' refuses them; --approve-tools=all changes that")
	}
	return nil
}

// done says what was done to a file.
func done(ch *connect.Change) string {
	path := cli.Visible(ch.Path)
	switch {
	case ch.Action == connect.ActionCreated:
		return path + ": made, with the entry"
	case ch.Action == connect.ActionChanged:
		return path + ": entry written"
	case ch.Action == connect.ActionRestored:
		return path + ": as it was before"
	case ch.Action == connect.ActionRemoved && ch.Gone:
		return path + ": removed, as nothing else was in it"
	case ch.Action == connect.ActionRemoved:
		return path + ": entry taken out"
	}
	return path + ": has the entry already"
}

// changeJSON is a change of a file in JSON.
type changeJSON struct {
	Path   string         `json:"path"`
	Action connect.Action `json:"action"`
	Diff   string         `json:"diff,omitempty"`
}

func (a *app) connectionJSON(client *connect.Client, changes []*connect.Change, s *connectFlags) error {
	list := []changeJSON{}
	for _, ch := range changes {
		x := changeJSON{Path: ch.Path, Action: ch.Action}
		if s.print {
			x.Diff = diffOf(ch)
		}
		list = append(list, x)
	}
	return cli.JSON(a.stdout, struct {
		Client  string       `json:"client"`
		Written bool         `json:"written"` // false with --print
		Changes []changeJSON `json:"changes"`
	}{client.ID, !s.print, list})
}

func (a *app) listConnections(list []connect.Connection, asJSON bool) error {
	for i := range list {
		if list[i].Err != nil {
			list[i].Problem = cli.ErrorText(list[i].Err)
		}
	}
	if asJSON {
		return cli.JSON(a.stdout, list)
	}
	t := cli.NewTable(a.stdout, "CLIENT", "STATE", "FILE", "STARTS", "NOTE")
	for _, x := range list {
		note := x.Problem
		if x.Hook {
			note = strings.TrimPrefix(note+"; with a hook", "; ")
		}
		t.Row(x.Client, string(x.State), cli.Visible(x.Path), cli.Dash(cli.Visible(strings.Join(append([]string{x.Program}, x.Args...), " "))), note)
	}
	return t.Flush()
}

// sessionText is what a session begins with. It is the same in every workspace, and says
// nothing that a workspace has said.
const sessionText = `An agent of Waymark serves this workspace, by the MCP server "` + connect.Name + `". Its tools run commands that may go on
running (execute, process_output), read and edit files (read_file, edit_files), say what has changed (git_diff), and
find and call the tools of the workspace's approved MCP servers (find_tools, call_tool). Skills and instructions that
you don't read by yourself are among its resources and prompts; read_skill reads one.
`

func (a *app) sessionStartCommand() *cobra.Command {
	var conn connection
	return &cobra.Command{
		Use:    "session-start",
		Short:  "Print the text at the start of a client's session, for its hook",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := conn.client()
			if err != nil {
				return nil // a hook that fails is shown in every session
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), askWithin)
			defer cancel()
			if _, err := c.Status(ctx); err != nil {
				return nil
			}
			_, err = io.WriteString(a.stdout, sessionText)
			return err
		},
	}
}
