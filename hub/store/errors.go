package store

import "errors"

// The errors that callers tell apart.
var (
	// ErrNotFound: no such agent, token, snapshot, resource or payload. The
	// error itself is a *NotFoundError.
	ErrNotFound = errors.New("not found")
	// ErrSuperseded: a newer session of the agent has pushed.
	ErrSuperseded = errors.New("superseded by a newer session of this agent")
	// ErrFullNeeded: what a delta builds on isn't what is stored. A full push
	// always heals it.
	ErrFullNeeded = errors.New("the delta does not fit what is stored; send everything")
	// ErrTokenExists: this token is in the store already.
	ErrTokenExists = errors.New("token exists already")
	// ErrTooManyPins: the agent has MaxPins already.
	ErrTooManyPins = errors.New("too many pins of this agent; delete some that nobody uses")
	// ErrInvalid: something that no store may hold; the text says what.
	ErrInvalid = errors.New("invalid")

	// ErrClosed: the store was closed while somebody waited.
	ErrClosed = errors.New("store is closed")

	// ErrForeign: the database belongs to another program, or isn't one.
	ErrForeign = errors.New("not a waymark hub database")
	// ErrNone: no hub has made it yet.
	ErrNone = errors.New("there is no hub's database here: 'hub serve' makes one")
	// ErrNewerSchema: the database was written by a newer hub.
	ErrNewerSchema = errors.New("database was written by a newer hub")
	// ErrOtherSchema: the database was written by a hub that is neither newer nor older.
	ErrOtherSchema = errors.New("database was written by another build of the hub")
	// ErrNotEmpty: what would be replaced holds something.
	ErrNotEmpty = errors.New("the database isn't empty; --force replaces it")
	// ErrInUse: what would be replaced is in use.
	ErrInUse = errors.New("a hub has the database open")
	// ErrCorrupt: the database is damaged.
	ErrCorrupt = errors.New("database is damaged")
)

// NotFoundError says what doesn't exist. It matches ErrNotFound.
type NotFoundError struct {
	// What is one of "agent", "token", "session", "enrollment", "webhook", "pin", "snapshot", "revision",
	// "resource" and "payload".
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
	case "revision":
		return "revision " + e.ID + " is not kept, or is older than the agent"
	case "payload":
		return "resource " + e.ID + " has no payload"
	}
	return "no " + e.What + " " + e.ID
}

// Is makes errors.Is(err, ErrNotFound) true.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }
