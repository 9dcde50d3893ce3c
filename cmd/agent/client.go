package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
	"waymark/host/config"
)

// connection selects the running agent that a command talks to.
type connection struct {
	listen    string
	tokenFile string
	// dir replaces the current directory in the search for an agent: some clients start all
	// servers in one place.
	dir string
	// cmd is the command; nil if nobody reads side messages.
	cmd *cobra.Command
}

// addFlags adds the flags to a command and all its subcommands.
func (c *connection) addFlags(cmd *cobra.Command) {
	c.cmd = cmd
	f := cmd.PersistentFlags()
	f.StringVar(&c.listen, "listen", "", "`address` of the agent, instead of this directory's: unix:PATH or tcp:HOST:PORT")
	f.StringVar(&c.tokenFile, "listen-token-file", "", "`file` with the token of an agent that listens on TCP, as for 'agent run'")
}

// client returns a client for commands that change something: of the named agent, or of the
// one that serves the current directory. It connects on each call.
func (c *connection) client() (client.Client, error) { return c.clientFor(nobody) }

// reader returns a client for commands that only read. If no agent serves the current
// directory and just one runs, it takes that one.
func (c *connection) reader() (client.Client, error) { return c.clientFor(anybody) }

func (c *connection) clientFor(only func(*agent.Instance) bool) (client.Client, error) {
	t, err := c.find(only)
	if err != nil {
		return nil, err
	}
	return t.client(t.token), nil
}

// client returns a client of the agent that sends token.
func (t *target) client(token string) client.Client {
	opts := client.Options{Token: token}
	if token != "" && t.instance != nil && t.instance.Socket() != "" {
		opts.Dial = t.instance.Dial
	}
	return client.New(t.address, opts)
}

// target is the selected agent.
type target struct {
	address, token string
	// instance is nil if no state directory describes the agent.
	instance *agent.Instance
}

// nobody and anybody are the rules for commands called where no agent runs: whether the
// only running one will do.
func nobody(*agent.Instance) bool  { return false }
func anybody(*agent.Instance) bool { return true }

// find selects the agent and the token to send. only reports whether the only running one
// will do.
func (c *connection) find(only func(*agent.Instance) bool) (*target, error) {
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return nil, err
	}
	if c.unnamed() {
		return c.findUnnamed(paths, only)
	}
	if c.listen == "" {
		return nil, cli.Usage("--listen-token-file without --listen: the usual place is a socket, which needs no token")
	}
	network, address, err := agent.ParseListen(c.listen)
	switch {
	case err != nil:
		return nil, err
	case network == "unix":
		if address, err = filepath.Abs(address); err != nil {
			return nil, err
		}
		return c.onSocket(c.listen, agent.Listening(paths, "unix:"+address)), nil
	case c.tokenFile == "":
		return nil, cli.Usage("--listen %q needs --listen-token-file: name the file that the agent was started with", c.listen)
	}
	token, err := agent.TokenIn(paths, c.tokenFile)
	if err != nil {
		return nil, err
	}
	return &target{address: c.listen, token: token, instance: agent.Listening(paths, "tcp:"+address)}, nil
}

// onSocket returns the agent at a socket, with its control token.
func (c *connection) onSocket(address string, i *agent.Instance) *target {
	token, err := i.Control()
	if err != nil {
		c.say("this command can only read: %s", cli.ErrorText(err))
	}
	return &target{address: address, token: token, instance: i}
}

// unnamed reports whether no flag names an agent.
func (c *connection) unnamed() bool { return c.listen == "" && c.tokenFile == "" }

// ownWorkspace reports whether the command's flags describe a workspace, which is then
// resolved without a running agent. It is a usage error if they also name an agent.
func (c *connection) ownWorkspace(cmd *cobra.Command) (own bool, err error) {
	for _, name := range []string{"root", "source", "plugins", "config"} {
		own = own || cmd.Flags().Changed(name)
	}
	if own && !c.unnamed() {
		return false, cli.Usage("--listen asks a running agent, which has its own --root, --source, --plugins and --config: leave these out")
	}
	return own, nil
}

// findUnnamed selects the agent when no flag names one: the one that WAYMARK_SOCKET names;
// else that of the nearest directory, upwards from the current one; else the only running
// one, if it will do.
func (c *connection) findUnnamed(paths *config.Paths, only func(*agent.Instance) bool) (*target, error) {
	if paths.Socket != "" {
		return c.onSocket(paths.Socket, agent.Listening(paths, "unix:"+paths.Socket)), nil
	}
	running, err := agent.Instances(c.context(), paths)
	if err != nil {
		return nil, err
	}
	i := nearest(running, cmp.Or(c.dir, workingDir()))
	switch {
	case i != nil:
	case len(running) == 0:
		return nil, errNoneRuns
	case len(running) == 1 && only(running[0]):
		i = running[0]
		c.say("this is the agent of %s, the only one that runs", i.Name())
	case c.cmd == nil: // a client has started this, not a person
		return nil, fmt.Errorf("%w for %s: start one there with 'agent run'", client.ErrNotRunning, cli.Visible(cmp.Or(c.dir, workingDir(), "this directory")))
	default:
		return nil, noneHere(running)
	}
	if i.Socket() == "" {
		return nil, cli.Usage("the agent of %s asks for a token: name it with --listen %s --listen-token-file FILE", cli.Visible(cmp.Or(i.Root, "no root yet")), i.Listen)
	}
	return c.onSocket(i.Socket(), i), nil
}

// errNoneRuns is the error of commands that find no running agent.
var errNoneRuns = fmt.Errorf("%w: start one with 'agent run'", client.ErrNotRunning)

// noneHere is the error when it is unclear which running agent is meant.
func noneHere(running []*agent.Instance) error {
	list := ""
	for _, i := range running {
		list += "\n  " + i.Name()
	}
	return fmt.Errorf("%w for this directory or one above it: go to one of these, or name one with --listen%s", client.ErrNotRunning, list)
}

// nearest returns the agent that serves dir or its nearest ancestor, or nil. Of several it
// prefers the one that was started for that directory.
func nearest(running []*agent.Instance, dir string) (best *agent.Instance) {
	for _, i := range running {
		if i.Contains(dir) && (best == nil || len(i.Root) > len(best.Root) || len(i.Root) == len(best.Root) && i.StartedFor()) {
			best = i
		}
	}
	return best
}

// workingDir returns the working directory with links resolved, or "" if it can't.
func workingDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	if dir, err = config.Resolved(dir); err != nil {
		return ""
	}
	return dir
}

// context returns the command's context.
func (c *connection) context() context.Context {
	if c.cmd == nil || c.cmd.Context() == nil {
		return context.Background()
	}
	return c.cmd.Context()
}

// say prints a side message.
func (c *connection) say(format string, args ...any) {
	if c.cmd != nil {
		_, _ = fmt.Fprintf(c.cmd.ErrOrStderr(), format+"\n", args...)
	}
}

// asking returns the body of a command that sends an agent requests.
func asking(dial func() (client.Client, error), ask func(context.Context, client.Client, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := dial()
		if err != nil {
			return err
		}
		return ask(cmd.Context(), c, args)
	}
}

// absolutePath makes a path absolute here, because the agent has another working directory.
// "~" stays, because it means the agent's home.
func absolutePath(path string) (string, error) {
	switch {
	case path == "":
		return "", cli.Usage("an empty path names nothing")
	case path == "~" || strings.HasPrefix(path, "~/"):
		return path, nil
	}
	return filepath.Abs(path)
}
