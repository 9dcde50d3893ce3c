package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/protobuf/proto"

	"waymark/internal/errtext"
	"waymark/internal/mcpserving"
	"waymark/internal/text"
	"waymark/wire"
	"waymark/wire/reverse"
	"waymark/wire/waymark"
)

const (
	// maxTools limits the tools of a list. An agent's own limit is lower.
	maxTools = 2000
	// maxTitle and maxDescription limit texts about a tool, in bytes.
	maxTitle       = 128
	maxDescription = 4 << 10
	// maxNamed limits the names of changed resources.
	maxNamed = 10
	// maxMessage limits the message of a report of progress, in bytes.
	maxMessage = 1 << 10
)

// listTools lists the tools that the capability allows; without one there are none.
func (r *request) listTools(ctx context.Context) (*mcp.ListToolsResult, error) {
	result := &mcp.ListToolsResult{Tools: []*mcp.Tool{}, Meta: r.about()}
	if r.capability == "" {
		return result, nil
	}
	data, err := r.opts.Agents.ListTools(ctx, r.pin.AgentID, r.capability)
	if err != nil {
		return nil, refusal(ctx, err)
	}
	found, err := decode[struct {
		Tools []json.RawMessage `json:"tools"`
	}](data)
	if err != nil {
		return nil, unreadable
	}
	for _, raw := range found.Tools { // individually, so that an invalid one doesn't affect the others
		t, err := decode[mcp.Tool](raw)
		schema, _ := json.Marshal(t.InputSchema) // it was decoded before
		schema, _ = mcpserving.Mend(schema)
		if err == nil && t.Name != "" && schema != nil && len(result.Tools) < maxTools {
			t.InputSchema = json.RawMessage(schema)
			t.Title, t.Description = text.Line(t.Title, maxTitle), text.Truncate(t.Description, maxDescription)
			t.Meta, t.Icons, t.OutputSchema = nil, nil, nil
			if t.Annotations != nil {
				t.Annotations.Title = ""
			}
			result.Tools = append(result.Tools, t)
		}
	}
	return result, nil
}

// callTool calls a tool in the workspace.
func (r *request) callTool(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	p := req.Params
	if r.capability == "" {
		return nil, errCapability
	}
	ctx = noted(ctx, req)
	begin := time.Now()
	data, err := r.opts.Agents.CallTool(ctx, r.pin.AgentID, r.capability, p.Name, p.Arguments, clientOf(req))
	called := Called{
		Token: r.reader.Token.ID, AgentID: r.pin.AgentID, Pin: r.pin.ID, Tool: text.Line(p.Name, maxTitle),
		Arguments: len(p.Arguments), Result: len(data), Duration: time.Since(begin), Error: errtext.Of(err),
	}
	r.opts.Observe(called)
	if err != nil {
		return nil, refusal(ctx, err)
	}
	told, err := decode[mcp.CallToolResult](data)
	if err != nil {
		return nil, unreadable
	}
	result := completed[mcp.CallToolResult]()
	if told.InputRequests != nil {
		_ = json.Unmarshal([]byte(`{"resultType":"input_required"}`), result) // it matches the type
		result.InputRequests, result.RequestState, result.Meta = told.InputRequests, told.RequestState, r.about()
		return result, nil
	}
	result.Content, result.StructuredContent, result.IsError, result.Meta = told.Content, told.StructuredContent, told.IsError, r.about()
	if note := r.drift(ctx, p.Arguments); note != "" {
		result.Content = append(result.Content, &mcp.TextContent{Text: note})
	}
	return result, nil
}

// clientOf says what a client can be asked, and has answered. Before 2026-07-28 it can be
// asked nothing, because there are no sessions in which it could answer.
func clientOf(req *mcp.CallToolRequest) []byte {
	caps := req.Params.Meta[mcp.MetaKeyClientCapabilities]
	if caps == nil {
		return nil
	}
	data, _ := json.Marshal(map[string]any{ // it was JSON before
		"capabilities": caps, "inputResponses": req.Params.InputResponses, "requestState": req.Params.RequestState,
	})
	return data
}

// noted makes a call pass on the progress that the agent reports, if the chat wants that, and
// what the tool's server logs, as far as the chat's level lets it.
func noted(ctx context.Context, req *mcp.CallToolRequest) context.Context {
	token := req.Params.GetProgressToken()
	if token == nil && req.Params.Meta[mcp.MetaKeyLogLevel] == nil {
		return ctx
	}
	return reverse.WithNotes(ctx, func(body []byte) {
		note := new(waymark.ToolsNote)
		switch err := proto.Unmarshal(body, note); { // the chat may be gone, which ends the call anyway
		case err != nil:
		case note.GetLevel() == "" && token != nil:
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: note.GetProgress(), Total: note.GetTotal(), Message: text.Line(note.GetMessage(), maxMessage),
			})
		case note.GetLevel() != "" && json.Valid(note.GetData()):
			_ = req.Session.Log(ctx, &mcp.LoggingMessageParams{
				Level: mcp.LoggingLevel(text.Line(note.GetLevel(), maxTitle)), Logger: text.Line(note.GetLogger(), maxTitle), Data: json.RawMessage(note.GetData()),
			})
		}
	})
}

var errCapability = &jsonrpc.Error{Code: codeCapability, Message: "tools need a capability of the agent, as do files of skills but SKILL.md: make one with 'agent token create --for-hub' there, and send it as " + Header}

var unreadable = &jsonrpc.Error{Code: codeUnavailable, Message: "the agent's answer can't be read"}

// refusal says why the agent didn't answer.
func refusal(ctx context.Context, err error) error {
	var no *reverse.Error
	switch {
	case errors.As(err, &no) && no.Code == wire.CodeUnauthorized:
		return &jsonrpc.Error{Code: codeCapability, Message: no.Text}
	case errors.As(err, &no) && no.Code == reverse.CodeChanged:
		return &jsonrpc.Error{Code: codeChanged, Message: no.Text + "; refresh the pin to go on with what there is now"}
	case errors.As(err, &no) && (no.Code == reverse.CodeDenied || no.Code == reverse.CodeInvalid || no.Code == wire.CodeTooLarge):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: no.Text}
	case errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil || errors.As(err, &no) && no.Code == reverse.CodeDeadline:
		return &jsonrpc.Error{Code: codeUnavailable, Message: fmt.Sprintf("it wasn't done within %s, and was cancelled", MaxCall)}
	}
	return &jsonrpc.Error{Code: codeUnavailable, Message: errtext.Of(err)}
}

// drift warns a chat that acts in a workspace whose pin has drifted, and says whether a
// file in the arguments differs from the pinned one.
func (r *request) drift(ctx context.Context, arguments json.RawMessage) string {
	pin, err := r.pins.Pin(ctx, r.pin.ID) // the call itself may have caused the drift
	if err != nil || pin.DriftedAt.IsZero() {
		return ""
	}
	r.pin = pin
	note := fmt.Sprintf("(Waymark: the workspace's context has changed since revision %d, which this chat has pinned; refresh the pin to go on with the new one.", pin.Revision)
	_, changes, _, err := r.pins.PinDiff(ctx, pin.ID)
	if err != nil {
		return note + ")"
	}
	var names []string
	for i := range changes {
		one := cmp.Or(changes[i].After, changes[i].Before)
		name := text.Line(path.Base(one.Source), maxTitle)
		if mentions(arguments, one.Source) {
			return note + " What this call names, " + name + ", is not what is pinned.)"
		}
		if len(names) < maxNamed {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		note += " Changed: " + strings.Join(names, ", ") + "."
	}
	return note + ")"
}

// mentions reports whether arguments name a file, or a file below a directory.
func mentions(arguments json.RawMessage, source string) bool {
	var one struct {
		Path string `json:"path"`
	}
	if json.Unmarshal(arguments, &one) != nil || one.Path == "" || source == "" {
		return false
	}
	asked := path.Clean(one.Path)
	return asked == source || strings.HasPrefix(asked, source+"/") || !path.IsAbs(asked) && strings.HasSuffix(source, "/"+asked)
}
