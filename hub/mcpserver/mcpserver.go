// Package mcpserver is the hub's MCP server. A chat server anywhere can read the skills and
// instructions of a snapshot that it has pinned, and call tools in the workspace, through
// the agent that pushed the snapshot.
//
// Each pin has an endpoint. There are no sessions: every request is independent, with both
// generations of the protocol, so that any hub of a database can serve it, before and after
// a restart. A chat learns of changes from the hub's events, with the results of its calls,
// and from list_changed on a stream that it opens: by GET up to 2025-11-25, by
// subscriptions/listen since 2026-07-28.
//
// # Access
//
// A reader's token allows reading what is pinned, for agents in its scope. Tools also
// require a capability that the agent has minted, in the header [Header] of each request.
// The hub doesn't check, store or own capabilities. It passes them on with the tool's name
// and arguments, and nothing else of the request.
//
// # Guarantees
//
//   - Content of a workspace is never presented as Waymark's own: names and descriptions are single
//     lines, a prompt's text is in a frame that it can't close, and a resource has its source and
//     the digest of its content.
//   - Names, schemas and results come from an untrusted agent. They are limited and decoded before
//     they are passed on.
//   - A call ends with its request, with its deadline, and with the agent's connection. The number
//     of concurrent calls is limited for each agent.
//   - Every call is reported to Options.Observe, without capability, arguments and results.
//
// # Concurrency
//
// A Service serves any number of requests at the same time.
//
// # Limits
//
// A request has at most 1 MiB. Of a skill's files a pin has SKILL.md; of the others it has
// path, size and digest, if the agent has reported them when it was pinned. Their content
// is in the workspace, requires a capability, and is passed on only if it has that digest.
// Revoking a reader's token doesn't end its calls in progress.
package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/hub/api"
	"waymark/hub/server"
	"waymark/hub/store"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/internal/mcpserving"
	"waymark/wire/reverse"
)

// Header is the header with an agent's capability.
const Header = api.CapabilityHeader

const (
	// maxBody limits a request: arguments of half a frame of the reverse channel, as JSON
	// within JSON.
	maxBody = 1 << 20
	// maxCapability is above the length of a capability, in bytes.
	maxCapability = 128
	// MaxCall limits the duration of a call. It is below the limit of the reverse channel.
	MaxCall = 5 * time.Minute
	// page limits a page of a list.
	page = 200
)

// Agents calls tools in workspaces.
type Agents interface {
	// ListTools returns the tools that a capability allows, as MCP JSON.
	ListTools(ctx context.Context, agentID, capability string) ([]byte, error)
	// CallTool calls a tool for a client, which ToolsCall describes, and returns its result
	// as MCP JSON.
	CallTool(ctx context.Context, agentID, capability, name string, arguments, client []byte) ([]byte, error)
	// Relay makes a request about resources and prompts of MCP servers in the workspace, and
	// returns its result as MCP JSON.
	Relay(ctx context.Context, agentID, capability, method string, params []byte) ([]byte, error)
	// SkillFile reads a file of the skill with this resource id, if it matches the
	// manifest.
	SkillFile(ctx context.Context, agentID, capability, id string, file reverse.SkillFile) ([]byte, error)
}

// Manifests are the files of a pin's skills, by resource id.
type Manifests map[string][]reverse.SkillFile

// Options configure a Service. Pins, Agents and Follow are required.
type Options struct {
	// Pins returns the pins that the reader of a call may see.
	Pins   func(ctx context.Context) server.Pins
	Agents Agents
	// Follow first calls begin, and then changed after each event of a pin, until ctx ends
	// or the reader may not see the pin any more.
	Follow func(ctx context.Context, pinID string, begin func() error, changed func(*store.Pin) error) error
	// Observe is called after each call of a tool; it may be nil.
	Observe func(Called)
	// Logger receives internal errors; nil means no log.
	Logger *slog.Logger
}

// Called is a finished call of a tool.
type Called struct {
	// Token is the id of the reader's token.
	Token, AgentID, Pin, Tool string
	Arguments, Result         int // in bytes
	Duration                  time.Duration
	// Error says why there is no result; empty if there is one.
	Error string
}

// Service serves the endpoints. Make one with New.
type Service struct {
	opts Options
	// whole answers with JSON, events with a stream of events, which has notifications before
	// an answer.
	whole, events http.Handler
}

// New makes a Service.
func New(opts Options) *Service {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if opts.Observe == nil {
		opts.Observe = func(Called) {}
	}
	s := &Service{opts: opts}
	handler := func(whole bool) http.Handler {
		return mcp.NewStreamableHTTPHandler(serverOf, &mcp.StreamableHTTPOptions{
			Stateless: true, JSONResponse: whole, Logger: opts.Logger, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
			DisableLocalhostProtection: true, // the hub checks Host itself, because it knows its names
		})
	}
	s.whole, s.events = handler(true), handler(false)
	return s
}

// Parameters of the routes, for the OpenAPI document.
type (
	pinParams struct {
		// The id of a pin.
		ID string `path:"id"`
	}
	callParams struct {
		pinParams
		// The output of `agent token create --for-hub` in the workspace. It is required for
		// tools.
		Capability string `header:"Waymark-Capability" maxLength:"128"`
	}
	listenParams struct {
		pinParams
		// The output of `agent token create --for-hub` in the workspace. With it, changes
		// of tools are reported, too.
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
	said := httpapi.Contents{problem.Error{}, httpapi.Content("text/plain")} // the MCP library sends text
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

// request is a request with the pin that it is about.
type request struct {
	*Service

	reader     server.Reader
	pins       server.Pins
	pin        store.Pin
	capability string
	// over ends with the HTTP request, whatever the SDK does with the context.
	over context.Context //nolint:containedctx // that is what it is for
}

type serverKey struct{}

// serverOf returns the server for a request.
func serverOf(r *http.Request) *mcp.Server {
	server, _ := r.Context().Value(serverKey{}).(*mcp.Server)
	return server
}

// admit checks who makes a request, and looks up its pin.
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
		s.pass(c, r, c.Context(), s.whole)
		return nil
	}
	body, err := io.ReadAll(c.Body)
	if err != nil {
		return err
	}
	c.Body = io.NopCloser(bytes.NewReader(body))
	const within = MaxCall + 10*time.Second
	if bytes.Contains(body, []byte(`"progressToken"`)) || bytes.Contains(body, []byte(mcp.MetaKeyLogLevel)) {
		if strings.Contains(c.Header.Get("Accept"), "text/event-stream") {
			ctx, cancel := context.WithTimeout(c.Context(), within)
			defer cancel()
			c.Stream()
			_ = http.NewResponseController(c.Writer()).SetWriteDeadline(time.Now().Add(within)) // for one who doesn't read
			r.over = ctx
			s.pass(c, r, ctx, s.events)
			return nil
		}
	}
	return c.Within(within, func(ctx context.Context) error {
		r.over = ctx
		s.pass(c, r, ctx, s.whole)
		return nil
	})
}

// pass passes a request to the SDK.
func (s *Service) pass(c *httpapi.Call, r *request, ctx context.Context, to http.Handler) { //nolint:revive // ctx is one of the request's
	// Pass on only these headers.
	in := c.WithContext(context.WithValue(ctx, serverKey{}, r.server()))
	in.Header = http.Header{"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}}
	for _, name := range []string{"Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"} {
		if values := c.Header.Values(name); len(values) > 0 {
			in.Header[name] = values
		}
	}
	to.ServeHTTP(c.Writer(), in)
}

// server makes the server for a request. It has no features of its own: all are looked up
// on demand.
func (r *request) server() *mcp.Server {
	caps := &mcp.ServerCapabilities{Resources: &mcp.ResourceCapabilities{ListChanged: true}, Prompts: &mcp.PromptCapabilities{ListChanged: true}}
	if r.capability != "" {
		caps.Tools, caps.Completions, caps.Logging = &mcp.ToolCapabilities{ListChanged: true}, &mcp.CompletionCapabilities{}, &mcp.LoggingCapabilities{}
	}
	caps.AddExtension(mcpserving.SkillsExtension, map[string]any{})
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
			panic(err) // this package chooses the names
		}
	}
	return server
}

// handle answers the requests that this package implements.
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
			return answer(r.callTool(ctx, req))
		case *mcp.ListResourcesRequest:
			list, err := r.listResources(ctx, cursorOf(req.Params))
			if err == nil && list.NextCursor == "" {
				list.Resources = append(list.Resources, relayedList[mcp.Resource](ctx, r, method, "resources")...)
			}
			return answer(list, err)
		case *mcp.ListResourceTemplatesRequest:
			list := completed[mcp.ListResourceTemplatesResult]()
			list.ResourceTemplates = append([]*mcp.ResourceTemplate{}, relayedList[mcp.ResourceTemplate](ctx, r, method, "resourceTemplates")...)
			return answer(list, nil)
		case *mcp.ReadResourceRequest:
			if _, _, ok := mcpserving.ServerURI(req.Params.URI); ok {
				return answer(relayed[mcp.ReadResourceResult](ctx, r, method, req.Params))
			}
			return answer(r.readResource(ctx, req.Params.URI))
		case *mcp.ListPromptsRequest:
			list, err := r.listPrompts(ctx)
			if err == nil {
				list.Prompts = append(list.Prompts, relayedList[mcp.Prompt](ctx, r, method, "prompts")...)
			}
			return answer(list, err)
		case *mcp.GetPromptRequest:
			if strings.Contains(req.Params.Name, "__") && r.capability != "" {
				return answer(relayed[mcp.GetPromptResult](ctx, r, method, req.Params))
			}
			return answer(r.getPrompt(ctx, req.Params))
		case *mcp.CompleteRequest:
			return answer(relayed[mcp.CompleteResult](ctx, r, method, req.Params))
		}
		return next(ctx, method, req)
	}
}

// answer prevents a nil pointer from becoming a result. It also forbids caching, which the
// SDK does only for its own results.
func answer[R mcp.Result](result R, err error) (mcp.Result, error) {
	if err != nil {
		return nil, err
	}
	switch result := mcp.Result(result).(type) {
	case *mcp.ListToolsResult:
		result.Cacheable = mcpserving.Uncached
	case *mcp.ListResourcesResult:
		result.Cacheable = mcpserving.Uncached
	case *mcp.ListPromptsResult:
		result.Cacheable = mcpserving.Uncached
	case *mcp.ListResourceTemplatesResult:
		result.Cacheable = mcpserving.Uncached
	case *mcp.ReadResourceResult:
		result.Cacheable = mcpserving.Uncached
	}
	return result, nil
}

// completed returns a result that is marked as complete, as the protocol requires. The SDK
// has no exported way to set the mark.
func completed[R any]() *R {
	result := new(R)
	_ = json.Unmarshal([]byte(`{"resultType":"complete","content":[]}`), result) // it matches the type
	return result
}

func cursorOf(p *mcp.ListResourcesParams) string {
	if p == nil {
		return ""
	}
	return p.Cursor
}

// Error codes that the SDK lacks. MCP leaves -32000 to -32099 to implementations.
const (
	codeUnavailable = -32000 // not possible now
	codeCapability  = -32001 // the capability is invalid
	codeChanged     = -32003 // it differs from what is pinned
)

func invalid(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

// unread returns an internal error, and logs its cause.
func (r *request) unread(ctx context.Context, err error) error {
	const what = "what is pinned can't be read"
	if ctx.Err() == nil {
		r.opts.Logger.Error(what, slog.String("pin", r.pin.ID), slog.Any("error", err))
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: what + "; the hub's log says more"}
}

// metaKey is the key of the information about the pin in results.
const metaKey = "waymark/pin"

// about says which pin an answer is about, and whether that has drifted.
func (r *request) about() mcp.Meta {
	p := map[string]any{"id": r.pin.ID, "revision": r.pin.Revision, "drifted": !r.pin.DriftedAt.IsZero()}
	if !r.pin.DriftedAt.IsZero() {
		p["drift_revision"] = r.pin.DriftRevision
	}
	return mcp.Meta{metaKey: p}
}

// decode parses an agent's answer.
func decode[T any](data []byte) (*T, error) {
	v := new(T)
	return v, json.Unmarshal(data, v)
}
