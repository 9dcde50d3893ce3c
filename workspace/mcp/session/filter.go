package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"waymark/internal/text"
)

// maxNesting limits the depth of a message. The SDK ends a session at 1,000, and no useful
// schema or result comes close to 512. Catalogues report a schema that was cut as too deep.
const maxNesting = 512

// maxNoise is how much of a line that isn't a message is reported, in bytes.
const maxNoise = 4 << 10

// lineFilter reads a server's standard output and passes on messages, one per line. It
// reports and drops everything else, because many servers print greetings or debug output.
// It splits a batch, which only the protocol of 2025-03-26 has, into single messages. Only
// Close may be called by another goroutine than the reader.
type lineFilter struct {
	src     io.ReadCloser
	lines   *bufio.Reader
	max     int
	noise   func([]byte)
	pending []byte
	buf     []byte
	speaks  bool // it has sent a message
}

func newLineFilter(src io.ReadCloser, maxLine int, noise func([]byte)) *lineFilter {
	return &lineFilter{src: src, lines: bufio.NewReaderSize(src, 32<<10), max: maxLine, noise: noise}
}

// Close closes the source, which unblocks a Read.
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

// line returns the next line without its end, valid until the next call. An incomplete last
// line counts.
func (f *lineFilter) line() ([]byte, error) {
	f.buf = f.buf[:0]
	if cap(f.buf) > 1<<20 {
		f.buf = nil // don't keep the buffer of a long line forever
	}
	for {
		part, err := f.lines.ReadSlice('\n')
		if len(f.buf)+len(part) > f.max {
			return f.skip(part, err)
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

// skip reads the rest of a line that is too long, of which part is read and is the end if err
// is nil. It returns an error for the call that the line answers; the session ends if that
// can't be known, and before the server has sent any message.
func (f *lineFilter) skip(part []byte, err error) ([]byte, error) {
	s := newSkim()
	s.add(f.buf)
	s.add(part)
	for n := 0; errors.Is(err, bufio.ErrBufferFull) && f.speaks && n < maxSkipped*f.max; n += len(part) {
		part, err = f.lines.ReadSlice('\n')
		s.add(part)
	}
	if answer := s.answer(int64(f.max)); answer != nil && err == nil && f.speaks {
		f.noise(fmt.Appendf(nil, "(a message of more than %d bytes)", f.max))
		return answer, nil
	}
	return nil, fmt.Errorf("the server has written a line of more than %d bytes", f.max)
}

// messages returns the messages in a line, each with a newline; nil if there are none.
func (f *lineFilter) messages(line []byte) []byte {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	whole := line
	if last := line[len(line)-1]; line[0] != '{' && line[0] != '[' || last != '}' && last != ']' {
		// Colors, titles and byte order marks may be around a message.
		if line = bytes.TrimSpace([]byte(text.WithoutEscapes(string(line)))); len(line) == 0 {
			return nil
		}
	}
	if line[0] == '{' || line[0] == '[' {
		pruned := prune(line, maxNesting)
		if line[0] == '{' && isMessage(pruned) {
			f.speaks = true
			return append(pruned, '\n')
		}
		if all := single(pruned); all != nil {
			return all
		}
	}
	f.noise(bytes.Clone(whole[:min(len(whole), maxNoise)]))
	return nil
}

// isMessage reports whether an object is a protocol message. The SDK would end the session
// for other JSON, which servers print as log lines.
func isMessage(object []byte) bool {
	if !json.Valid(object) {
		return false // the SDK checks with this package, but decodes with another one
	}
	_, err := jsonrpc.DecodeMessage(object)
	return err == nil
}

// maxBatch limits the messages in a line.
const maxBatch = 10_000

// single splits a batch into messages; nil for an array that isn't a batch.
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

// prune returns a copy of JSON in which everything nested deeper than depth is null.
// Invalid JSON stays invalid, except for errors within what is cut.
func prune(src []byte, depth int) []byte {
	p := pruner{max: depth}
	return p.append(make([]byte, 0, len(src)+1), src)
}

// pruner replaces what is nested too deeply, in JSON that arrives in pieces.
type pruner struct {
	max      int
	depth    int
	inString bool
	escaped  bool
}

// append appends what remains of a piece.
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
