// Package mcpserver is Waymark's own MCP server: it gives any client that speaks MCP what
// a workspace's agent knows and does.
//
// It is a client of a running agent, and no second engine. It offers the tools of package
// tools; the workspace's skills, by the MCP skills extension (SEP-2640), as resources,
// and as prompts for clients without the extension; the workspace's instructions as
// resources; the tools of the workspace's approved MCP servers, each by its own name or,
// where they would take too much of a chat, through find_tools and call_tool. What
// changes in the workspace changes here, and clients are told (list_changed).
//
// # Guarantees
//
//   - It serves while no agent runs, says so, and goes on when one comes (back): a call
//     waits for it a moment, and then tells the model what somebody has to do.
//   - Nothing is done but with the token that the agent's client carries, and nothing is
//     offered that Options don't: what isn't offered isn't called, whatever the name.
//   - What stands in a workspace is never told as if Waymark said it: names and
//     descriptions are one line each, without characters that can't be seen; the text of
//     a prompt is in a frame that it can't close; results of tools are JSON.
//   - What a chat begins with, tools and instructions, is bounded: see [Budget].
//
// # Concurrency
//
// A Server serves any number of sessions at once, over standard input and output, over
// HTTP, or both. New sets, Run follows the agent until its context ends. An [Endpoint] is
// how an agent serves MCP itself: a Server for each token that callers show.
//
// # Limits
//
// Sampling, elicitation and logging aren't used, and nothing is completed. Supporting
// files of skills are what they are when they are read: a client that wants those of a
// manifest compares the digests.
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
	"waymark/internal/backoff"
	"waymark/internal/mcpskills"
	"waymark/workspace/mcpserver/tools"
)

// Budget is about how many tokens the tools and the instructions of a session may take
// together, as bytes by four: what a chat pays before its first word.
const Budget = 4000

const (
	// firstLook is how long the beginning of a session waits for the first snapshot: what
	// its instructions say is said once.
	firstLook = 3 * time.Second
	// patience is how long a call waits for an agent that was there and is gone: as long
	// as a restart takes.
	patience = 5 * time.Second
	// longestRetry is the longest pause between two attempts to find an agent.
	longestRetry = 2 * time.Second
)

// Options configure a Server. Dial must be there; the rest works as it is.
type Options struct {
	// Dial finds the agent, and makes a client with the token that everything is done
	// with. It is called again whenever the agent is lost. Its error is told to people
	// and models as it is, so that it says what to do.
	Dial func(ctx context.Context) (client.Client, error)
	// Offer are the tools. The zero value offers those that read.
	Offer tools.Offer
	// NoSkills, NoInstructions and NoServers leave these out.
	NoSkills, NoInstructions, NoServers bool
	// Client is the id of a client in the table of conventions: what that reads by
	// itself isn't offered again. Empty offers all.
	Client string
	// ListAll lists the tools of MCP servers by their own names, however many there
	// are; else they are listed while they take less than [ListedTools] tokens.
	ListAll bool
	// Version is Waymark's.
	Version string
	// Logger gets what is wrong without being an error of anybody's. Nil means none.
	Logger *slog.Logger
}

// ListedTools is about how many tokens the tools of MCP servers may take to be listed by
// their own names. Where they take more, there are find_tools and call_tool.
const ListedTools = 1200

// Server is an MCP server. See the package comment.
type Server struct {
	opts Options
	log  *slog.Logger
	// sdkLog is the SDK's; nil unless somebody wants to know everything.
	sdkLog *slog.Logger
	mcp    *mcp.Server
	first  chan struct{} // closed when the first snapshot has been looked at, or there is no agent
	once   sync.Once

	mu    sync.Mutex // guards what follows
	agent client.Client
	lost  error // why there is no agent; nil while there is one
	root  string
	view  view // what is offered of the newest snapshot

	syncing sync.Mutex // held while what is offered is brought up to date, and guards what follows
	finding []string   // those of the tools about tools that are offered
}

// New makes a server. Nothing is asked of the agent before Run.
func New(opts Options) *Server {
	s := &Server{opts: opts, log: opts.Logger, first: make(chan struct{})}
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	if s.log.Enabled(context.Background(), slog.LevelDebug) {
		s.sdkLog = s.log // at the level info it tells of each session
	}
	caps := &mcp.ServerCapabilities{
		Tools:     &mcp.ToolCapabilities{ListChanged: true},
		Resources: &mcp.ResourceCapabilities{ListChanged: true},
		Prompts:   &mcp.PromptCapabilities{ListChanged: true},
	}
	if !opts.NoSkills {
		caps.AddExtension(mcpskills.Extension, map[string]any{"directoryRead": true})
	}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "waymark", Title: "Waymark", Version: cmp.Or(opts.Version, "0")}, &mcp.ServerOptions{
		Capabilities: caps, Logger: s.sdkLog, PageSize: 200,
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.TTLMs, c.CacheScope = 0, "private" },
	})
	s.mcp.AddReceivingMiddleware(s.forCaller, s.introduce)
	var own []tools.Tool // those about tools come when there are tools
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

// Run follows the agent until ctx ends. It returns nil then.
func (s *Server) Run(ctx context.Context) error {
	retry := backoff.Backoff{Shortest: longestRetry / 16, Longest: longestRetry}
	for ctx.Err() == nil {
		c, err := s.dial(ctx)
		if err == nil {
			retry.Reset()
			err = s.follow(ctx, c)
		}
		if ctx.Err() == nil {
			s.lose(err)
			s.log.Debug("waiting for the agent", slog.Any("error", err))
			_ = backoff.Sleep(ctx, retry.Next()) // the loop's condition is that error
		}
	}
	return nil
}

// dial finds the agent.
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

// lose notes that there is no agent. What was offered last stays, so that a restart isn't
// told to clients as the end of everything.
func (s *Server) lose(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = cmp.Or(err, client.ErrNotRunning)
	if s.agent == nil {
		s.once.Do(func() { close(s.first) })
	}
}

// follow brings what is offered up to date with each snapshot, until the agent is lost.
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

// connected returns the agent's client, and waits for an agent that comes back.
func (s *Server) connected(ctx context.Context) (client.Client, error) {
	s.mu.Lock()
	c, lost := s.agent, s.lost
	s.mu.Unlock()
	if c != nil && lost == nil {
		return c, nil
	}
	wait := patience
	if c == nil { // there was none yet: one look will do
		wait = 0
	}
	return s.redial(ctx, wait)
}

// redial finds the agent anew, and tries for a while.
func (s *Server) redial(ctx context.Context, wait time.Duration) (client.Client, error) {
	retry := backoff.Backoff{Shortest: 50 * time.Millisecond, Longest: longestRetry}
	for deadline := time.Now().Add(wait); ; {
		c, err := s.dial(ctx)
		if err == nil || time.Now().After(deadline) {
			return c, err
		}
		if backoff.Sleep(ctx, retry.Next()) != nil {
			return nil, err
		}
	}
}

// do does something with the agent, and once more where nobody answered: then nothing was
// done.
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

// look returns what is offered now.
func (s *Server) look() (view, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view, s.root
}

// reads reports whether the client reads a resource by itself.
func (s *Server) reads(readers []string) bool {
	return s.opts.Client != "" && slices.Contains(readers, s.opts.Client)
}
