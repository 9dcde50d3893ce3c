package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"syscall"

	"waymark/host/api"
)

// unreachable says for a person why there is no answer.
func (a *agent) unreachable(ctx context.Context, err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // it repeats the URL
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w (nothing serves %s): start one with 'agent run'", ErrNotRunning, a.where)
	case ctx.Err() != nil:
		return fmt.Errorf("no answer from the agent at %s: %w", a.where, context.Cause(ctx))
	}
	return fmt.Errorf("agent at %s: %w", a.where, err)
}

// refusal reads an error.
func refusal(resp *http.Response) error {
	e := &api.Error{}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil || json.Unmarshal(data, e) != nil || e.Message == "" {
		// Not the agent's own words, but perhaps those of a proxy.
		e = &api.Error{Message: "the agent answers " + resp.Status}
	}
	e.Code = resp.StatusCode
	return e
}

// fetch makes a request and decodes the answer.
func fetch[T any](ctx context.Context, a *agent, c call) (*T, error) {
	ans, err := a.do(ctx, c)
	if err != nil {
		return nil, err
	}
	return decode[T](ans)
}

func decode[T any](ans *answer) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(ans.body, v); err != nil {
		return nil, fmt.Errorf("the agent's answer can't be read: %w", err)
	}
	return v, nil
}

// list is fetch for a list.
func list[T any](ctx context.Context, a *agent, path string) ([]T, error) {
	v, err := fetch[[]T](ctx, a, call{method: http.MethodGet, path: path})
	if err != nil {
		return nil, err
	}
	return *v, nil
}

// order makes a request whose answer says nothing.
func (a *agent) order(ctx context.Context, c call) error {
	_, err := a.do(ctx, c)
	return err
}
