// Package mcpserver is the hub's MCP server: a chat server anywhere reads the skills and the
// instructions of a snapshot that it has pinned, and has tools called in the workspace, by
// the agent that pushed it.
//
// There is one endpoint for each pin, and no session: every request stands for itself, in
// both generations of the protocol, so that any hub of a database serves it, before and
// after a restart. What changes a chat learns from the hub's events, with the results of
// its calls, and from list_changed on a stream that it opens: GET up to 2025-11-25,
// subscriptions/listen from 2026-07-28.
//
// # Who may do what
//
// A reader's token lets read what is pinned, of agents in its scope. Tools need a
// capability in addition, which the agent has minted and which comes with each request in
// the header [Header]. The hub looks at none, keeps none, and has none of its own: it
// passes it on, with the tool's name and its arguments, and nothing else of the request.
//
// # Guarantees
//
//   - What a workspace chose is never told as if Waymark said it: names and descriptions
//     are one line each, a prompt's text is in a frame that it can't close, a resource
//     says where it is from and has the digest of its content.
//   - Names, schemas and results come from an agent that may be anybody's: they are
//     bounded and decoded before they are passed on.
//   - A call ends with the request that asked for it, with its deadline, and with the
//     agent's connection. How many there are at a time is bounded for each agent.
//   - Every call is told to Options.Observe; neither capability, nor arguments, nor results
//     are.
//
// # Concurrency
//
// A Service serves any number of requests at the same time.
//
// # Limits
//
// A request has at most 1 MiB. Of a skill's files a pin has SKILL.md, and of the others
// path, size and digest, where the agent has told the hub when it was pinned: their content
// is in the workspace, takes a capability, and is passed on only if it has that digest. A reader's token that is revoked ends no call
// that is under way.
package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"mime"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/hub/api"
	"waymark/hub/server"
	"waymark/hub/store"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/internal/mcpskills"
	"waymark/wire/reverse"
)

// Header is the header with an agent's capability.
const Header = api.CapabilityHeader

const (
	// maxBody bounds a request: arguments of half a frame of the reverse channel, as JSON
	// in JSON.
	maxBody = 1 << 20
	// maxCapability is more than one has, in bytes.
	maxCapability = 128
	// MaxCall is how long a call may take. It is below what the reverse channel allows.
	MaxCall = 5 * time.Minute
	// page is how many of a list are on a page.
	page = 200
)

// Agents calls tools in workspaces.
type Agents interface {
	// ListTools returns the tools that a capability is good for, as JSON of MCP.
	ListTools(ctx context.Context, agentID, capability string) ([]byte, error)
	// CallTool calls one, and returns its result as JSON of MCP.
	CallTool(ctx context.Context, agentID, capability, name string, arguments []byte) ([]byte, error)
	// SkillFile reads a file of a skill, by the id of its resource, if it is what the
	// manifest says.
	SkillFile(ctx context.Context, agentID, capability, id string, file reverse.SkillFile) ([]byte, error)
}

// Manifests are the files of skills by the ids of their resources, as a pin keeps them.
type Manifests map[string][]reverse.SkillFile

// Options configure a Service. Pins, Agents and Follow must be set.
type Options struct {
	// Pins returns the pins that the reader of a call may see.
	Pins   func(ctx context.Context) server.Pins
	Agents Agents
	// Follow calls changed when something has happened to a pin, until ctx ends or
	// nobody may see the pin any more; begin is called first.
	Follow func(ctx context.Context, pinID string, begin func() error, changed func(*store.Pin) error) error
	// Observe is called after each call of a tool; nil means that nothing is.
	Observe func(Called)
	// Logger gets what goes wrong within; nil means none.
	Logger *slog.Logger
}

// Called is a call of a tool that is over.
type Called struct {
	// Token is the id of the reader's token.
	Token, AgentID, Pin, Tool string
	Arguments, Result         int // bytes
	Duration                  time.Duration
	// Error is why there is no result; empty where there is one.
	Error string
}

// Service serves the endpoints. New makes it.
type Service struct {
	opts Options
	http http.Handler
}

// New makes a Service.
func New(opts Options) *Service {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if opts.Observe == nil {
		opts.Observe = func(Called) {}
	}
	s := &Service{opts: opts}
	s.http = mcp.NewStreamableHTTPHandler(serverOf, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, Logger: opts.Logger, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, // the hub looks at Host itself, and knows its names
	})
	return s
}

// The parameters of the routes, for their description.
type (
	pinParams struct {
		// The id of a pin.
		ID string `path:"id"`
	}
	callParams struct {
		pinParams
		// What `agent token create --for-hub` has printed in the workspace: with it there are tools.
		Capability string `header:"Waymark-Capability" maxLength:"128"`
	}
	listenParams struct {
		pinParams
		// What `agent token create --for-hub` has printed in the workspace: with it changes of tools are told, too.
		Capability string `header:"Waymark-Capability" maxLength:"128"`
	}
)

// Service returns the routes.
func (s *Service) Service() httpapi.Service {
	route := func(method string, handle httpapi.Handler, o *httpapi.Operation) httpapi.Route {
		return httpapi.Route{
			Method: method, Pattern: api.Root + "/pins/{id}/mcp", Handle: handle, Failed: "the request was not served", MaxBody: maxBody, Operation: o,
		}
	}
	said := httpapi.Contents{problem.Error{}, httpapi.Content("text/plain")} // the library for MCP has texts
	return httpapi.Service{About: server.About("pins"), Routes: []httpapi.Route{
		route(http.MethodPost, s.serve, &httpapi.Operation{
			ID: "chatOfPin", Summary: "The pin over MCP, for a chat",
			Text:   "The streamable HTTP transport of the Model Context Protocol, without sessions, in both of its generations (chosen by `MCP-Protocol-Version`): a message in JSON-RPC 2.0. What is pinned can be read: skills (also by the skills extension, `skills/list` and `skills/get`) and instructions as resources, skills as prompts. Of a skill's other files the manifest is pinned, where the agent has told it when the pin was made; with a capability their content is read in the workspace, if it is what the manifest says. With a capability of the agent in `Waymark-Capability` there are tools, which are called in the workspace over the connection that the agent has to this hub; the hub passes the capability on, with the tool's name and its arguments, and nothing else of the request. An agent that isn't connected is waited for, for 5 seconds. Where it is connected to another hub of the database, that one is asked, if its `--advertise` says where it is.\n\nErrors of tools are results with `isError`. JSON-RPC errors of its own: -32003, a file of a skill isn't any more what is pinned; -32001, the capability is missing, unknown to the agent, expired or revoked; -32000, it can't be done now (the agent is away, too many calls are under way, it took more than 5 minutes).",
			Params: callParams{},
			Body:   map[string]any{},
			Answers: []httpapi.Answer{
				httpapi.OK("The answer, in JSON-RPC 2.0.", map[string]any{}),
				{Code: http.StatusAccepted, Text: "It was a notification."},
				{Code: http.StatusBadRequest, Text: "It is no message of MCP, or the headers aren't what they should be.", Body: said},
				{Code: http.StatusRequestEntityTooLarge, Text: "The message is over 1 MiB.", Body: said},
				{Text: "It was not served.", Body: said},
			},
			Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound},
		}),
		route(http.MethodGet, s.listen, &httpapi.Operation{
			ID: "listenToPin", Summary: "What changes of a pin, for a client of MCP",
			Text:   "The stream of the streamable HTTP transport up to 2025-11-25: `list_changed` of resources and prompts when the pin is refreshed and, with a capability, of tools when what follows the agent changes as well. Later versions send `subscriptions/listen` in a POST instead.",
			Params: listenParams{},
			Answers: []httpapi.Answer{
				httpapi.OK("Notifications of MCP, until the pin is gone.", httpapi.Content("text/event-stream")),
				httpapi.Refuse(http.StatusMethodNotAllowed, "No stream is asked for, or the version has none of these.", ""),
			},
			Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound},
		}),
	}}
}

// request is one request, with what it is about.
type request struct {
	*Service

	reader     server.Reader
	pins       server.Pins
	pin        store.Pin
	capability string
	// over ends with the HTTP request, whatever the SDK does with it.
	over context.Context //nolint:containedctx // that is what it is for
}

type serverKey struct{}

// serverOf returns the server that was made for a request.
func serverOf(r *http.Request) *mcp.Server {
	server, _ := r.Context().Value(serverKey{}).(*mcp.Server)
	return server
}

// admit looks at who makes a request, and at the pin that it is about.
func (s *Service) admit(c *httpapi.Call) (*request, error) {
	r := &request{Service: s, reader: server.ReaderOf(c.Context()), pins: s.opts.Pins(c.Context()), over: c.Context()}
	if r.reader.SessionID != "" {
		return nil, &problem.Error{Code: http.StatusForbidden, Message: "forbidden", Detail: "this is for programs: send a reader's token as Authorization: Bearer TOKEN"}
	}
	if shown := c.Header.Values(Header); len(shown) == 1 && len(shown[0]) <= maxCapability {
		r.capability = shown[0]
	} else if len(shown) > 0 {
		return nil, &problem.Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: Header + " is there once, with what 'agent token create --for-hub' has printed"}
	}
	var err error
	r.pin, err = r.pins.Pin(c.Context(), c.Arg("id"))
	return r, err
}

// serve answers POST /api/v0/pins/{id}/mcp.
func (s *Service) serve(c *httpapi.Call) error {
	r, err := s.admit(c)
	if err != nil {
		return err
	}
	if kind, _, err := mime.ParseMediaType(c.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &problem.Error{Code: http.StatusUnsupportedMediaType, Message: c.Failed(), Detail: "send a message of MCP with Content-Type: application/json"}
	}
	if c.Header.Get("Mcp-Method") == methodListen {
		c.Stream()
		s.pass(c, r, c.Context())
		return nil
	}
	return c.Within(MaxCall+10*time.Second, func(ctx context.Context) error {
		r.over = ctx
		s.pass(c, r, ctx)
		return nil
	})
}

// pass gives a request to the SDK.
func (s *Service) pass(c *httpapi.Call, r *request, ctx context.Context) { //nolint:revive // ctx is one of the request's
	// Nothing that a caller sends along gets any further.
	in := c.WithContext(context.WithValue(ctx, serverKey{}, r.server()))
	in.Header = http.Header{"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}}
	for _, name := range []string{"Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"} {
		if values := c.Header.Values(name); len(values) > 0 {
			in.Header[name] = values
		}
	}
	s.http.ServeHTTP(c.Writer(), in)
}

// server makes the server for a request. It has no features: all are looked up when they
// are asked for.
func (r *request) server() *mcp.Server {
	caps := &mcp.ServerCapabilities{Resources: &mcp.ResourceCapabilities{ListChanged: true}, Prompts: &mcp.PromptCapabilities{ListChanged: true}}
	if r.capability != "" {
		caps.Tools = &mcp.ToolCapabilities{ListChanged: true}
	}
	caps.AddExtension(mcpskills.Extension, map[string]any{})
	server := mcp.NewServer(&mcp.Implementation{Name: "waymark-hub", Title: "Waymark hub", Version: "0"}, &mcp.ServerOptions{
		Capabilities: caps, Logger: r.opts.Logger, Instructions: r.instructions(),
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.TTLMs, c.CacheScope = 0, "private" },
	})
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler { return r.handle(server, next) })
	for _, err := range []error{
		mcp.AddReceivingCustomMethod(server, "skills/list", r.listSkills),
		mcp.AddReceivingCustomMethod(server, "skills/get", r.getSkill),
	} {
		if err != nil {
			panic(err) // the names are this package's own
		}
	}
	return server
}

// handle answers what there is an answer of ours for.
func (r *request) handle(server *mcp.Server, next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == methodListen {
			return r.subscribe(ctx, server, next, req)
		}
		ctx, cancel := context.WithTimeout(ctx, MaxCall)
		defer cancel()
		defer context.AfterFunc(r.over, cancel)()
		switch req := req.(type) {
		case *mcp.ListToolsRequest:
			return answer(r.listTools(ctx))
		case *mcp.CallToolRequest:
			return answer(r.callTool(ctx, req.Params))
		case *mcp.ListResourcesRequest:
			return answer(r.listResources(ctx, cursorOf(req.Params)))
		case *mcp.ReadResourceRequest:
			return answer(r.readResource(ctx, req.Params.URI))
		case *mcp.ListPromptsRequest:
			return answer(r.listPrompts(ctx))
		case *mcp.GetPromptRequest:
			return answer(r.getPrompt(ctx, req.Params))
		}
		return next(ctx, method, req)
	}
}

// answer keeps a nil pointer from becoming a result. It says that nothing may be kept, which
// the SDK says of its own results only.
func answer[R mcp.Result](result R, err error) (mcp.Result, error) {
	if err != nil {
		return nil, err
	}
	switch result := mcp.Result(result).(type) {
	case *mcp.ListToolsResult:
		result.Cacheable = mcpskills.Uncached
	case *mcp.ListResourcesResult:
		result.Cacheable = mcpskills.Uncached
	case *mcp.ListPromptsResult:
		result.Cacheable = mcpskills.Uncached
	case *mcp.ReadResourceResult:
		result.Cacheable = mcpskills.Uncached
	}
	return result, nil
}

// completed is a result that says that it is one, which the protocol asks for. The SDK says
// it of its own results, and reads it, but lets nobody else set it.
func completed[R any]() *R {
	result := new(R)
	_ = json.Unmarshal([]byte(`{"resultType":"complete","content":[]}`), result) // it is what the type has
	return result
}

func cursorOf(p *mcp.ListResourcesParams) string {
	if p == nil {
		return ""
	}
	return p.Cursor
}

// The codes of errors that aren't the SDK's. Those of MCP that mean nothing in particular
// are from -32000 to -32099.
const (
	codeUnavailable = -32000 // it can't be done now
	codeCapability  = -32001 // the capability isn't valid
	codeChanged     = -32003 // it isn't any more what is pinned
)

func invalid(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

// unread is an error of the hub's own, of which its log says more.
func (r *request) unread(ctx context.Context, err error) error {
	const what = "what is pinned can't be read"
	if ctx.Err() == nil {
		r.opts.Logger.Error(what, slog.String("pin", r.pin.ID), slog.Any("error", err))
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: what + "; the hub's log says more"}
}

// metaKey is under which results say what of the pin they are about.
const metaKey = "waymark/pin"

// about says for which pin an answer is, and whether that has drifted.
func (r *request) about() mcp.Meta {
	p := map[string]any{"id": r.pin.ID, "revision": r.pin.Revision, "drifted": !r.pin.DriftedAt.IsZero()}
	if !r.pin.DriftedAt.IsZero() {
		p["drift_revision"] = r.pin.DriftRevision
	}
	return mcp.Meta{metaKey: p}
}

// decode reads what an agent has sent.
func decode[T any](data []byte) (*T, error) {
	v := new(T)
	return v, json.Unmarshal(data, v)
}
