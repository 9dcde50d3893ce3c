package store

import "errors"

// Errors that callers distinguish.
var (
	// ErrNotFound says that there is no such agent, token, snapshot, resource or payload.
	// The error itself is a *NotFoundError.
	ErrNotFound = errors.New("not found")
	// ErrSuperseded says that a newer session of the agent has pushed.
	ErrSuperseded = errors.New("superseded by a newer session of this agent")
	// ErrFullNeeded says that the base of a delta isn't stored. A full push always helps.
	ErrFullNeeded = errors.New("the delta does not fit what is stored; send everything")
	// ErrTokenExists says that the token exists already.
	ErrTokenExists = errors.New("token exists already")
	// ErrTooManyPins says that the agent has MaxPins already.
	ErrTooManyPins = errors.New("too many pins of this agent; delete some that nobody uses")
	// ErrInvalid marks something that no store may hold; the text says what.
	ErrInvalid = errors.New("invalid")

	// ErrClosed says that the store was closed during a wait.
	ErrClosed = errors.New("store is closed")

	// ErrAway says that the database doesn't answer, or takes nothing now. What was asked may
	// work later.
	ErrAway = errors.New("the database doesn't answer")

	// ErrForeign says that the database belongs to another program, or isn't a database.
	ErrForeign = errors.New("not a waymark hub database")
	// ErrNone says that no hub has made the database yet.
	ErrNone = errors.New("there is no hub's database here: 'hub serve' makes one")
	// ErrNewerSchema says that a newer hub has written the database.
	ErrNewerSchema = errors.New("database was written by a newer hub")
	// ErrOtherSchema says that the database was written by a hub that is neither newer nor
	// older.
	ErrOtherSchema = errors.New("database was written by another build of the hub")
	// ErrNotEmpty says that the database to be replaced isn't empty.
	ErrNotEmpty = errors.New("the database isn't empty; --force replaces it")
	// ErrInUse says that the database to be replaced is in use.
	ErrInUse = errors.New("a hub has the database open")
	// ErrCorrupt says that the database is damaged.
	ErrCorrupt = errors.New("database is damaged")
)

// NotFoundError says what doesn't exist. It matches ErrNotFound.
type NotFoundError struct {
	// What is one of "agent", "token", "session", "enrollment", "webhook", "pin",
	// "snapshot", "revision", "resource" and "payload".
	What string
	// ID is the requested id: for a token its id, never its text.
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
