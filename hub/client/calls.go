package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

func get(path string) call { return call{method: http.MethodGet, path: path} }

func agentPath(id string) string { return "/agents/" + url.PathEscape(id) }

func pinPath(id string) string { return "/pins/" + url.PathEscape(id) }

// with adds a query where n isn't 0, which stands for the default.
func (c call) with(name string, n int64) call {
	if n != 0 {
		c.query = withKey(c.query, name, strconv.FormatInt(n, 10))
	}
	return c
}

func withKey(query url.Values, name, value string) url.Values {
	if query == nil {
		query = make(url.Values)
	}
	query.Set(name, value)
	return query
}

func markdown(path string) call {
	c := get(path + "/context")
	c.query = url.Values{"format": {"markdown"}}
	return c
}

func (h *hub) Agents(ctx context.Context) ([]Agent, error) {
	return list[Agent](ctx, h, get("/agents"))
}

func (h *hub) Agent(ctx context.Context, agentID string) (*Agent, error) {
	return fetch[Agent](ctx, h, get(agentPath(agentID)))
}

func (h *hub) Context(ctx context.Context, agentID string, opts ContextOptions) (*Snapshot, error) {
	c := get(agentPath(agentID)+"/context").with("revision", opts.Revision)
	if opts.Wait > 0 {
		c.wait = opts.Wait
		c.query = withKey(c.query, "wait", opts.Wait.String())
		c.query.Set("after", strconv.FormatInt(opts.After, 10))
	}
	return fetch[Snapshot](ctx, h, c)
}

func (h *hub) Markdown(ctx context.Context, agentID string, revision int64) (string, error) {
	text, err := h.bytes(ctx, markdown(agentPath(agentID)).with("revision", revision))
	return string(text), err
}

func (h *hub) Resource(ctx context.Context, agentID, resourceID string, revision int64) ([]byte, error) {
	return h.bytes(ctx, get(agentPath(agentID)+"/context/resources/"+url.PathEscape(resourceID)).with("revision", revision))
}

func (h *hub) History(ctx context.Context, agentID string, limit int) ([]Change, error) {
	return list[Change](ctx, h, get(agentPath(agentID)+"/history").with("limit", int64(limit)))
}

func (h *hub) Diff(ctx context.Context, agentID string, from, to int64) (*Diff, error) {
	return fetch[Diff](ctx, h, get(agentPath(agentID)+"/diff").with("from", from).with("to", to))
}

func (h *hub) CreatePin(ctx context.Context, agentID, name string) (*Pin, error) {
	return fetch[Pin](ctx, h, call{method: http.MethodPost, path: "/pins", body: struct {
		AgentID string `json:"agent_id"`
		Name    string `json:"name"`
	}{agentID, name}})
}

func (h *hub) Pins(ctx context.Context, agentID string) ([]Pin, error) {
	c := get("/pins")
	if agentID != "" {
		c.query = url.Values{"agent_id": {agentID}}
	}
	return list[Pin](ctx, h, c)
}

func (h *hub) Pin(ctx context.Context, pinID string) (*Pin, error) {
	return fetch[Pin](ctx, h, get(pinPath(pinID)))
}

func (h *hub) DeletePin(ctx context.Context, pinID string) error {
	_, _, err := h.do(ctx, call{method: http.MethodDelete, path: pinPath(pinID)})
	return err
}

func (h *hub) RefreshPin(ctx context.Context, pinID string) (*Pin, error) {
	return fetch[Pin](ctx, h, call{method: http.MethodPost, path: pinPath(pinID) + "/refresh"})
}

func (h *hub) PinContext(ctx context.Context, pinID string) (*Snapshot, error) {
	return fetch[Snapshot](ctx, h, get(pinPath(pinID)+"/context"))
}

func (h *hub) PinMarkdown(ctx context.Context, pinID string) (string, error) {
	text, err := h.bytes(ctx, markdown(pinPath(pinID)))
	return string(text), err
}

func (h *hub) PinResource(ctx context.Context, pinID, resourceID string) ([]byte, error) {
	return h.bytes(ctx, get(pinPath(pinID)+"/context/resources/"+url.PathEscape(resourceID)))
}

func (h *hub) PinDiff(ctx context.Context, pinID string) (*Diff, error) {
	return fetch[Diff](ctx, h, get(pinPath(pinID)+"/diff"))
}

func (h *hub) Login(ctx context.Context) (*Login, error) {
	return fetch[Login](ctx, h, call{method: http.MethodPost, path: "/login"})
}
