package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/internal/text"
	"waymark/workspace/mcp/catalog"
)

// live is a Session on top of the SDK's.
type live struct {
	tap    *tap
	sdk    *mcp.ClientSession
	caps   Caps
	guard  *guard       // for a server over HTTP
	tokens atomic.Int64 // progress tokens
}

var _ Session = (*live)(nil)

func (s *live) ToolsChanged() <-chan struct{} { return s.tap.changed }

func (s *live) Done() <-chan struct{} { return s.tap.done }

func (s *live) Err() error { return s.tap.why() }

func (s *live) Protocol() string { return s.sdk.InitializeResult().ProtocolVersion }

// Close implements Session. It waits for all goroutines of the session.
func (s *live) Close() error {
	err := s.tap.end(ErrClosed)
	_ = s.sdk.Close() // reading has ended, which ends the SDK's part
	s.tap.wait.Wait()
	if s.guard != nil {
		s.guard.close()
	}
	return err
}

// closing returns why a call has failed.
func (s *live) closing(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, ErrNeedsAuthorization) {
		return ErrNeedsAuthorization
	}
	switch said := reported(ctx, nil); {
	case errors.Is(said, ErrSessionLost):
		_ = s.tap.end(said)
		return said
	case errors.Is(said, errEndless):
		return said
	}
	err = inWords(err)
	if server := (*ServerError)(nil); errors.As(err, &server) {
		return err
	}
	if said := reported(ctx, nil); said != nil {
		return said
	}
	switch why := s.tap.why(); {
	case errors.Is(why, ErrSessionLost):
		return &boundedError{text: why.Error(), err: ErrClosed} // another call was told; this one may have been made
	case why != nil:
		return why
	}
	return err
}

// Call implements Session.
func (s *live) Call(ctx context.Context, call *Call) (*Result, error) {
	args, err := arguments(call.Arguments)
	if err != nil {
		return nil, err
	}
	// Ending this context stops the transport from reading more of this call.
	ctx = reporting(ctx, new(report))
	callCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	var raw json.RawMessage
	callCtx = withTaker(callCtx, func(result json.RawMessage) json.RawMessage {
		raw = result
		return withoutContent(result)
	})
	params := &mcp.CallToolParams{Name: call.Tool, Arguments: args}
	if call.Progress != nil {
		token := s.tokens.Add(1)
		params.SetProgressToken(token)
		p := s.tap.follow(strconv.FormatInt(token, 10), call.Progress)
		defer func() {
			s.tap.unfollow(strconv.FormatInt(token, 10))
			p.end(ctx.Err() != nil)
		}()
	}
	defer s.tap.calling(callCtx, call)()
	for range maxRounds {
		if _, err := s.sdk.CallTool(callCtx, params); err != nil {
			return nil, s.closing(ctx, err)
		}
		wanted, state := inputOf(raw)
		if wanted == nil {
			return parseResult(raw)
		}
		again := *params
		if again.InputResponses, err = s.answers(callCtx, call, wanted); err != nil {
			return nil, err
		}
		again.RequestState = state
		params = &again
	}
	return nil, fmt.Errorf("the server has asked %d times before it answers, and goes on", maxRounds)
}

// maxRounds limits how often a server asks before it answers a call, since 2026-07-28.
const maxRounds = 10

// answers answers what a server asks before it answers a call.
func (s *live) answers(ctx context.Context, call *Call, wanted map[string]asked) (mcp.InputResponseMap, error) {
	given := make(map[string]json.RawMessage, len(wanted))
	for id, one := range wanted { // callers are asked one thing at a time
		answer, err := s.tap.ask(ctx, call, one.Method, json.RawMessage(one.Params))
		if err != nil {
			return nil, fmt.Errorf("the server asks before it answers: %w", err)
		}
		given[id] = answer
	}
	data, err := json.Marshal(given)
	if err != nil {
		return nil, err
	}
	var responses mcp.InputResponseMap
	if json.Unmarshal(data, &responses) != nil {
		return nil, errors.New("the caller's answer isn't what the server has asked for")
	}
	return responses, nil
}

// Ping implements Session.
func (s *live) Ping(ctx context.Context) error {
	ctx = reporting(ctx, new(report))
	err := s.sdk.Ping(ctx, nil)
	if err == nil {
		return nil
	}
	err = s.closing(ctx, err)
	if refused := (*ServerError)(nil); errors.As(err, &refused) {
		return nil
	}
	return err
}

// arguments checks that arguments are a JSON object.
func arguments(raw json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return json.RawMessage("{}"), nil
	}
	if !json.Valid(raw) || bytes.TrimLeft(raw, " \t\r\n")[0] != '{' {
		return nil, errors.New("the arguments of a tool are a JSON object, and these aren't")
	}
	return raw, nil
}

func (t *tap) follow(token string, tell func(Progress)) *progress {
	p := newProgress(tell)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.progress[token] = p
	return p
}

func (t *tap) unfollow(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.progress, token)
}

type cursorKey struct{}

// withCursor returns a request for a list with another cursor.
func withCursor(req *jsonrpc.Request, cursor string) *jsonrpc.Request {
	var params map[string]json.RawMessage
	if json.Unmarshal(req.Params, &params) != nil || params == nil {
		return req
	}
	params["cursor"], _ = json.Marshal(cursor)
	encoded, err := json.Marshal(params)
	if err != nil {
		return req
	}
	return &jsonrpc.Request{ID: req.ID, Method: req.Method, Params: encoded}
}

// maxCursor limits a cursor, which is sent back to the server, in bytes.
const maxCursor = 64 << 10

// Catalogue implements Session.
func (s *live) Catalogue(ctx context.Context) (*catalog.Catalogue, error) {
	init := s.sdk.InitializeResult()
	b := catalog.NewBuilder(s.caps.limits())
	if info := init.ServerInfo; info != nil {
		b.Server(info.Name, info.Title, info.Version, init.Instructions)
	} else {
		b.Server("", "", "", init.Instructions)
	}
	if init.Capabilities != nil && init.Capabilities.Tools != nil {
		s.tap.awaitHeard(ctx)
		if err := s.pages(ctx, b); err != nil {
			return nil, err
		}
	}
	made := b.Catalogue()
	made.Offers = offers(init.Capabilities)
	made.Protocol, made.At = init.ProtocolVersion, time.Now()
	return made, nil
}

// pages adds all pages of tools.
func (s *live) pages(ctx context.Context, b *catalog.Builder) error {
	cursor := ""
	for page := range s.caps.Pages {
		next, err := s.page(ctx, b, page, cursor)
		switch {
		case err != nil:
			return err
		case next == "" || b.Full():
			return nil
		case next == cursor:
			b.Find("endless_tools", "", "The server answers each page of its tools with the same next one: the first %s are kept.", text.Count(page+1, "page", "pages"))
			return nil
		case len(next) > maxCursor:
			b.Find("endless_tools", "", "The server's next page of tools has a cursor of %d bytes: the first %s are kept.", len(next), text.Count(page+1, "page", "pages"))
			return nil
		}
		cursor = next
	}
	b.Find("endless_tools", "", "The server has more than %s of tools: the others are left out.", text.Count(s.caps.Pages, "page", "pages"))
	return nil
}

// page adds a page, and returns the cursor of the next one. The SDK identifies pages by
// number instead of the server's cursors, because it caches each page.
func (s *live) page(ctx context.Context, b *catalog.Builder, number int, cursor string) (next string, err error) {
	ctx = reporting(ctx, new(report))
	pageCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	params := &mcp.ListToolsParams{}
	if number > 0 {
		params.Cursor = strconv.Itoa(number)
		pageCtx = context.WithValue(pageCtx, cursorKey{}, cursor)
	}
	var taken []string
	pageCtx = withTaker(pageCtx, func(raw json.RawMessage) json.RawMessage {
		var shown json.RawMessage
		taken, next, shown = addPage(b, raw)
		return shown
	})
	listed, err := s.sdk.ListTools(pageCtx, params)
	if err != nil {
		return "", s.closing(ctx, err)
	}
	s.dropUncallable(b, taken, listed.Tools)
	return next, nil
}

// dropUncallable removes tools that the SDK can't call over HTTP, because they require
// impossible headers (x-mcp-header).
func (s *live) dropUncallable(b *catalog.Builder, taken []string, callable []*mcp.Tool) {
	if s.guard == nil || len(taken) == len(callable) {
		return
	}
	can := make(map[string]bool, len(callable))
	for _, tool := range callable {
		can[tool.Name] = true
	}
	for _, name := range taken {
		if !can[name] {
			b.Drop(name)
			b.Find("bad_header", name, "The tool wants parameters sent as headers that can't be, and is left out.")
		}
	}
}
