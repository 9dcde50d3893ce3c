// Package serverlog keeps an MCP server's output outside the protocol, for people who look
// for a problem: its standard error, other text on its standard output, and events. A
// [Redactor] removes secrets that were given to the server from this, and from what else the
// server says.
//
// # Guarantees
//
//   - A log keeps a limited number of bytes, the newest ones, in whole lines of limited length,
//     whatever the server writes. It is only in memory.
//   - Redaction happens before a line is stored.
//   - Offsets count all bytes ever stored. An offset that was returned once always stands for
//     the same text, or for text that is gone.
//   - A [Redactor] doesn't reveal its values when it is printed, logged or encoded.
//
// # Concurrency
//
// A Log may be used by any number of goroutines, a Writer by one. A Redactor is immutable.
//
// # Limits
//
// An incomplete line is stored when it ends, or when its Writer is closed. Control
// characters are stored unchanged: whoever prints them must escape them.
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
	Stderr = "stderr" // the server's standard error
	Noise  = "stdout" // text on its standard output that wasn't a message
	event  = "event"
)

const (
	// maxLine is how much of a line is kept, in bytes. Lines of stack traces are shorter.
	maxLine = 4 << 10
	// beyond is how much of the following text is redacted together with a cut line, so
	// that a value across the cut is found.
	beyond = 2 << 10
	// defaultRead is the default limit of a Read.
	defaultRead = 64 << 10
	// minBytes is the minimum size of a log: a few lines of maximum length.
	minBytes = 4 * maxLine
)

// Log is the log of one server.
type Log struct {
	max int

	mu      sync.Mutex // guards the fields below
	redact  func(string) string
	text    []byte        // whole lines
	base    int64         // the offset of text
	changed chan struct{} // closed when there is more
}

// New returns a log of this size, but at least 16 KiB. It may temporarily be a quarter
// larger.
func New(bytes int64) *Log {
	const most = 1 << 30
	return &Log{max: int(min(max(bytes, minBytes), most)), changed: make(chan struct{})}
}

// Redact sets the function that redacts new lines. It also redacts stored lines, because
// the log may learn a value too late.
func (l *Log) Redact(f func(string) string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.redact = f
	if f == nil {
		return
	}
	// Returned offsets must stay valid, so the replacement has the same length.
	for at := 0; at < len(l.text); {
		end := at + bytes.IndexByte(l.text[at:], '\n')
		if line := string(l.text[at:end]); f(line) != line {
			copy(l.text[at:end], strings.Repeat("*", end-at))
		}
		at = end + 1
	}
}

// Event adds a line about an event.
func (l *Log) Event(text string) { l.Line(event, text) }

// Line adds a line of a kind. It replaces invalid UTF-8 and line breaks.
func (l *Log) Line(kind, text string) {
	n := min(len(text), maxLine+beyond)
	l.add(kind, text[:n], len(text)-n)
}

// add adds a line of which cut bytes were left out.
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

// drop drops the n oldest bytes and the rest of their last line.
func (l *Log) drop(n int) {
	n += bytes.IndexByte(l.text[n-1:], '\n')
	l.text = append(l.text[:0], l.text[n:]...)
	l.base += int64(n)
}

// Read returns at most limit bytes of text from an offset on, without splitting runes. If
// that text is gone, it begins at the oldest. A negative offset counts from the end. If
// there is nothing yet, it waits up to wait or until ctx ends. at is where the text begins,
// next where the following text does.
func (l *Log) Read(ctx context.Context, offset int64, limit int, wait time.Duration) (text string, at, next int64) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		text, at, next, changed := l.read(offset, limit)
		if text != "" || wait <= 0 {
			return text, at, next
		}
		offset = at // a negative one is absolute now
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
	limit = max(limit, utf8.UTFMax) // otherwise a rune might never fit
	l.mu.Lock()
	defer l.mu.Unlock()
	end := l.base + int64(len(l.text))
	fromEnd := offset < 0
	if fromEnd {
		offset += end
	}
	at = min(max(offset, l.base), end)
	piece := l.text[at-l.base:]
	if fromEnd { // don't begin in the middle of a rune
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

// Writer splits a stream into lines of a log.
type Writer struct {
	log  *Log
	kind string
	line []byte
	cut  int // omitted bytes of the line
}

// Writer returns a Writer for lines of a kind.
func (l *Log) Writer(kind string) *Writer { return &Writer{log: l, kind: kind} }

// Write never fails.
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

// Close adds the rest of the last line. It never fails, and may be called twice.
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
