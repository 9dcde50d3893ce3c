package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"syscall"
)

var (
	// ErrUnreachable says that no hub answers at the URL.
	ErrUnreachable = errors.New("no hub answers")
	// ErrNotFound says that the hub has no such agent, revision, resource or
	// pin. The error itself is an *Error.
	ErrNotFound = errors.New("not found")
)

// Error is the hub's no.
type Error struct {
	Code    int    `json:"-"` // the HTTP status
	Message string `json:"message"`
	// Detail says more, and what to do.
	Detail string `json:"detail"`
}

func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Message
	}
	return e.Message + ": " + e.Detail
}

// Is makes errors.Is(err, ErrNotFound) true for a 404.
func (e *Error) Is(target error) bool {
	return target == ErrNotFound && e.Code == http.StatusNotFound
}

// maxError bounds what is read of a refusal.
const maxError = 64 << 10

// refusal reads an error.
func refusal(resp *http.Response) error {
	e := &Error{}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil || json.Unmarshal(data, e) != nil || e.Message == "" {
		// Not the hub's own words, but perhaps those of a proxy.
		e = &Error{Message: "the hub answers " + resp.Status}
	}
	e.Code = resp.StatusCode
	return e
}

// unreachable says for a person why there is no answer.
func (h *hub) unreachable(ctx context.Context, err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // it repeats the URL
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w at %s: start one with 'hub serve', or name another", ErrUnreachable, h.base)
	case ctx.Err() != nil:
		return fmt.Errorf("no answer from the hub at %s: %w", h.base, context.Cause(ctx))
	}
	return fmt.Errorf("%w at %s: %w", ErrUnreachable, h.base, err)
}

// statusOf returns the code of the hub's refusal, 0 when it is none.
func statusOf(err error) int {
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Code
	}
	return 0
}

// isFinal tells of a refusal that repeating doesn't change.
func isFinal(code int) bool {
	return code/100 == 4 && code != http.StatusTooManyRequests && code != http.StatusRequestTimeout
}
