package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

const (
	// maxAnswer bounds what is read: a snapshot has at most 1,000 resources
	// of some KiB each.
	maxAnswer = 64 << 20
	// maxError bounds what is read of an error.
	maxError = 64 << 10
)

// call is one request.
type call struct {
	method, path string
	query        url.Values
	etag         string // for If-None-Match
	body         any
	wait         time.Duration // how long the agent may take on purpose
}

// answer is what came back, read to its end.
type answer struct {
	code int
	etag string
	body []byte
}

// do makes a request. Any answer but 2xx and 304 is an *api.Error.
func (a *agent) do(ctx context.Context, c call) (*answer, error) {
	if a.err != nil {
		return nil, a.err
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.opts.Timeout+c.wait)
		defer cancel()
	}
	req, err := a.request(ctx, c)
	if err != nil {
		return nil, err
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, a.unreachable(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	ans := &answer{code: resp.StatusCode, etag: resp.Header.Get("ETag")}
	if ans.code != http.StatusNotModified && ans.code/100 != 2 {
		return nil, refusal(resp)
	}
	if ans.body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1)); err != nil {
		return nil, a.unreachable(ctx, err)
	}
	if len(ans.body) > maxAnswer {
		return nil, fmt.Errorf("the agent's answer is larger than %d MiB", maxAnswer>>20)
	}
	return ans, nil
}

func (a *agent) request(ctx context.Context, c call) (*http.Request, error) {
	var body io.Reader
	if c.body != nil {
		data, err := jsonv2.Marshal(c.body) // version 1 would change what isn't UTF-8
		if err != nil {
			return nil, fmt.Errorf("request can't be written: %w", err)
		}
		body = bytes.NewReader(data)
	}
	target := a.base + c.path
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
	if c.etag != "" {
		req.Header.Set("If-None-Match", c.etag)
	}
	if a.opts.Token != "" {
		req.Header.Set("Authorization", "Bearer "+a.opts.Token)
	}
	return req, nil
}
