package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"waymark/agentapi"
	"waymark/internal/text"
	"waymark/workspace/mcp/catalog"
)

const (
	// askFor is how long a caller has to answer.
	askFor = 5 * time.Minute
	// maxAskText limits the text of what a server asks, in bytes.
	maxAskText = 4 << 10
	// asked is the id of what is asked: one thing at a time.
	asked = "1"
)

// asking lets a server ask the caller of a tool. The call goes on between the requests of
// the caller.
type asking struct {
	may       []string // what it may ask
	questions chan *question
	done      chan outcome // has capacity 1
	end       context.CancelFunc
	open      *question // asked, and not answered
	asks      atomic.Int32
}

// question is what a server asks.
type question struct {
	agentapi.MCPAsk

	answer chan json.RawMessage // has capacity 1; nil is a refusal
}

// outcome is that of a call.
type outcome struct {
	result *agentapi.MCPToolResult
	err    error
}

// parked are the calls whose server has asked something, by state.
type parked struct {
	mu    sync.Mutex // guards calls
	calls map[string]*parkedCall
}

type parkedCall struct {
	*toolCall

	who   string // the only one who may answer
	timer *time.Timer
}

// put keeps a call until it is answered, and returns its state. It ends the call if that takes
// too long.
func (w *parked) put(t *toolCall, who string) string {
	state := rand.Text()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calls == nil {
		w.calls = map[string]*parkedCall{}
	}
	w.calls[state] = &parkedCall{t, who, time.AfterFunc(askFor, func() {
		if t := w.take(state, who, t.server.name, t.tool); t != nil {
			t.asking.end()
		}
	})}
	return state
}

// take returns the call that waits; nil if there is none of this caller and tool.
func (w *parked) take(state, who, server, tool string) *toolCall {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.calls[state]
	if one == nil || one.who != who || one.server.name != server || one.tool != tool {
		return nil
	}
	delete(w.calls, state)
	one.timer.Stop()
	return one.toolCall
}

// ask asks the caller. It is session.Call.Ask.
func (t *toolCall) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	params, err := t.server.marked(method, params)
	if err != nil {
		return nil, err
	}
	a := t.asking
	a.asks.Add(1)
	defer a.asks.Add(-1)
	q := &question{agentapi.MCPAsk{Method: method, Params: params}, make(chan json.RawMessage, 1)}
	select {
	case a.questions <- q:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case answer := <-q.answer:
		if answer == nil {
			return nil, errors.New("the caller hasn't answered")
		}
		return answer, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// marked returns the parameters of what a server asks, without its values and with its name
// before its text, so that nobody takes it for somebody else's.
func (s *server) marked(method string, params json.RawMessage) (json.RawMessage, error) {
	var p map[string]json.RawMessage
	if json.Unmarshal(s.redact().JSON(params), &p) != nil && len(params) > 0 {
		return nil, errors.New("what the server asks has no parameters that can be read")
	}
	delete(p, "_meta")
	key := map[string]string{agentapi.MCPElicit: "message", agentapi.MCPSample: "systemPrompt"}[method]
	if key == "" {
		return json.RawMessage("{}"), nil
	}
	var said, address string
	_ = json.Unmarshal(p[key], &said) // one without a text has the mark alone
	lines := strings.Split(said, "\n")
	for i := range lines {
		lines[i] = text.Printable(lines[i])
	}
	said = text.Truncate(fmt.Sprintf("[The MCP server %s asks this.] %s", s.name, strings.Join(lines, "\n")), maxAskText)
	if p == nil {
		p = map[string]json.RawMessage{}
	}
	p[key], _ = json.Marshal(said) // strings always marshal
	if catalog.AskOf(method, params) == agentapi.MCPAskURL {
		_ = json.Unmarshal(p["url"], &address)
		if u, err := url.Parse(address); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
			return nil, errors.New("what the server wants to be opened isn't the address of a web page")
		}
	}
	return json.Marshal(p)
}

// begin starts the call in the background, if its server may ask its caller something.
func (t *toolCall) begin(may []string) {
	ctx, cancel := context.WithTimeout(t.server.svc.life, t.set.ConnectTimeout+longest(t.set.CallTimeout))
	t.asking = &asking{may: may, questions: make(chan *question), done: make(chan outcome, 1), end: cancel}
	go func() {
		defer cancel()
		result, err := t.do(ctx)
		t.asking.done <- outcome{result, err}
	}()
}

// next returns the result of a call, or what its server asks the caller, who.
func (t *toolCall) next(ctx context.Context, who string) (*agentapi.MCPToolResult, error) {
	a := t.asking
	if a == nil {
		return t.do(ctx)
	}
	select {
	case a.open = <-a.questions:
		state := t.server.svc.parked.put(t, who)
		return &agentapi.MCPToolResult{
			Content: []agentapi.MCPContent{}, Asked: &agentapi.MCPAsked{State: state, Requests: map[string]agentapi.MCPAsk{asked: a.open.MCPAsk}},
		}, nil
	case d := <-a.done:
		return d.result, d.err
	case <-ctx.Done():
		a.end()
		return nil, context.Cause(ctx)
	}
}

// resumed continues a call with answers.
func (s *Service) resumed(body *agentapi.CallMCPTool, who, server, tool string) (*toolCall, string) {
	t := s.parked.take(body.State, who, server, tool)
	if t == nil {
		return nil, "no call of this tool waits for an answer, or not any more: call it anew"
	}
	answer := body.Answers[asked]
	var object map[string]json.RawMessage
	if json.Unmarshal(answer, &object) != nil {
		answer = nil
	}
	t.asking.open.answer <- answer
	return t, ""
}

// asksOf checks what a caller says that it can be asked.
func (s *Service) asksOf(body *agentapi.CallMCPTool, srv *server, planned bool) []string {
	if j := srv.look().judged; j != nil && !planned {
		return slices.DeleteFunc(slices.Clone(body.Asks), func(ask string) bool { return !slices.Contains(j.widening.Asks, ask) })
	}
	return nil
}
