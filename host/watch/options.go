package watch

import (
	"cmp"
	"log/slog"
	"time"
)

// Dir is one directory to watch.
type Dir struct {
	// Path is absolute, clean and free of links. It needn't exist.
	Path string
	// Names are the names in it that matter. Nil means any; empty means that
	// only the directory itself matters.
	Names []string
}

// Options sets up a Watcher. The zero value works.
type Options struct {
	// Quiet is how long nothing may happen before a batch is handed out; 0
	// means 15 ms: the steps of an editor's save are closer together, and a
	// person doesn't notice it.
	Quiet time.Duration
	// MaxWait is the longest that a batch waits for quiet; 0 means 150 ms.
	MaxWait time.Duration
	// Recheck is the pace of the safety re-check of everything; 0 means 60 s.
	Recheck time.Duration
	// SilentRecheck is its pace while a watched directory makes no events or
	// not all of them: it can't be read, or lies on a file system known to be
	// silent (NFS, SMB, FUSE, 9p, virtiofs and their like). 0 means 5 s.
	SilentRecheck time.Duration
	// Poll is the pace of re-checking everything while degraded, and the
	// first delay before trying to leave that state; 0 means 2 s.
	Poll time.Duration
	// Logger gets a line when the watcher becomes degraded or recovers. Nil
	// means none.
	Logger *slog.Logger
	// NewBackend makes the notifier, anew after each failure; nil means
	// FSNotify. It is here for failure injection.
	NewBackend func() (Backend, error)
}

// longestRetry bounds the delay before watches are tried again: a person who
// has raised a limit shouldn't wait longer.
const longestRetry = time.Minute

func (o Options) withDefaults() Options {
	o.Quiet = cmp.Or(o.Quiet, 15*time.Millisecond)
	o.MaxWait = cmp.Or(o.MaxWait, 150*time.Millisecond)
	o.Recheck = cmp.Or(o.Recheck, time.Minute)
	o.SilentRecheck = cmp.Or(o.SilentRecheck, 5*time.Second)
	o.Poll = cmp.Or(o.Poll, 2*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.NewBackend == nil {
		o.NewBackend = FSNotify
	}
	return o
}
