package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
	"waymark/host/config"
	"waymark/internal/credential"
	"waymark/internal/text"
	"waymark/workspace/access"
	"waymark/workspace/mcpserver"
	"waymark/workspace/mcpserver/tools"
)

// mcpServe are the flags of mcp serve.
type mcpServe struct {
	plan      string
	readOnly  bool
	only      []string
	client    string
	listAll   bool
	start     bool
	desktop   bool
	http      string
	tokenFile string
	dir       string
}

// Parts that --only knows besides the names of tools.
const (
	partTools        = "tools"
	partSkills       = "skills"
	partInstructions = "instructions"
	partServers      = "servers"
)

func (a *app) mcpServeCommand(conn *connection) *cobra.Command {
	var s mcpServe
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the workspace to an MCP client",
		Long: `Serve is an MCP server of the workspace. It offers the running agent's services for
chats (commands, files, git), the workspace's skills and instructions, and the tools of
its approved MCP servers. It uses standard input and output, for the client that starts
it. With --http clients connect to a loopback port and show a token.

Serve is a client of the agent of the current directory. If none runs it waits for one,
and its tools say so. It continues over restarts of the agent. With --start it starts one
at the top of the repository if none runs there, which ends ten minutes after its last
client, but not while it holds a process; its log is on-demand.log in the workspace's
state directory. It starts none outside of a repository, nor in the home directory.

With --read-only it offers nothing that acts, and uses no token. With --plan it uses a
token with a fence: only that file can be written, also by commands, and tools of MCP
servers aren't called.

--client NAME omits the skills and instructions that this client reads itself, and the
MCP servers that it starts itself. --only
selects what is offered: tools, skills, instructions, servers, or single tools. A few
tools of MCP servers are listed by name. If there are more, clients find them with
find_tools and call them with call_tool; --list-all lists all of them.

'agent mcp tools', or serve with </dev/null, prints what a client would be told.`,
		Example: `  agent mcp serve
  agent mcp serve --client codex
  agent mcp serve --read-only --only skills,instructions,read_file
  agent mcp serve --plan PLAN.md
  agent mcp serve --http 127.0.0.1:7979 --http-token-file ~/.waymark-mcp-token`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serveMCP(cmd, conn, &s) },
	}
	s.addFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&s.start, "start", false, "start an agent for the repository if none runs")
	f.StringVar(&s.http, "http", "", "serve at this loopback `address`, HOST:PORT, instead of standard input and output")
	f.StringVar(&s.tokenFile, "http-token-file", "", "with --http: the `file` with the token that clients show; created if it doesn't exist")
	return cmd
}

// mcpToolsCommand shows what serve tells a client.
func (a *app) mcpToolsCommand(conn *connection) *cobra.Command {
	var s mcpServe
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "Show what 'agent mcp serve' tells a client",
		Long: `Tools prints the instructions, tools, resources and prompts that a client gets from
'agent mcp serve' with the same flags at the start of a session, and about how many
tokens the instructions and tools take there.`,
		Example: `  agent mcp tools --client claude-code
  agent mcp tools --read-only --json | jq -r '.tools[].name'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withMCPServer(cmd, conn, &s, func(ctx context.Context, server *mcpserver.Server) error { return a.tellMCP(ctx, server, asJSON) })
		},
	}
	s.addFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// addFlags adds the flags that say what is offered.
func (s *mcpServe) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.plan, "plan", "", "the only `file` that can be written")
	f.BoolVar(&s.readOnly, "read-only", false, "offer only what reads")
	f.StringSliceVar(&s.only, "only", nil, "offer only these `parts`: tools, skills, instructions, servers, or names of tools, separated by commas")
	f.StringVar(&s.client, "client", "", "omit what the client of this `name` reads or starts itself")
	f.BoolVar(&s.desktop, "desktop", false, "also offer the tool computer, for the desktop that services.desktop allows")
	f.BoolVar(&s.listAll, "list-all", false, "list all tools of MCP servers by name")
	f.StringVar(&s.dir, "dir", "", "serve the workspace of this `directory`, instead of the current one")
	_ = cmd.RegisterFlagCompletionFunc("dir", cli.Directories)
	_ = cmd.RegisterFlagCompletionFunc("client", clientNames)
	_ = cmd.RegisterFlagCompletionFunc("only", partNames)
}

func partNames(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return parts(), cobra.ShellCompDirectiveNoFileComp
}

// parts are all parts that --only knows.
func parts() []string {
	return append([]string{partTools, partSkills, partInstructions, partServers}, tools.Names()...)
}

// options returns the server's options.
func (s *mcpServe) options() (mcpserver.Options, error) {
	opts := mcpserver.Options{Client: s.client, ListAll: s.listAll, Version: cli.CurrentVersion().Version}
	if !s.readOnly {
		opts.Offer = tools.All()
	}
	if s.desktop && !s.readOnly {
		opts.Offer = opts.Offer.WithDesktop()
	}
	opts.Offer.Plan = s.plan != ""
	if s.only == nil {
		return opts, nil
	}
	own := slices.Contains(s.only, partTools)
	opts.NoSkills, opts.NoInstructions = !slices.Contains(s.only, partSkills), !slices.Contains(s.only, partInstructions)
	opts.NoServers = !slices.Contains(s.only, partServers)
	opts.Offer.Only = []string{}
	for _, name := range tools.Names() {
		switch {
		case tools.AboutServers(name):
			if opts.NoServers && !slices.Contains(s.only, name) {
				continue
			}
			opts.NoServers = false
		case name == tools.ReadSkill && !opts.NoSkills:
		case !own && !slices.Contains(s.only, name):
			continue
		}
		opts.Offer.Only = append(opts.Offer.Only, name)
	}
	for _, name := range s.only {
		if known := parts(); !slices.Contains(known, name) {
			hint := ""
			if near := text.Nearest(name, known); near != "" {
				hint = fmt.Sprintf("; did you mean %s?", near)
			}
			return opts, cli.Usage("--only %s: it is neither tools, skills, instructions or servers nor the name of a tool%s", cli.Visible(name), hint)
		}
	}
	return opts, nil
}

func (a *app) serveMCP(cmd *cobra.Command, conn *connection, s *mcpServe) error {
	switch {
	case s.tokenFile != "" && s.http == "":
		return cli.Usage("--http-token-file goes with --http HOST:PORT, and a client that starts the command needs no token")
	case s.http != "" && s.tokenFile == "":
		return cli.Usage("--http %s needs --http-token-file: any user of this machine can connect there", s.http)
	}
	return a.withMCPServer(cmd, conn, s, func(ctx context.Context, server *mcpserver.Server) error {
		switch {
		case s.http != "":
			return a.serveMCPHTTP(ctx, server, s)
		case isNull(os.Stdin):
			return a.tellMCP(ctx, server, false)
		}
		return server.ServeStdio(ctx, os.Stdin, nopCloser{a.stdout})
	})
}

// isNull reports whether a file is the null device, by which a person asks what a client would
// be told.
func isNull(f *os.File) bool {
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && os.SameFile(info, null)
}

// tellMCP prints what a client is told.
func (a *app) tellMCP(ctx context.Context, server *mcpserver.Server, asJSON bool) error {
	told, err := server.Tell(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.JSON(a.stdout, told)
	}
	out := cli.Lines{W: a.stdout}
	out.Printf("%s", strings.TrimSuffix(cli.VisibleLines(told.Instructions, ""), "\n"))
	if out.Err != nil {
		return out.Err
	}
	for _, part := range []struct {
		header []string
		list   []mcpserver.ToldItem
	}{{[]string{"TOOL", "TOKENS", "DESCRIPTION"}, told.Tools}, {[]string{"RESOURCE", "DESCRIPTION"}, told.Resources}, {[]string{"PROMPT", "DESCRIPTION"}, told.Prompts}} {
		if len(part.list) == 0 {
			continue
		}
		out.Printf("")
		t := cli.NewTable(a.stdout, part.header...)
		for i := range part.list {
			cells := []string{cli.Visible(part.list[i].Name), fmt.Sprint(part.list[i].Tokens), oneLine(part.list[i].Description)}
			if len(part.header) == 2 {
				cells = slices.Delete(cells, 1, 2)
			}
			t.Row(cells...)
		}
		if err := errors.Join(out.Err, t.Flush()); err != nil {
			return err
		}
	}
	a.side("instructions and tools take about %d tokens of each chat", told.Tokens)
	return nil
}

// withMCPServer calls do with a server that follows the agent.
func (a *app) withMCPServer(cmd *cobra.Command, conn *connection, s *mcpServe, do func(context.Context, *mcpserver.Server) error) (err error) {
	if s.readOnly && s.plan != "" {
		return cli.Usage("--read-only writes nothing, --plan one file: use one of them")
	}
	opts, err := s.options()
	if err != nil {
		return err
	}
	if opts.Logger, err = a.logger(); err != nil {
		return err
	}
	if s.dir != "" {
		if s.dir, err = absolutePath(s.dir); err != nil {
			return err
		}
	}
	if s.plan != "" {
		if s.plan, err = absolutePath(s.plan); err != nil {
			return err
		}
	}
	d := &mcpDialer{conn: conn, dir: s.dir, plan: s.plan, readOnly: s.readOnly, start: s.start}
	opts.Dial = d.dial
	server := mcpserver.New(opts)
	ctx, cancel := context.WithCancel(cmd.Context())
	followed := make(chan error, 1)
	go func() { followed <- server.Run(ctx) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-followed)
		d.close()
	}()
	return do(ctx, server)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// mcpDialer finds the agent, and connects with a token that may do what is offered.
type mcpDialer struct {
	conn     *connection
	dir      string
	plan     string
	readOnly bool
	start    bool

	mu      sync.Mutex // serializes dialing, and guards the fields below
	minted  *agentapi.MintedToken
	control client.Client // the client that minted it
	started bool          // an agent, which happens once: it may be ended on purpose
}

// tokenLife is the validity of a minted token: longer than a client runs. Unless killed,
// the client revokes it when it ends.
const tokenLife = 7 * 24 * time.Hour

func (d *mcpDialer) dial(ctx context.Context) (client.Client, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := *d.conn
	c.dir, c.cmd = d.dir, nil
	t, err := c.find(nobody)
	if project := d.lacksAgent(&c, t, err); project != "" && !d.started {
		d.started = true
		t, err = startOnDemand(ctx, &c, project)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case d.readOnly && strings.HasPrefix(t.address, "tcp:"): // on TCP every request needs a token
	case d.readOnly:
		t.token = ""
	case d.plan != "":
		if t.token, err = d.mint(ctx, t); err != nil {
			return nil, err
		}
	}
	return t.client(t.token), nil
}

// mint returns a token with a fence: the one minted before if the agent still knows it,
// else a new one.
func (d *mcpDialer) mint(ctx context.Context, t *target) (string, error) {
	if m := d.minted; m != nil {
		_, err := t.client(m.Secret).Status(ctx)
		if client.CodeOf(err) != http.StatusUnauthorized {
			return m.Secret, err
		}
	}
	control := t.client(t.token)
	until := time.Now().Add(tokenLife)
	made, err := control.CreateToken(ctx, agentapi.NewToken{Plan: d.plan, ExpiresAt: &until, Scopes: []string{string(access.ScopeProcesses), string(access.ScopeFiles)}})
	if err != nil {
		return "", err
	}
	d.minted, d.control = made, control
	return made.Secret, nil
}

// close revokes the token.
func (d *mcpDialer) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.minted == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = d.control.RevokeToken(ctx, d.minted.ID) // it expires in any case
}

// serveMCPHTTP serves on a loopback port.
func (a *app) serveMCPHTTP(ctx context.Context, server *mcpserver.Server, s *mcpServe) error {
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return err
	}
	file, err := paths.Token(s.tokenFile)
	if err != nil {
		return err
	}
	token, err := agent.MakeToken(file)
	if err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(s.http)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return cli.Usage("--http %s: use a loopback address, such as 127.0.0.1:7979", s.http)
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", s.http)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", bearer(token, server.Handler()))
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 32 << 10}
	if _, err := fmt.Fprintf(a.stdout, "http://%s/mcp\n", l.Addr()); err != nil {
		return errors.Join(err, l.Close())
	}
	a.progress("clients show the token in " + cli.Visible(file.Path()) + ": Authorization: Bearer TOKEN")
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	err = web.Close() // streams last as long as their clients want
	if failed := <-served; !errors.Is(failed, http.ErrServerClosed) {
		err = errors.Join(err, failed)
	}
	return err
}

// bearer admits only requests with the token.
func bearer(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !credential.Same(shown, token) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "show the token, as Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
