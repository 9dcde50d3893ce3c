// Package mcpserver is Waymark's own MCP server. It gives any MCP client access to what a
// workspace's agent knows and does.
//
// It is a client of a running agent. It offers the tools of package tools; the workspace's
// skills as resources, by the MCP skills extension (SEP-2640), and as prompts for clients
// without the extension; the workspace's instructions as resources; and the tools of the
// workspace's approved MCP servers, each by its own name or, if they would take too much of
// a chat, through find_tools and call_tool. It follows changes in the workspace and
// notifies clients of them (list_changed).
//
// # Guarantees
//
//   - It serves even while no agent runs, and continues when one starts: a call waits for the agent a
//     moment, and then tells the model what to do.
//   - Everything is done with the token of the agent's client, and only what Options offer can be
//     called, whatever name a client uses.
//   - Content of the workspace is never presented as Waymark's own: names and descriptions are single
//     lines without invisible characters; the text of a prompt is in a frame that it can't close;
//     results of tools are JSON.
//   - The tools and instructions at the beginning of a chat are limited: see [Budget].
//
// # Concurrency
//
// A Server serves any number of sessions at once, over standard input and output, over
// HTTP, or both. Run follows the agent until its context ends. An [Endpoint] serves MCP
// inside an agent, with a Server for each token that callers present.
//
// # Limits
//
// Everything of MCP servers is relayed except subscriptions, and list_changed of resources and
// prompts. Supporting files of skills are read when they are requested: a client that wants those
// of a manifest must compare the digests.
package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/agentapi/client"
	"waymark/internal/await"
	"waymark/internal/mcpserving"
	"waymark/workspace/mcpserver/tools"
)

// Budget is the approximate number of tokens that the tools and instructions of a session
// may take together, with four bytes per token: the cost of a chat before its first word.
const Budget = 4000

const (
	// firstLook is how long the beginning of a session waits for the first snapshot,
	// because its instructions are sent only once.
	firstLook = 3 * time.Second
	// patience is how long a call waits for an agent that has disconnected, which covers a
	// restart.
	patience = 5 * time.Second
	// longestRetry is the longest pause between attempts to find an agent.
	longestRetry = 2 * time.Second
)

// Options configure a Server. Only Dial is required.
type Options struct {
	// Dial finds the agent, and returns a client with the token for all calls. It is called
	// again when the connection is lost. People and models see its error, so it should say
	// what to do.
	Dial func(ctx context.Context) (client.Client, error)
	// Offer are the offered tools. The zero value offers those that read.
	Offer tools.Offer
	// NoSkills, NoInstructions and NoServers omit these.
	NoSkills, NoInstructions, NoServers bool
	// Client is the id of a client in the table of conventions. What that client reads
	// itself isn't offered, nor are the tools of MCP servers that it starts itself. Empty
	// offers everything.
	Client string
	// ListAll lists the tools of MCP servers by their own names, however many there are.
	// Otherwise they are listed only if they take less than [ListedTools] tokens.
	ListAll bool
	// Version is Waymark's version.
	Version string
	// Logger receives problems that no error reports. Nil means no log.
	Logger *slog.Logger
}

// ListedTools is the approximate number of tokens up to which the tools of MCP servers are
// listed by their own names. Beyond that, find_tools and call_tool replace them.
const ListedTools = 1200

// Server is an MCP server. See the package comment.
type Server struct {
	opts Options
	log  *slog.Logger
	// sdkLog is the SDK's log; nil except at debug level.
	sdkLog *slog.Logger
	mcp    *mcp.Server
	first  chan struct{} // closed when the first snapshot has been handled, or there is no agent
	once   sync.Once

	mu    sync.Mutex // guards the fields below
	agent client.Client
	lost  error // why there is no agent; nil while there is one
	root  string
	view  view // what the newest snapshot offers
	chats map[*mcp.ServerSession]*tools.Given

	syncing sync.Mutex // held while the view is updated; guards finding
	finding []string   // the offered ones of the tools about tools
}

// New makes a Server. It doesn't call the agent before Run.
func New(opts Options) *Server {
	s := &Server{opts: opts, log: opts.Logger, first: make(chan struct{})}
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	if s.log.Enabled(context.Background(), slog.LevelDebug) {
		s.sdkLog = s.log // at info level, the SDK logs each session
	}
	caps := &mcp.ServerCapabilities{
		Tools:     &mcp.ToolCapabilities{ListChanged: true},
		Resources: &mcp.ResourceCapabilities{ListChanged: true},
		Prompts:   &mcp.PromptCapabilities{ListChanged: true},
	}
	if s.relays() {
		caps.Completions, caps.Logging = &mcp.CompletionCapabilities{}, &mcp.LoggingCapabilities{}
	}
	if !opts.NoSkills {
		caps.AddExtension(mcpserving.SkillsExtension, map[string]any{"directoryRead": true})
	}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "waymark", Title: "Waymark", Version: cmp.Or(opts.Version, "0")}, &mcp.ServerOptions{
		Capabilities: caps, Logger: s.sdkLog, PageSize: 200,
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.TTLMs, c.CacheScope = 0, "private" },
	})
	s.mcp.AddReceivingMiddleware(s.forCaller, s.introduce, s.relay)
	var own []tools.Tool // the tools about tools are added when there are tools
	for _, t := range opts.Offer.Tools() {
		if !tools.AboutServers(t.Name) {
			own = append(own, t)
		}
	}
	s.addTools(own)
	if !opts.NoSkills {
		s.addSkillMethods()
	}
	return s
}

// Run follows the agent until ctx ends, and then returns nil.
func (s *Server) Run(ctx context.Context) error {
	retry := await.Backoff{Shortest: longestRetry / 16, Longest: longestRetry}
	for ctx.Err() == nil {
		c, err := s.dial(ctx)
		if err == nil {
			retry.Reset()
			err = s.follow(ctx, c)
		}
		if ctx.Err() == nil {
			s.lose(err)
			s.log.Debug("waiting for the agent", slog.Any("error", err))
			_ = await.Sleep(ctx, retry.Next()) // the loop checks the error
		}
	}
	return nil
}

// dial connects to the agent.
func (s *Server) dial(ctx context.Context) (client.Client, error) {
	c, err := s.opts.Dial(ctx)
	if err != nil {
		return nil, err
	}
	status, err := c.Status(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agent, s.lost = c, nil
	if n := len(status.Roots); n > 0 {
		s.root = status.Roots[n-1] // the working directory; the others are sources
	}
	return c, nil
}

// lose records that the connection to the agent is lost. The last view stays, so that
// clients don't see a restart as the end of everything.
func (s *Server) lose(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = cmp.Or(err, client.ErrNotRunning)
	if s.agent == nil {
		s.once.Do(func() { close(s.first) })
	}
}

// follow updates the view with each snapshot, until the connection is lost.
func (s *Server) follow(ctx context.Context, c client.Client) error {
	for snap, err := range c.Watch(ctx, 0) {
		if err != nil {
			return err
		}
		s.sync(ctx, c, snap)
		s.once.Do(func() { close(s.first) })
	}
	return nil
}

// connected returns the agent's client. It waits for an agent that has disconnected.
func (s *Server) connected(ctx context.Context) (client.Client, error) {
	s.mu.Lock()
	c, lost := s.agent, s.lost
	s.mu.Unlock()
	if c != nil && lost == nil {
		return c, nil
	}
	wait := patience
	if c == nil { // there was none before: try once
		wait = 0
	}
	return s.redial(ctx, wait)
}

// redial tries for a while to connect to the agent again.
func (s *Server) redial(ctx context.Context, wait time.Duration) (client.Client, error) {
	retry := await.Backoff{Shortest: 50 * time.Millisecond, Longest: longestRetry}
	for deadline := time.Now().Add(wait); ; {
		c, err := s.dial(ctx)
		if err == nil || time.Now().After(deadline) {
			return c, err
		}
		if await.Sleep(ctx, retry.Next()) != nil {
			return nil, err
		}
	}
}

// do calls what with the agent's client. It repeats the call if no agent answered, because
// then nothing was done.
func (s *Server) do(ctx context.Context, what func(client.Client) error) error {
	c, err := s.connected(ctx)
	if err != nil {
		return err
	}
	if err = what(asked(ctx, c)); !errors.Is(err, client.ErrNotRunning) {
		return err
	}
	if c, err = s.redial(ctx, patience); err != nil {
		return err
	}
	return what(asked(ctx, c))
}

// look returns the current view.
func (s *Server) look() (view, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view, s.root
}

// reads reports whether the client reads a resource itself.
func (s *Server) reads(readers []string) bool {
	return s.opts.Client != "" && slices.Contains(readers, s.opts.Client)
}
