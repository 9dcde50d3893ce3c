package watch

import "errors"

// Backend is the notifier of the operating system, or a stand-in for it. One
// goroutine calls Read, another the rest, Close included, which ends Read.
// After Read has returned an error other than ErrOverflow, only Close is
// called.
type Backend interface {
	// Add watches a directory. What it returns is told apart by errno: a
	// directory that is gone or that can't be read is no trouble, all else
	// is.
	Add(path string) error
	// Remove ends a watch. Whether there was one doesn't matter.
	Remove(path string) error
	// WatchList lists the paths of the watches that there still are.
	WatchList() []string
	// Read returns the next event. ErrOverflow, also wrapped, says that some
	// were lost.
	Read() (Event, error)
	Close() error
}

// ErrOverflow says that the system's queue was full and events were lost.
var ErrOverflow = errors.New("file events were lost")

// Event says that something happened to the directory entry at Path.
type Event struct {
	Path string
	Op   Op
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
)
