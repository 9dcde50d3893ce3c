// Package hubcalls has tools called for chats at a hub: it serves the requests tools.list,
// tools.call, tools.more and skills.file of the reverse channel.
//
// A hub decides nothing here. What a chat may have called says the capability that the
// agent has minted for it and that comes with each request; a hub that invents calls has
// none, and one that repeats what it has seen is held to what that one capability allows,
// for as long as it is valid.
//
// # Guarantees
//
//   - The capability is looked at with every request, also with those that fetch the rest
//     of an answer, which is only there for who has asked for it.
//   - Calls are made over the agent's own API with what the capability grants, so that
//     scopes, the fence and the secret list hold as they do for everybody else.
//   - A call ends when its sender takes it back, and with the channel. Calls at a time are
//     bounded, for each capability and together, as are arguments and answers.
//   - Every call that a capability is shown for is a line of the audit log. Neither the
//     capability nor arguments and results are in it, or in any error.
//
// # Concurrency
//
// A Service may be used by any number of goroutines.
//
// # Limits
//
// A result of more than MaxAnswer bytes isn't passed on: the chat is told to ask for less.
// Progress of calls isn't passed on.
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
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/internal/errtext"
	"waymark/internal/text"
	"waymark/wire"
	"waymark/wire/reverse"
	"waymark/wire/waymark"
	"waymark/workspace/access"
	"waymark/workspace/mcpserver"
	"waymark/workspace/mcpserver/tools"
)

// The bounds of what is asked.
const (
	// MaxArguments bounds the arguments of a call: half of a frame, in bytes.
	MaxArguments = 512 << 10
	// MaxAnswer bounds an answer, in bytes: some twenty frames.
	MaxAnswer = 1 << 20
	// MaxCalls bounds the requests under way, MaxCallsEach those of one capability. They
	// stay below what the channel takes, so that a hub's approvals still get through.
	MaxCalls     = 8
	MaxCallsEach = 4

	// maxPart is as much of an answer as a frame has room for, with what is around it.
	maxPart = reverse.MaxToHub - 1024
	// serversWait is for servers of MCP that are starting.
	serversWait = 3 * time.Second
	maxName     = 200
)

// Options configure a Service. All but Logger and Audit must be set.
type Options struct {
	// Enabled reports whether the operator allows any of this now.
	Enabled func() bool
	Tokens  *access.Tokens
	// Client returns a client of this agent's API that shows a token.
	Client func(token string) client.Client
	Audit  access.Audit
	Logger *slog.Logger
}

// Service serves the requests.
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

// Handlers returns what serves the requests, by kind.
func (s *Service) Handlers() map[string]reverse.Handler {
	return map[string]reverse.Handler{
		reverse.KindToolsList: handler(s.list), reverse.KindToolsCall: s.recorded(reverse.KindToolsCall, s.result), reverse.KindToolsMore: handler(s.more),
		reverse.KindSkillFile: s.recorded(reverse.KindSkillFile, s.readSkill),
	}
}

// message is a request that shows a capability.
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

// The refusals that don't depend on a request.
var (
	errOff = &reverse.Error{Code: reverse.CodeDenied,
		Text: "the agent calls nothing for hubs: services.hub is false in its configuration"}
	errCapability = &reverse.Error{Code: wire.CodeUnauthorized,
		Text: "this capability is not known to the agent, has expired or was revoked: make one with 'agent token create --for-hub' there"}
	errBusy = &reverse.Error{Code: wire.CodeBusy,
		Text: "too many calls are under way: wait for one of them"}
)

// admit returns what a capability allows, with room for a call. end must be called.
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

// agent is this agent's API as the capability allows it.
func (s *Service) agent(c *access.Capability) (api client.Client, end func()) {
	token, end := s.opts.Tokens.Lend(&c.Grant)
	return s.opts.Client(token).For(c.Caller), end
}

// offer says which of the agent's own tools a capability is good for.
func offer(c *access.Capability) *tools.Offer {
	o := &tools.Offer{Plan: c.Plan != "", Only: []string{}}
	for _, scope := range c.Scopes {
		o.Scopes = append(o.Scopes, string(scope))
	}
	for _, name := range tools.Names() {
		// What calls a server's tool gets all of the result.
		if c.Allows(name) || name == tools.ToolResult && servers(c) && slices.ContainsFunc(c.Tools, func(pattern string) bool { return strings.Contains(pattern, "__") }) {
			o.Only = append(o.Only, name)
		}
	}
	return o
}

// servers reports whether a capability reaches tools of the workspace's MCP servers.
// What they do nobody knows, whatever they say of it, so that a fence excludes them.
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

// serverTool is a tool of a server, as MCP has it.
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
	return serverTool{t.Name, t.Title, t.Description, schema, t.Annotations}
}

// recorded answers a request that the audit log tells of: tools.call and skills.file.
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

// result calls a tool and returns its result as JSON of MCP.
func (s *Service) result(ctx context.Context, c *access.Capability, r *waymark.ToolsCall) ([]byte, error) {
	name := r.GetName()
	refused := &reverse.Error{Code: reverse.CodeDenied, Text: "the capability is not good for the tool " + text.Line(name, maxName)}
	if len(r.GetArguments()) > MaxArguments {
		return nil, &reverse.Error{Code: wire.CodeTooLarge, Text: "the arguments take more room than a call may have"}
	}
	o := offer(c)
	if !c.Allows(name) && !o.Has(name) {
		return nil, refused
	}
	api, done := s.agent(c)
	defer done()
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

// readSkill returns the content of a file that a pin's manifest has, if that is its content
// still.
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

// told is a result that says what is wrong, for a model.
func told(what string) *agentapi.MCPToolResult {
	return &agentapi.MCPToolResult{IsError: true, Content: []agentapi.MCPContent{{Type: "text", Text: what}}}
}

// failed is what is told of an error that no model can mend.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &reverse.Error{Code: reverse.CodeUnavailable, Text: "the agent can't do it: " + errtext.Of(err)}
}

// record puts a call into the audit log.
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
