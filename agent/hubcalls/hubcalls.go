// Package hubcalls lets chats at a hub call tools in this workspace: it serves the requests
// tools.list, tools.call, tools.more, mcp.request and skills.file of the reverse channel.
//
// The hub decides nothing here. Each request carries a capability that the agent has minted
// for a chat, and the capability says what may be called. A hub can't invent calls, because
// it has no capability for them. A hub that replays a capability is limited to what it
// allows, for as long as it is valid.
//
// # Guarantees
//
//   - The capability is checked with every request, including requests for the rest of an
//     answer. Only the capability that made the call can fetch the rest.
//   - Calls go through the agent's own API with the grant of the capability, so that scopes,
//     the fence and the secret list apply as they do to every other client.
//   - A call ends when its sender cancels it or the channel closes. The number of concurrent
//     calls is limited, per capability and in total, as is the size of arguments and answers.
//   - Every call with a valid capability is recorded in the audit log. The capability,
//     arguments and results appear neither there nor in any error.
//
// # Concurrency
//
// A Service may be used by any number of goroutines.
//
// # Limits
//
// A result longer than MaxAnswer bytes is not sent; the chat is told to ask for less. Of
// progress and log messages some are dropped, where there are many.
package hubcalls

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/protobuf/proto"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/internal/errtext"
	"waymark/internal/mcpserving"
	"waymark/internal/text"
	"waymark/wire"
	"waymark/wire/reverse"
	"waymark/wire/waymark"
	"waymark/workspace/access"
	"waymark/workspace/mcpserver"
	"waymark/workspace/mcpserver/tools"
)

// Limits of requests and answers.
const (
	// MaxArguments limits the arguments of a call, in bytes: half a frame.
	MaxArguments = 512 << 10
	// MaxAnswer limits an answer, in bytes: about twenty frames.
	MaxAnswer = 1 << 20
	// MaxCalls limits the requests in progress, MaxCallsEach those of one capability. They
	// are below the channel's own limit, so that a hub's approvals still get through.
	MaxCalls     = 8
	MaxCallsEach = 4

	// maxPart is how much of an answer fits into a frame, with its envelope.
	maxPart = reverse.MaxToHub - 1024
	// serversWait is how long to wait for MCP servers that are starting.
	serversWait = 3 * time.Second
	maxName     = 200
	maxRefusal  = 1 << 10
	// notesPerSecond limits the notes of a call. A server that reports progress without end
	// mustn't keep the channel busy.
	notesPerSecond = 20
)

// Options configure a Service. All but Logger and Audit must be set.
type Options struct {
	// Enabled reports whether the operator currently allows calls from hubs.
	Enabled func() bool
	Tokens  *access.Tokens
	// Client returns a client of this agent's API that authenticates with a token.
	Client func(token string) client.Client
	Audit  access.Audit
	Logger *slog.Logger
}

// Service serves the requests of chats at a hub.
type Service struct {
	opts  Options
	calls calls
	rests rests
}

// New makes a Service.
func New(opts Options) *Service {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	return &Service{opts: opts}
}

// Handlers returns the handlers of the requests, by kind.
func (s *Service) Handlers() map[string]reverse.Handler {
	return map[string]reverse.Handler{
		reverse.KindToolsList: handler(s.list), reverse.KindToolsCall: s.recorded(reverse.KindToolsCall, s.result), reverse.KindToolsMore: handler(s.more),
		reverse.KindSkillFile: s.recorded(reverse.KindSkillFile, s.readSkill), reverse.KindMCPRequest: s.recorded(reverse.KindMCPRequest, s.relay),
	}
}

// message is a request that carries a capability.
type message[T any] interface {
	*T
	proto.Message
	GetCapability() string
}

// handler decodes requests and encodes answers.
func handler[T any, M message[T]](serve func(context.Context, M) (*waymark.ToolsAnswer, error)) reverse.Handler {
	return func(ctx context.Context, body []byte) ([]byte, error) {
		request := M(new(T))
		if proto.Unmarshal(body, request) != nil {
			return nil, &reverse.Error{Code: reverse.CodeInvalid, Text: "the request can't be read"}
		}
		answer, err := serve(ctx, request)
		if err != nil {
			return nil, err
		}
		return proto.Marshal(answer)
	}
}

// Refusals that don't depend on the request.
var (
	errOff = &reverse.Error{Code: reverse.CodeDenied,
		Text: "the agent calls nothing for hubs: services.hub is false in its configuration"}
	errCapability = &reverse.Error{Code: wire.CodeUnauthorized,
		Text: "this capability is not known to the agent, has expired or was revoked: make one with 'agent token create --for-hub' there"}
	errBusy = &reverse.Error{Code: wire.CodeBusy,
		Text: "too many calls are under way: wait for one of them"}
)

// admit checks a capability and reserves a call for it. The caller must call end.
func (s *Service) admit(secret string) (c *access.Capability, end func(), err error) {
	if !s.opts.Enabled() {
		return nil, nil, errOff
	}
	if c = s.opts.Tokens.Capability(secret); c == nil {
		return nil, nil, errCapability
	}
	if end = s.calls.begin(c.ID); end == nil {
		return nil, nil, errBusy
	}
	return c, end, nil
}

// agent returns this agent's API, limited to what the capability allows.
func (s *Service) agent(c *access.Capability) (api client.Client, end func()) {
	token, end := s.opts.Tokens.Lend(&c.Grant)
	return s.opts.Client(token).For(c.Caller), end
}

// offer returns which of the agent's own tools a capability allows.
func offer(c *access.Capability) *tools.Offer {
	o := &tools.Offer{Plan: c.Plan != "", Only: []string{}}
	for _, scope := range c.Scopes {
		o.Scopes = append(o.Scopes, string(scope))
	}
	for _, name := range tools.Names() {
		// Whoever may call a server's tool may also read the rest of a long result.
		if c.Allows(name) || name == tools.ToolResult && servers(c) && slices.ContainsFunc(c.Tools, func(pattern string) bool { return strings.Contains(pattern, "__") }) {
			o.Only = append(o.Only, name)
		}
	}
	return o
}

// servers reports whether a capability allows tools of the workspace's MCP servers. A fence
// excludes them, because nobody knows what such a tool really does.
func servers(c *access.Capability) bool { return c.Has(access.ScopeMCP) && c.Plan == "" }

// list answers tools.list.
func (s *Service) list(ctx context.Context, r *waymark.ToolsList) (*waymark.ToolsAnswer, error) {
	c, end, err := s.admit(r.GetCapability())
	if err != nil {
		return nil, err
	}
	defer end()
	answer := struct {
		Tools []any `json:"tools"`
	}{[]any{}}
	for _, t := range offer(c).Tools() {
		answer.Tools = append(answer.Tools, t)
	}
	if servers(c) {
		api, done := s.agent(c)
		defer done()
		found, err := api.ListMCPTools(ctx, client.MCPToolOptions{Wait: serversWait})
		if err != nil {
			return nil, failed(ctx, err)
		}
		for i := range found.Tools {
			answer.Tools = append(answer.Tools, toolOf(&found.Tools[i]))
		}
	}
	data, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	if len(data) > MaxAnswer {
		return nil, &reverse.Error{Code: wire.CodeTooLarge,
			Text: "the tools take more room than an answer may have: name fewer with --tool when the capability is made"}
	}
	return s.rests.answer(c.ID, data), nil
}

// serverTool is a tool of a server, in the JSON of MCP.
type serverTool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

func toolOf(t *agentapi.MCPTool) serverTool {
	schema := t.InputSchema
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	return serverTool{mcpserving.Name(t.Name), t.Title, t.Description, schema, t.Annotations}
}

// recorded handles a request that is recorded in the audit log: tools.call or skills.file.
func (s *Service) recorded(kind string, answer func(context.Context, *access.Capability, *waymark.ToolsCall) ([]byte, error)) reverse.Handler {
	return handler(func(ctx context.Context, r *waymark.ToolsCall) (*waymark.ToolsAnswer, error) {
		begin := time.Now()
		c, end, err := s.admit(r.GetCapability())
		if err != nil {
			return nil, err
		}
		defer end()
		data, err := answer(ctx, c, r)
		s.record(kind, c, r, begin, err)
		if err != nil {
			return nil, err
		}
		return s.rests.answer(c.ID, data), nil
	})
}

// result calls a tool and returns its result as MCP JSON.
func (s *Service) result(ctx context.Context, c *access.Capability, r *waymark.ToolsCall) ([]byte, error) {
	name := r.GetName()
	api, done := s.agent(c)
	defer done()
	if servers(c) && mappedName.MatchString(name) {
		original, err := originalName(ctx, api, name)
		if err != nil {
			return nil, failed(ctx, err)
		}
		name = original
	}
	refused := &reverse.Error{Code: reverse.CodeDenied, Text: "the capability is not good for the tool " + text.Line(name, maxName)}
	if len(r.GetArguments()) > MaxArguments {
		return nil, &reverse.Error{Code: wire.CodeTooLarge, Text: "the arguments take more room than a call may have"}
	}
	o := offer(c)
	if !c.Allows(name) && !o.Has(name) {
		return nil, refused
	}
	ctx = tools.WithCaller(ctx, callerOf(ctx, r.GetClient()))
	var result *agentapi.MCPToolResult
	var err error
	switch {
	case o.Has(name):
		result, err = o.Call(ctx, api, name, r.GetArguments())
	case servers(c) && strings.Contains(name, "__"):
		result, err = o.CallServer(ctx, api, name, r.GetArguments())
	default:
		return nil, refused
	}
	var no *client.Error
	switch {
	case err == nil:
	case errors.As(err, &no) && ctx.Err() == nil:
		result = told(no.Error())
	default:
		return nil, failed(ctx, err)
	}
	data, err := json.Marshal(mcpserver.ToProtocol(result))
	if err == nil && len(data) > MaxAnswer {
		data, err = json.Marshal(mcpserver.ToProtocol(told("the result takes more room than an answer through a hub may have: ask for less of it")))
	}
	return data, err
}

// callerOf returns what a client at the hub takes of a tool's server.
func callerOf(ctx context.Context, client []byte) *tools.Caller {
	caller := mcpserver.CallerOf(client)
	note := reverse.Notes(ctx)
	if note == nil {
		return caller
	}
	pace := rate.NewLimiter(notesPerSecond, notesPerSecond)
	caller.Logs, caller.Progress = true, func(p agentapi.MCPProgress) {
		if !pace.Allow() {
			return
		}
		told := &waymark.ToolsNote{Progress: p.Progress, Total: p.Total, Message: p.Message}
		if l := p.Log; l != nil {
			told = &waymark.ToolsNote{Level: l.Level, Logger: l.Logger, Data: l.Data}
		}
		if body, err := proto.Marshal(told); err == nil {
			note(body)
		}
	}
	return caller
}

// mappedName is how names end that mcpserving.Name has made of others.
var mappedName = regexp.MustCompile(`_[0-9a-f]{8}$`)

// originalName returns the name of the tool that is listed by a name; the same if there is
// none.
func originalName(ctx context.Context, api client.Client, name string) (string, error) {
	found, err := api.ListMCPTools(ctx, client.MCPToolOptions{})
	if err != nil {
		return "", err
	}
	for i := range found.Tools {
		if mcpserving.Name(found.Tools[i].Name) == name {
			return found.Tools[i].Name, nil
		}
	}
	return name, nil
}

// relay makes a request about resources and prompts of the workspace's MCP servers.
func (s *Service) relay(ctx context.Context, c *access.Capability, r *waymark.ToolsCall) ([]byte, error) {
	if len(r.GetArguments()) > MaxArguments {
		return nil, &reverse.Error{Code: wire.CodeTooLarge, Text: "the parameters take more room than a call may have"}
	}
	api, done := s.agent(c)
	defer done()
	raw, err := offer(c).Relay(ctx, api, r.GetName(), r.GetArguments())
	var no *client.Error
	switch {
	case errors.Is(err, tools.ErrNotOffered):
		return nil, &reverse.Error{Code: reverse.CodeDenied, Text: text.Line(err.Error(), maxName)}
	case errors.As(err, &no) && ctx.Err() == nil:
		return nil, &reverse.Error{Code: reverse.CodeInvalid, Text: text.Line(no.Error(), maxRefusal)}
	case err != nil:
		return nil, failed(ctx, err)
	case len(raw) > MaxAnswer:
		return nil, &reverse.Error{Code: wire.CodeTooLarge, Text: "the result takes more room than an answer through a hub may have"}
	}
	return raw, nil
}

// readSkill returns the content of a file of a pinned skill, if it is still the content
// that the manifest lists.
func (s *Service) readSkill(ctx context.Context, c *access.Capability, r *waymark.ToolsCall) ([]byte, error) {
	var file reverse.SkillFile
	if json.Unmarshal(r.GetArguments(), &file) != nil || file.Check() != nil {
		return nil, &reverse.Error{Code: reverse.CodeInvalid, Text: "the request can't be read"}
	}
	if !c.Allows(tools.ReadSkill) || !offer(c).Has(tools.ReadSkill) {
		return nil, &reverse.Error{Code: reverse.CodeDenied, Text: "the capability is not good for the tool " + tools.ReadSkill + ", which reads files of skills"}
	}
	api, done := s.agent(c)
	defer done()
	body, err := api.SkillFile(ctx, r.GetName(), file.Path)
	var no *client.Error
	switch {
	case errors.As(err, &no) && no.Code/100 == 4 && ctx.Err() == nil:
		return nil, &reverse.Error{Code: reverse.CodeChanged, Text: "the file isn't there any more, or isn't shown"}
	case err != nil:
		return nil, failed(ctx, err)
	case fmt.Sprintf("sha256:%x", sha256.Sum256(body)) != file.Digest:
		return nil, &reverse.Error{Code: reverse.CodeChanged, Text: "the file has another content now than the one that was pinned"}
	case len(body) > MaxAnswer:
		return nil, &reverse.Error{Code: wire.CodeTooLarge, Text: "the file takes more room than an answer through a hub may have"}
	}
	return body, nil
}

// told returns a result that tells the model what is wrong.
func told(what string) *agentapi.MCPToolResult {
	return &agentapi.MCPToolResult{IsError: true, Content: []agentapi.MCPContent{{Type: "text", Text: what}}}
}

// failed returns the error for a failure that the model can't correct.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &reverse.Error{Code: reverse.CodeUnavailable, Text: "the agent can't do it: " + errtext.Of(err)}
}

// record writes a call to the audit log.
func (s *Service) record(kind string, c *access.Capability, r *waymark.ToolsCall, begin time.Time, err error) {
	if s.opts.Audit == nil {
		return
	}
	code := http.StatusOK
	var no *reverse.Error
	switch {
	case errors.As(err, &no) && no.Code == reverse.CodeDenied:
		code = http.StatusForbidden
	case err != nil:
		code = http.StatusBadGateway
	}
	sum := sha256.Sum256(r.GetArguments())
	s.opts.Audit.Record(access.Record{
		Time: begin.UTC(), Token: c.ID, Chat: c.Caller.Chat.String(), Action: kind, On: []string{text.Line(r.GetName(), maxName)},
		Digest: hex.EncodeToString(sum[:]), Bytes: int64(len(r.GetArguments())), Code: code,
	})
}

// more answers tools.more.
func (s *Service) more(_ context.Context, r *waymark.ToolsMore) (*waymark.ToolsAnswer, error) {
	c, end, err := s.admit(r.GetCapability())
	if err != nil {
		return nil, err
	}
	defer end()
	return s.rests.part(c.ID, r.GetRest(), int(r.GetOffset()))
}
