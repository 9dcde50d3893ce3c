package vfs

import (
	"fmt"
	"syscall"

	"waymark/internal/defaults"
)

// Limits bound one run. A field that is 0 means the default.
type Limits struct {
	// Opens bounds calls of Open, successful or not; defaults.RunOpens.
	Opens int
	// ReadBytes bounds the bytes taken from files; defaults.RunReadBytes. What is kept of a
	// file counts once, however often it is reread.
	ReadBytes int64
	// Entries bounds the names looked at: every entry of a listed directory, visible or not,
	// every path asked for (a long one more than once), and every name on the way where links
	// are followed; defaults.RunEntries.
	Entries int
	// KeepBytes is how much of a file is kept and may be a resource's payload; 64 KiB.
	KeepBytes int64
}

// Or returns the limits, with non-positive fields taken from other.
func (l Limits) Or(other Limits) Limits { return defaults.Or(l, other) }

// WithDefaults returns the limits, with defaults for non-positive fields.
func (l Limits) WithDefaults() Limits {
	return l.Or(Limits{Opens: defaults.RunOpens, ReadBytes: defaults.RunReadBytes, Entries: defaults.RunEntries, KeepBytes: 64 << 10})
}

// Usage is what a run has used of its limits.
type Usage struct {
	Opens     int
	ReadBytes int64
	Entries   int
}

// hashBudget bounds the bytes that the host reads only to hash them, per run: 16 files of the
// largest size that is hashed whole. Files beyond it are hashed like larger ones.
const hashBudget = 256 << 20

// Usage returns what has been used so far.
func (r *Run) Usage() Usage { return r.used }

// Err returns the error of the limit that was exceeded, or nil. Once there is one, every call
// returns it: the run must end.
func (r *Run) Err() error {
	if r.over == nil {
		return nil
	}
	return r.over
}

func (r *Run) chargeOpen() bool {
	r.used.Opens++
	return r.within(r.used.Opens <= r.limits.Opens, "opens", int64(r.limits.Opens))
}

func (r *Run) chargeBytes(n int64) bool {
	r.used.ReadBytes += n
	return r.within(r.used.ReadBytes <= r.limits.ReadBytes, "read_bytes", r.limits.ReadBytes)
}

// chargeLoad charges for bytes of a file that are kept, unless an adopted unit already paid
// for them.
func (r *Run) chargeLoad(path string, n int64) bool {
	if r.units.charged[path] {
		delete(r.units.charged, path)
		return true
	}
	r.loaded += n
	return r.chargeBytes(n)
}

func (r *Run) chargeEntries(n int) bool {
	r.used.Entries += n
	return r.within(r.used.Entries <= r.limits.Entries, "entries", int64(r.limits.Entries))
}

func (r *Run) within(ok bool, what string, limit int64) bool {
	if !ok && r.over == nil {
		r.over = &Error{Op: "run", Path: r.root.Path(), Errno: syscall.EIO, Reason: ReasonLimit,
			Detail: fmt.Sprintf("%s = %d; raise it under [limits] if the resolver is sound", what, limit)}
	}
	return ok
}
