package api

import "errors"

// Error is the body of every answer that isn't a success, and what a client
// returns for one. A Backend may return one to choose the answer itself.
type Error struct {
	// Message says what didn't work.
	Message string `json:"message"`
	// Detail says why, and what to do; it may be empty.
	Detail string `json:"detail"`
	// Code is the HTTP status. It isn't part of the body.
	Code int `json:"-"`
}

// Error implements error.
func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Message
	}
	return e.Message + ": " + e.Detail
}

// ErrStopping says that the agent is about to end. Requests that wait are
// answered so.
var ErrStopping = errors.New("the agent is stopping")
