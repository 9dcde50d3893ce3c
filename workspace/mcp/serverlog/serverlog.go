// Package serverlog keeps what an MCP server says beside its protocol, for people who
// look for what is wrong with it: its standard error, noise on its standard output,
// and what happened to it.
//
// # Guarantees
//
//   - A log keeps a bounded number of bytes, the newest, in whole lines of bounded
//     length, whatever the server writes. It is in memory alone.
//   - What is redacted is redacted before it is kept.
//   - Offsets count all bytes that were ever kept: one that was returned once
//     stands for the same text for ever, or for text that is gone.
//
// # Concurrency
//
// A Log may be used by any number of goroutines; a Writer belongs to one.
//
// # Limits
//
// The end of a line that isn't finished is kept when it is, or when its Writer is
// closed. Characters that a terminal would obey are kept as they are: who prints
// them takes care.
package serverlog

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Kinds of lines.
const (
	Stderr = "stderr" // what the server wrote to its standard error
	Noise  = "stdout" // what it wrote to its standard output that was no message
	event  = "event"
)

const (
	// maxLine is how much of a line is kept, in bytes. The stack traces of programs
	// have shorter ones.
	maxLine = 4 << 10
	// beyond is how much of what follows is looked at, so that a value that lies across
	// the end is redacted.
	beyond = 2 << 10
	// defaultRead is the limit of a Read that names none.
	defaultRead = 64 << 10
	// minBytes is the least that a log keeps: a few lines of any length.
	minBytes = 4 * maxLine
)

// Log is the log of one server.
type Log struct {
	max int

	mu      sync.Mutex // guards what follows
	redact  func(string) string
	text    []byte        // whole lines
	base    int64         // the offset of text
	changed chan struct{} // closed when there is more
}

// New returns a log that keeps that many bytes, some 16 KiB at least, and for moments
// a quarter more.
func New(bytes int64) *Log {
	const most = 1 << 30
	return &Log{max: int(min(max(bytes, minBytes), most)), changed: make(chan struct{})}
}

// Redact has all lines that are to come go through a function. Those that are there
// are gone through, too: a value may be told of too late.
func (l *Log) Redact(f func(string) string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.redact = f
	if f == nil {
		return
	}
	// Offsets that were returned stay what they are, so that nothing can be put in
	// place of a value that is longer or shorter.
	for at := 0; at < len(l.text); {
		end := at + bytes.IndexByte(l.text[at:], '\n')
		if line := string(l.text[at:end]); f(line) != line {
			copy(l.text[at:end], strings.Repeat("*", end-at))
		}
		at = end + 1
	}
}

// Event adds a line about what happened to the server.
func (l *Log) Event(text string) { l.Line(event, text) }

// Line adds a line of some kind. What isn't UTF-8 is replaced, and so are ends of
// lines in it.
func (l *Log) Line(kind, text string) {
	n := min(len(text), maxLine+beyond)
	l.add(kind, text[:n], len(text)-n)
}

// add adds a line of which so many bytes were left out.
func (l *Log) add(kind, text string, cut int) {
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.redact != nil {
		text = l.redact(text)
	}
	n := min(len(text), maxLine)
	if cut > 0 {
		n = min(n, max(0, len(text)-beyond))
	}
	for least := n - utf8.UTFMax; n < len(text) && n > max(0, least) && !utf8.RuneStart(text[n]); {
		n--
	}
	text, cut = text[:n], cut+len(text)-n
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\n", " ")
	if cut > 0 {
		text += fmt.Sprintf(" … (%d bytes more)", cut)
	}
	l.text = fmt.Appendf(l.text, "%s %-6s %s\n", now, kind, text)
	if len(l.text) > l.max+l.max/4 {
		l.drop(len(l.text) - l.max)
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// drop drops so many of the oldest bytes, and what is left of their last line.
func (l *Log) drop(n int) {
	n += bytes.IndexByte(l.text[n-1:], '\n')
	l.text = append(l.text[:0], l.text[n:]...)
	l.base += int64(n)
}

// Read returns text from an offset on, at most limit bytes and no part of a rune, or
// from the oldest that is there; a negative offset counts from the end. Where there
// is nothing yet it waits, for as long as wait or until ctx ends. The text begins at
// at, and next is where what follows begins.
func (l *Log) Read(ctx context.Context, offset int64, limit int, wait time.Duration) (text string, at, next int64) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		text, at, next, changed := l.read(offset, limit)
		if text != "" || wait <= 0 {
			return text, at, next
		}
		offset = at // a negative one has been counted
		select {
		case <-changed:
		case <-timer.C:
			return text, at, next
		case <-ctx.Done():
			return text, at, next
		}
	}
}

func (l *Log) read(offset int64, limit int) (text string, at, next int64, changed <-chan struct{}) {
	if limit <= 0 {
		limit = defaultRead
	}
	limit = max(limit, utf8.UTFMax) // or a rune might never be read
	l.mu.Lock()
	defer l.mu.Unlock()
	end := l.base + int64(len(l.text))
	fromEnd := offset < 0
	if fromEnd {
		offset += end
	}
	at = min(max(offset, l.base), end)
	piece := l.text[at-l.base:]
	if fromEnd { // it isn't to begin in the middle of a rune
		for len(piece) > 0 && !utf8.RuneStart(piece[0]) {
			piece, at = piece[1:], at+1
		}
	}
	if len(piece) > limit {
		piece = piece[:limit]
		for !utf8.RuneStart(l.text[at-l.base+int64(len(piece))]) {
			piece = piece[:len(piece)-1]
		}
	}
	return string(piece), at, at + int64(len(piece)), l.changed
}

// Writer takes a stream apart into lines of a log.
type Writer struct {
	log  *Log
	kind string
	line []byte
	cut  int // bytes of the line that were left out
}

// Writer returns a Writer of lines of some kind.
func (l *Log) Writer(kind string) *Writer { return &Writer{log: l, kind: kind} }

// Write takes all of p; it is never an error.
func (w *Writer) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		take := min(len(line), maxLine+beyond-len(w.line))
		w.line = append(w.line, line[:take]...)
		w.cut += len(line) - take
		if ended {
			w.end()
		}
		rest = after
	}
	return len(p), nil
}

// Close adds what is left of the last line. It is never an error, and safe twice.
func (w *Writer) Close() error {
	if len(w.line) > 0 || w.cut > 0 {
		w.end()
	}
	return nil
}

func (w *Writer) end() {
	line := w.line
	if w.cut == 0 {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	if len(line) > 0 || w.cut > 0 {
		w.log.add(w.kind, string(line), w.cut)
	}
	w.line, w.cut = w.line[:0], 0
}
