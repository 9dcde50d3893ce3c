package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/workspace/mcp/catalog"
)

// askable are the requests that Ask makes.
var askable = map[string]struct {
	send func(ctx context.Context, s *live, params json.RawMessage) error
}{
	catalog.ListResources: {func(ctx context.Context, s *live, raw json.RawMessage) error {
		p, ctx := paged[mcp.ListResourcesParams](ctx, raw)
		p.Cursor = s.pageKey(ctx)
		_, err := s.sdk.ListResources(ctx, p)
		return err
	}},
	catalog.ListTemplates: {func(ctx context.Context, s *live, raw json.RawMessage) error {
		p, ctx := paged[mcp.ListResourceTemplatesParams](ctx, raw)
		p.Cursor = s.pageKey(ctx)
		_, err := s.sdk.ListResourceTemplates(ctx, p)
		return err
	}},
	catalog.ListPrompts: {func(ctx context.Context, s *live, raw json.RawMessage) error {
		p, ctx := paged[mcp.ListPromptsParams](ctx, raw)
		p.Cursor = s.pageKey(ctx)
		_, err := s.sdk.ListPrompts(ctx, p)
		return err
	}},
	catalog.ReadResource: {func(ctx context.Context, s *live, raw json.RawMessage) error {
		var p mcp.ReadResourceParams
		if err := params(raw, &p); err != nil {
			return err
		}
		p.Meta = nil
		_, err := s.sdk.ReadResource(ctx, &p)
		return err
	}},
	catalog.GetPrompt: {func(ctx context.Context, s *live, raw json.RawMessage) error {
		var p mcp.GetPromptParams
		if err := params(raw, &p); err != nil {
			return err
		}
		p.Meta = nil
		_, err := s.sdk.GetPrompt(ctx, &p)
		return err
	}},
	catalog.Complete: {func(ctx context.Context, s *live, raw json.RawMessage) error {
		var p mcp.CompleteParams
		if err := params(raw, &p); err != nil {
			return err
		}
		p.Meta = nil
		_, err := s.sdk.Complete(ctx, &p)
		return err
	}},
}

// params decodes the parameters of a request.
func params(raw json.RawMessage, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("the parameters aren't those of the request")
	}
	return nil
}

// paged decodes the parameters of a list, and passes the cursor to the tap; see page.
func paged[P any](ctx context.Context, raw json.RawMessage) (*P, context.Context) {
	var p struct {
		Cursor string `json:"cursor"`
	}
	if json.Unmarshal(raw, &p) == nil && p.Cursor != "" {
		ctx = context.WithValue(ctx, cursorKey{}, p.Cursor)
	}
	return new(P), ctx
}

// pageKey is a cursor that no other page has, because the SDK caches each.
func (s *live) pageKey(ctx context.Context) string {
	if ctx.Value(cursorKey{}) == nil {
		return ""
	}
	return strconv.FormatInt(s.tokens.Add(1), 10)
}

// Ask implements Session.
func (s *live) Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	one, ok := askable[method]
	if !ok {
		return nil, fmt.Errorf("the request %.100q isn't relayed", method)
	}
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	ctx = reporting(ctx, new(report))
	askCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer s.tap.calling(askCtx, new(Call))()
	var raw json.RawMessage
	askCtx = withTaker(askCtx, func(result json.RawMessage) json.RawMessage {
		raw = result
		return withoutContent(result)
	})
	if err := one.send(askCtx, s, params); err != nil {
		return nil, s.closing(ctx, err)
	}
	if wanted, _ := inputOf(raw); wanted != nil {
		return nil, errors.New("the server asks something before it answers, which only its tools may")
	}
	if !json.Valid(raw) || raw[0] != '{' {
		return nil, fmt.Errorf("the server's answer is no result")
	}
	return raw, nil
}

// offers lists what the server offers besides tools.
func offers(caps *mcp.ServerCapabilities) (list []string) {
	if caps == nil {
		return nil
	}
	if caps.Resources != nil {
		list = append(list, catalog.OffersResources)
	}
	if caps.Prompts != nil {
		list = append(list, catalog.OffersPrompts)
	}
	if caps.Completions != nil {
		list = append(list, catalog.OffersCompletions)
	}
	return list
}
