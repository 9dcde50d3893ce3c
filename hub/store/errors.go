package store

import "errors"

// The errors that callers tell apart.
var (
	// ErrNotFound: no such agent, token, snapshot, resource or payload. The
	// error itself is a *NotFoundError.
	ErrNotFound = errors.New("not found")
	// ErrSuperseded: a newer session of the agent has begun.
	ErrSuperseded = errors.New("superseded by a newer session of this agent")
	// ErrTokenExists: this token is in the store already.
	ErrTokenExists = errors.New("token exists already")
	// ErrInvalid: something that no store may hold; the text says what.
	ErrInvalid = errors.New("invalid")

	// ErrForeign: the database belongs to another program, or isn't one.
	ErrForeign = errors.New("not a waymark hub database")
	// ErrNewerSchema: the database was written by a newer hub.
	ErrNewerSchema = errors.New("database was written by a newer hub")
	// ErrCorrupt: the database is damaged.
	ErrCorrupt = errors.New("database is damaged")
)

// NotFoundError says what doesn't exist. It matches ErrNotFound.
type NotFoundError struct {
	// What is one of "agent", "token", "snapshot", "resource" and "payload".
	What string
	// ID is what was asked for: for a token its id, never its text.
	ID string
}

func (e *NotFoundError) Error() string {
	if e.ID == "" {
		return "no such " + e.What
	}
	switch e.What {
	case "snapshot":
		return "agent " + e.ID + " has not pushed yet"
	case "payload":
		return "resource " + e.ID + " has no payload"
	}
	return "no " + e.What + " " + e.ID
}

// Is makes errors.Is(err, ErrNotFound) true.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }
