package sandbox

import (
	"time"

	"waymark/internal/defaults"
	"waymark/internal/text"
)

// Limits bounds one run, and what a module may use while it is loaded. Zero fields mean the
// default.
type Limits struct {
	// Time is the wall-clock time of one call. Default defaults.RunTime.
	Time time.Duration
	// Memory is the linear memory of one instance, in bytes, rounded down to pages of 64 KiB.
	// Default defaults.RunMemory. It is fixed when the module is loaded.
	Memory int64
	// Fuel bounds one call by the guest's own work, counted without a clock; see package
	// meter. It is for tests and for comparing versions of a guest: how much a millisecond
	// uses depends on the toolchain (3 million units for straight code, up to 100 times that
	// for Go). 0 means no bound.
	Fuel int64
	// Response is the length of an answer, in bytes. Default defaults.RunResponse.
	Response int
	// Logs bounds the total length of the log lines of one run, in bytes; further lines are
	// counted and dropped. Default defaults.RunLogs.
	Logs int
}

const (
	wasmPage = 64 << 10

	// guestTextMax bounds how much of a guest's error or panic text is kept. The first lines
	// of a panic are enough; a Go traceback has several KiB.
	guestTextMax = 1 << 10

	// cleanedMax is how much of a guest's text is scanned to keep guestTextMax of it, as in
	// text.Line.
	cleanedMax = 4 * guestTextMax
)

// Or returns the limits, with non-positive fields taken from other.
func (l Limits) Or(other Limits) Limits { return defaults.Or(l, other) }

// WithDefaults returns the limits, with defaults for non-positive fields.
func (l Limits) WithDefaults() Limits {
	return l.Or(Limits{Time: defaults.RunTime, Memory: defaults.RunMemory, Response: defaults.RunResponse, Logs: defaults.RunLogs})
}

func (l Limits) pages() uint32 {
	pages := l.Memory / wasmPage
	return uint32(min(max(pages, 1), maxPages))
}

// LogLine is one line that a guest logged.
type LogLine struct {
	Level string // trace, debug, info, warn, error
	Text  string // one line of valid UTF-8, at most 1 KiB
}

// logKeeper keeps the log lines of one instance up to a number of bytes, and counts what it
// drops. Only the goroutine that runs the guest uses it.
type logKeeper struct {
	max     int
	used    int
	lines   []LogLine
	dropped int
}

func (k *logKeeper) add(level, message string) {
	if k.used >= k.max {
		k.dropped++
		return
	}
	line := text.Line(message, guestTextMax)
	if k.used+len(line) > k.max {
		k.dropped++
		return
	}
	k.used += len(line) + 1 // the line break counts, so that empty lines are bounded, too
	k.lines = append(k.lines, LogLine{Level: level, Text: line})
}
