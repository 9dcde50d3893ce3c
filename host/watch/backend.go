package watch

import "errors"

// Backend is the notifier of the operating system, or a stand-in for it. One goroutine calls
// Read, and another all other methods, including Close, which ends Read. After Read has
// returned an error other than ErrOverflow, only Close is called.
type Backend interface {
	// Add watches a directory: its entries and, if writes is set, writes to the files among
	// them. More events than asked for do no harm. Changes after its return cause events. Its
	// errors are distinguished by errno: a directory that is gone or unreadable is normal,
	// anything else is a failure.
	Add(path string, writes bool) error
	// Remove ends a watch, if there is one.
	Remove(path string) error
	// WatchList lists the paths of the existing watches.
	WatchList() []string
	// Read returns the next events, in order and at least one; they are valid until the next
	// call. An error that wraps ErrOverflow says that some were lost.
	Read() ([]Event, error)
	Close() error
}

// ErrOverflow says that the system's queue was full and events were lost.
var ErrOverflow = errors.New("file events were lost")

// Event says that something happened to the directory entry at Path.
type Event struct {
	Path string
	Op   Op
	// File says that Path certainly isn't, or wasn't, a directory.
	File bool
}

// Op is a set of operations.
type Op uint8

// The operations. A rename is OpRename of the old path and OpCreate of the new one.
const (
	OpCreate Op = 1 << iota
	OpWrite
	OpRemove
	OpRename
	OpChmod
	// OpFinish says that a change is complete: a file that was open for writing was closed,
	// or (with OpCreate) something was moved here. Only Linux reports it.
	OpFinish
)
