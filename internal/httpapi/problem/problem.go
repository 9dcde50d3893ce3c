// Package problem is the form of errors in Waymark's HTTP APIs, for both ends:
// {"message","detail"}, with "see" and "cause" if these help, and the status.
package problem

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"
)

// Error is the body of every answer that isn't a success.
type Error struct {
	// Message says what failed.
	Message string `json:"message" minLength:"1"`
	// Detail says why, and what to do; it may be empty.
	Detail string `json:"detail"`
	// See is a request that tells more, or helps: "GET /path".
	See string `json:"see,omitempty"`
	// Cause is what another program has answered, as it has said it: of an MCP server, the
	// error of JSON-RPC with its code, message and data.
	Cause json.RawMessage `json:"cause,omitempty"`
	// Code is the HTTP status. It isn't part of the body.
	Code int `json:"-"`
	// RetryAfter is when to try again, with 429 and 503; 0 is the router's own.
	RetryAfter time.Duration `json:"-"`
}

// Error implements error. It omits See, which is of no use to a person who typed a command.
func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Message
	}
	return e.Message + ": " + e.Detail
}

// ErrNotFound matches every Error with code 404.
var ErrNotFound = errors.New("not found")

// Is makes errors.Is(err, ErrNotFound) true for a 404.
func (e *Error) Is(target error) bool {
	return target == ErrNotFound && e.Code == http.StatusNotFound
}

// Nobody matches the error of a client that nobody answers. Its text says who is missing.
type Nobody string

func (n Nobody) Error() string { return string(n) }

// maxBody bounds what is read of an error.
const maxBody = 64 << 10

// Read returns the error in resp. If the body isn't one, for example because a proxy wrote
// it, the message names the server, such as "agent", and the status. It leaves the body open.
func Read(resp *http.Response, server string) *Error {
	e := &Error{}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil || json.Unmarshal(data, e) != nil || e.Message == "" {
		e = &Error{Message: "the " + server + " answers " + resp.Status}
	}
	e.Code = resp.StatusCode
	return e
}

// CodeOf returns the status of the Error in err, 0 if there is none.
func CodeOf(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}
