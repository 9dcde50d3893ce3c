package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// maxAnswer bounds what is read: a snapshot has at most 1,000 resources of
// some KiB each, and a diff some MiB of text.
const maxAnswer = 64 << 20

// call is one request.
type call struct {
	method, path string
	query        url.Values
	body         any
	wait         time.Duration // how long the hub may take on purpose
}

// do makes a request and returns the answer's status and body. Any status but
// 2xx and 304 is an *Error.
func (h *hub) do(ctx context.Context, c call) (code int, body []byte, err error) {
	if h.err != nil {
		return 0, nil, h.err
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, h.opts.Timeout+c.wait)
		defer cancel()
	}
	resp, err := h.send(ctx, c)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return 0, nil, h.unreachable(ctx, err)
	}
	if len(body) > maxAnswer {
		return 0, nil, fmt.Errorf("the hub's answer is larger than %d MiB", maxAnswer>>20)
	}
	return resp.StatusCode, body, nil
}

// send makes a request; the caller closes the answer's body.
func (h *hub) send(ctx context.Context, c call) (*http.Response, error) {
	req, err := h.request(ctx, c)
	if err != nil {
		return nil, err
	}
	resp, err := h.http.Do(req)
	if err != nil {
		return nil, h.unreachable(ctx, err)
	}
	if resp.StatusCode != http.StatusNotModified && resp.StatusCode/100 != 2 {
		defer func() { _ = resp.Body.Close() }()
		return nil, refusal(resp)
	}
	return resp, nil
}

func (h *hub) request(ctx context.Context, c call) (*http.Request, error) {
	var body io.Reader
	if c.body != nil {
		data, err := json.Marshal(c.body)
		if err != nil {
			return nil, fmt.Errorf("request can't be written: %w", err)
		}
		body = bytes.NewReader(data)
	}
	target := h.base + "/api/v0" + c.path
	if len(c.query) > 0 {
		target += "?" + c.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, c.method, target, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if h.opts.Token != "" {
		req.Header.Set("Authorization", "Bearer "+h.opts.Token)
	}
	return req, nil
}

// fetch makes a request and decodes the answer.
func fetch[T any](ctx context.Context, h *hub, c call) (*T, error) {
	code, body, err := h.do(ctx, c)
	if err != nil || code == http.StatusNotModified {
		return nil, err
	}
	v := new(T)
	if err := json.Unmarshal(body, v); err != nil {
		return nil, fmt.Errorf("the hub's answer can't be read: %w", err)
	}
	return v, nil
}

// list is fetch for a list.
func list[T any](ctx context.Context, h *hub, c call) ([]T, error) {
	v, err := fetch[[]T](ctx, h, c)
	if err != nil || v == nil {
		return nil, err
	}
	return *v, nil
}

// bytes is fetch for what isn't JSON.
func (h *hub) bytes(ctx context.Context, c call) ([]byte, error) {
	_, body, err := h.do(ctx, c)
	return body, err
}
