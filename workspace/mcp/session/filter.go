package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxNesting is how deep a message may be nested. The SDK ends a session at 1,000; no
// schema or result of use comes near this, and what is cut is told as a schema that
// is too deep.
const maxNesting = 512

// maxNoise is how much of a line is told that is no message.
const maxNoise = 4 << 10

// lineFilter reads a server's standard output and passes on what is a message, one on
// each line. Everything else is told and dropped: many servers greet, or print what
// they debug. A batch, which only the protocol of 2025-03-26 has, is passed on as
// single messages. It belongs to one reader, but for Close.
type lineFilter struct {
	src     io.ReadCloser
	lines   *bufio.Reader
	max     int
	noise   func([]byte)
	pending []byte
	buf     []byte
}

func newLineFilter(src io.ReadCloser, maxLine int, noise func([]byte)) *lineFilter {
	return &lineFilter{src: src, lines: bufio.NewReaderSize(src, 32<<10), max: maxLine, noise: noise}
}

// Close closes what is read from, which ends a Read that waits.
func (f *lineFilter) Close() error { return f.src.Close() }

// Read implements io.Reader.
func (f *lineFilter) Read(p []byte) (int, error) {
	for len(f.pending) == 0 {
		line, err := f.line()
		if err != nil {
			return 0, err
		}
		f.pending = f.messages(line)
	}
	n := copy(p, f.pending)
	f.pending = f.pending[n:]
	return n, nil
}

// line returns the next line without its end. It is valid until the next call. A last
// line without an end counts.
func (f *lineFilter) line() ([]byte, error) {
	f.buf = f.buf[:0]
	if cap(f.buf) > 1<<20 {
		f.buf = nil // one long line mustn't be held for ever
	}
	for {
		part, err := f.lines.ReadSlice('\n')
		if len(f.buf)+len(part) > f.max {
			return nil, fmt.Errorf("the server has written a line of more than %d bytes", f.max)
		}
		f.buf = append(f.buf, part...)
		switch {
		case err == nil:
			return bytes.TrimRight(f.buf, "\r\n"), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(f.buf) > 0:
			return f.buf, nil
		default:
			return nil, err
		}
	}
}

// messages returns the messages of a line, each with an end; nil when there are none.
func (f *lineFilter) messages(line []byte) []byte {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	if line[0] == '{' || line[0] == '[' {
		pruned := prune(line, maxNesting)
		if line[0] == '{' && isMessage(pruned) {
			return append(pruned, '\n')
		}
		if all := single(pruned); all != nil {
			return all
		}
	}
	f.noise(bytes.Clone(line[:min(len(line), maxNoise)]))
	return nil
}

// isMessage reports whether an object is one of the protocol. What a server logs as
// JSON isn't, and the SDK would end the session for it.
func isMessage(object []byte) bool {
	if !json.Valid(object) {
		return false // the SDK reads it with this package, and decodes with another
	}
	_, err := jsonrpc.DecodeMessage(object)
	return err == nil
}

// maxBatch bounds the messages of one line.
const maxBatch = 10_000

// single returns the messages of a batch, nil for an array that isn't one.
func single(batch []byte) []byte {
	var messages []json.RawMessage
	if err := json.Unmarshal(batch, &messages); err != nil || len(messages) == 0 || len(messages) > maxBatch {
		return nil
	}
	var out []byte
	for _, m := range messages {
		if !isMessage(m) {
			return nil
		}
		out = append(append(out, m...), '\n')
	}
	return out
}

// prune returns a copy of JSON in which what is nested deeper than depth is null. What
// isn't JSON stays no JSON, but for what it has in the places that are cut.
func prune(src []byte, depth int) []byte {
	p := pruner{max: depth}
	return p.append(make([]byte, 0, len(src)+1), src)
}

// pruner cuts what is nested too deep out of JSON that comes in pieces.
type pruner struct {
	max      int
	depth    int
	inString bool
	escaped  bool
}

// append appends what is left of a piece.
func (p *pruner) append(dst, src []byte) []byte {
	for _, c := range src {
		keep := p.depth <= p.max
		switch {
		case p.escaped:
			p.escaped = false
		case p.inString:
			p.escaped = c == '\\'
			p.inString = c != '"'
		case c == '"':
			p.inString = true
		case c == '{' || c == '[':
			p.depth++
			if keep && p.depth > p.max {
				dst = append(dst, "null"...)
				keep = false
			}
		case (c == '}' || c == ']') && p.depth > 0:
			p.depth--
		}
		if keep {
			dst = append(dst, c)
		}
	}
	return dst
}
