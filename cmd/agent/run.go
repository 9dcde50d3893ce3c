package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"waymark/agent"
	"waymark/cmd/internal/cli"
	"waymark/host/config"
	"waymark/hub/client"
)

func (a *app) runCommand() *cobra.Command {
	var s agent.Options
	cmd := &cobra.Command{
		Use:   "run [DIR]",
		Short: "Watch a workspace and push its context to a hub",
		Long: `Run finds the context of coding agents in the root directory (DIR, by default the
current one), in ~/.waymark, ~/.coder and the given sources. It pushes each change to a
hub until interrupted.

Run also finds what coding agents read in your home directory, such as
~/.claude/CLAUDE.md. This stays on this machine, unless the configuration has
[conventions] user = "pushed". It looks into repositories in directories of the root,
too; their context applies to their own files ([conventions] children).

You can run several agents, one for each root; 'agent list' shows them. Without --url,
and without a URL in the configuration, they share your own hub on this machine. One of
them serves it, on 127.0.0.1:7878 or a free port, with a database in the state
directory. When that agent ends another takes over.

The agent pushes to a Coder server only with --coder, because the workspace's own agent
owns the same rows there.

The configuration is reread when one of its files changes, and on SIGHUP.

The contents of a workspace can't select other places: if a link in the root leads out
of it, or to secrets, a source through that link is ignored. Name the link's target
instead.

Environment, for use in Coder workspaces; lists are separated by commas, and relative
paths are relative to the root:
  CODER_AGENT_EXP_INSTRUCTIONS_DIRS   directories with instruction files
  CODER_AGENT_EXP_INSTRUCTIONS_FILE   another name of an instruction file
  CODER_AGENT_EXP_SKILLS_DIRS         directories with skills
  CODER_AGENT_EXP_SKILL_META_FILE     another name for SKILL.md
  CODER_AGENT_EXP_MCP_CONFIG_FILES    MCP configuration files`,
		Example: `  agent run
  agent run ~/project --source ~/notes/AGENTS.md
  agent run --url https://hub.example.com --token-file ~/.config/waymark/token
  agent run --coder
  agent run --root "" --wait-for /tmp/cloned   # see 'agent root --help'`,
		Args: cli.Named("[DIR]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
			case cmd.Flags().Changed("root"):
				return cli.Usage("DIR and --root are the same: use one of them")
			case args[0] == "":
				return cli.Usage("an empty path names nothing; --root \"\" is for a root that comes later")
			default:
				s.Root = args[0]
			}
			return a.runAgent(cmd.Context(), &s)
		},
	}
	addSettings(cmd, &s.Settings)
	f := cmd.Flags()
	f.StringVar(&s.Root, "root", ".", "working `directory` to look into, as DIR; empty if it isn't known yet")
	f.StringArrayVar(&s.Sources, "source", nil, "another `path` to look into, a directory or a file, which may not exist yet; may be repeated")
	f.StringVar(&s.URL, "url", "", "`URL` of the hub to push to: https://HOST, unix:PATH or tcp:HOST:PORT (default your agents' own hub)")
	f.StringVar(&s.TokenFile, "token-file", "", "`file` with the agent's token for --url")
	f.BoolVar(&s.Coder, "coder", false, "push to the Coder server that CODER_AGENT_URL and CODER_AGENT_TOKEN (or _TOKEN_FILE) name")
	f.BoolVar(&s.Insecure, "insecure", false, "allow a URL with http to another machine")
	f.StringVar(&s.WaitFor, "wait-for", "", "delay the first snapshot until this `file` exists, at most 10 minutes")
	f.DurationVar(&s.EndIdle, "end-idle", 0, "end when for this `time` no client has asked anything and no process runs, such as 10m (default never)")
	f.StringVar(&s.Listen, "listen", "", "`address` of the local API: unix:PATH or tcp:HOST:PORT")
	f.StringVar(&s.ListenTokenFile, "listen-token-file", "", "`file` with the token for --listen tcp:…; created if it doesn't exist")
	return cmd
}

// runAgent runs an agent until it is interrupted, and prints its first snapshot.
func (a *app) runAgent(ctx context.Context, s *agent.Options) (err error) {
	if s.Log, err = a.logger(); err != nil {
		return err
	}
	s.Program = &a.Program
	if cli.IsTerminal(a.stderr) && cli.IsTerminal(os.Stdin) {
		s.Confirm = func(changed error) (bool, error) {
			_, err := fmt.Fprintln(a.stderr, changed)
			return err == nil && confirmed(a.stderr, os.Stdin, "Let what is there now count?"), err
		}
	}
	d, err := agent.New(ctx, *s)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // asked to end before it began, which is no failure
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	a.tellAbove(ctx, d)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var g errgroup.Group
	g.Go(func() error { defer cancel(); return d.Run(ctx) })
	g.Go(func() error { return a.printFirst(ctx, d) })
	return g.Wait()
}

// tellAbove says that another agent already looks at this directory, which a person may not
// have meant to double.
func (a *app) tellAbove(ctx context.Context, d *agent.Agent) {
	paths, err := config.FindPaths(config.Environment{})
	own := d.Instance()
	if err != nil || own == nil || own.Root == "" {
		return
	}
	running, err := agent.Instances(ctx, paths)
	if err != nil {
		return
	}
	running = slices.DeleteFunc(running, func(i *agent.Instance) bool { return i.Root == own.Root })
	if above := nearest(running, own.Root); above != nil {
		a.side("an agent runs above, in %s; commands in %s now mean this one", cli.Visible(above.Root), cli.Visible(own.Root))
	}
}

// storedWithin is how long printFirst waits for the first push before it prints that it
// keeps waiting.
const storedWithin = 10 * time.Second

// printFirst prints the first snapshot, and where it was stored. After that the agent
// writes only its log.
func (a *app) printFirst(ctx context.Context, d *agent.Agent) error {
	s, err := d.Wait(ctx, 0)
	if err != nil {
		return nil // interrupted before there was anything to show
	}
	// What is waited for more than what follows: that it is stored, and what became of the
	// MCP servers.
	soon, done := context.WithTimeout(ctx, min(time.Second, cmp.Or(a.Timeout, storedWithin)))
	_ = d.Accepted(soon, s.Version)
	for next := s; err == nil && next.Discovery.Pending(); {
		if next, err = d.Wait(soon, next.Version); err == nil {
			s = next
		}
	}
	done()
	if err := printOverview(a.stdout, s, d.Base()); err != nil {
		return err
	}
	if err := printDiffers(ctx, a.stdout, d); err != nil {
		return err
	}
	if unused, err := d.Coverage(ctx); err == nil { // an error means that it is interrupted
		if err := printCoverage(a.stdout, unused); err != nil {
			return err
		}
	}
	wait, cancel := context.WithTimeout(ctx, cmp.Or(a.Timeout, storedWithin))
	defer cancel()
	err = d.Accepted(wait, s.Version)
	switch p := d.Status().Push; {
	case ctx.Err() != nil:
		return nil
	case err == nil:
		return a.printStored(ctx, d, p.Peer, s.Version)
	default:
		_, err = fmt.Fprintf(a.stdout, "not stored yet: %s is %s; the newest snapshot is sent as soon as it can be, see 'agent status'\n", p.Peer, p.State)
		if err != nil {
			return err
		}
	}
	if err := d.Accepted(ctx, s.Version); err != nil {
		return nil // interrupted, or configured to push to another peer
	}
	p := d.Status().Push
	if last := p.LastAccepted; last != nil { // by now it may be a later one
		return a.printStored(ctx, d, p.Peer, last.Version)
	}
	return nil
}

func (a *app) printStored(ctx context.Context, d *agent.Agent, peer string, version uint64) error {
	if d.Hub() == nil {
		_, err := fmt.Fprintf(a.stdout, "stored: %s has version %d\n", peer, version)
		return err
	}
	return printStored(ctx, a.stdout, d.Hub(), version)
}

// printStored prints where the stored results can be seen. The link works once and expires
// soon.
func printStored(ctx context.Context, w io.Writer, h *agent.Hub, version uint64) error {
	url := h.URL()
	if _, err := fmt.Fprintf(w, "stored: the hub at %s has version %d\n", url, version); err != nil {
		return err
	}
	if cli.IsTerminal(w) {
		if link, err := loginLink(ctx, url, h.ReaderFile()); err == nil {
			_, err = fmt.Fprintf(w, "its page, with a link that works once, within ten minutes ('hub login' prints another):\n  %s\n", cli.Visible(link))
			return err
		}
	}
	// The output may be kept, as in a journal, and the link is a secret.
	_, err := fmt.Fprintf(w, "its page in a browser: 'hub login' prints a link; 'agent status' says how it all is\n")
	return err
}

// loginLink requests a link to the hub's page.
func loginLink(ctx context.Context, url, reader string) (string, error) {
	token, err := agent.NamedToken(reader)
	if err != nil {
		return "", err
	}
	login, err := client.New(url, client.Options{Token: token}).Login(ctx)
	if err != nil {
		return "", err
	}
	return login.URL, nil
}
