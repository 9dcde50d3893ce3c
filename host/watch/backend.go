package watch

import "errors"

// Backend is the notifier of the operating system, or a stand-in for it. One
// goroutine calls Read, another the rest, Close included, which ends Read.
// After Read has returned an error other than ErrOverflow, only Close is
// called.
type Backend interface {
	// Add watches a directory: its entries and, if asked for, writes to the files
	// among them. More events than asked for do no harm.
	// Its errors are distinguished by errno: a directory that is gone or that
	// can't be read is no trouble, all else is. What happens from its return on
	// makes an event.
	Add(path string, writes bool) error
	// Remove ends a watch. Whether there was one doesn't matter.
	Remove(path string) error
	// WatchList lists the paths of the watches that there still are.
	WatchList() []string
	// Read returns the next events, in order and at least one; they hold until
	// the next call. ErrOverflow, also wrapped, says that some were lost.
	Read() ([]Event, error)
	Close() error
}

// ErrOverflow says that the system's queue was full and events were lost.
var ErrOverflow = errors.New("file events were lost")

// Event says that something happened to the directory entry at Path.
type Event struct {
	Path string
	Op   Op
	// File says that it is surely no directory that is at Path, or was.
	File bool
}

// Op is a set of operations.
type Op uint8

// The operations. A rename is OpRename of the old path and OpCreate of the
// new one.
const (
	OpCreate Op = 1 << iota
	OpWrite
	OpRemove
	OpRename
	OpChmod
	// OpFinish says that nothing more is on its way: a file was closed that had
	// been open for writing, or (with OpCreate) something was moved here. Only
	// Linux tells.
	OpFinish
)
