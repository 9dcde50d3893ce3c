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

const (
	// maxSkimmed limits what is kept of a message that is too long: its members without what
	// is nested in them.
	maxSkimmed = 64 << 10
	// maxSkipped is how many times the limit of a message is read to find its end.
	maxSkipped = 16
	// tooLongCode marks the error that replaces an answer. The SDK passes it to the call.
	tooLongCode = -32098
)

// skim reads a message that is too long, and keeps as much as tells which call it answers.
type skim struct {
	pruner pruner
	kept   []byte
}

func newSkim() *skim { return &skim{pruner: pruner{max: 1}} }

func (s *skim) add(part []byte) {
	for len(part) > 0 && len(s.kept) <= maxSkimmed {
		n := min(len(part), maxSkimmed)
		s.kept = s.pruner.append(s.kept, part[:n])
		part = part[n:]
	}
}

// answer returns an error in place of the message: one line, without newline. It is nil if the
// message isn't an answer, or can't be understood.
func (s *skim) answer(limit int64) []byte {
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(s.kept, &message) != nil || len(message.ID) == 0 || message.Method != "" {
		return nil
	}
	text, _ := json.Marshal(tooLong(limit).Error())
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, message.ID, tooLongCode, text)
}

func tooLong(limit int64) error {
	return fmt.Errorf("the server's answer has more than %d bytes, and is dropped: ask for less at once", limit)
}

// isTooLong reports whether skim has made the error.
func isTooLong(err *jsonrpc.Error) bool { return err.Code == tooLongCode }

// jsonBody is the body of an answer that is one message. One that is too long becomes an
// error for its call, because otherwise the SDK would end the session.
type jsonBody struct {
	io.ReadCloser
	limit int64
	text  *bytes.Reader // nil at the beginning
}

func (b *jsonBody) Read(p []byte) (int, error) {
	if b.text == nil {
		body, err := io.ReadAll(io.LimitReader(b.ReadCloser, b.limit+1))
		if err != nil {
			return 0, err
		}
		if int64(len(body)) > b.limit {
			if body, err = b.skipped(body); err != nil {
				return 0, err
			}
		}
		b.text = bytes.NewReader(prune(body, maxNesting))
	}
	return b.text.Read(p)
}

func (b *jsonBody) skipped(begin []byte) ([]byte, error) {
	s := newSkim()
	s.add(begin)
	n, err := io.Copy(writer(s.add), io.LimitReader(b.ReadCloser, maxSkipped*b.limit))
	if answer := s.answer(b.limit); answer != nil && err == nil && n < maxSkipped*b.limit {
		return answer, nil
	}
	return nil, errors.New("the server's answer is too long")
}

// writer is a function as an io.Writer that never fails.
type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// errEndless says that the end of an event wasn't found.
var errEndless = errors.New("the server has sent an event that is too long")

// eventsBody is the body of an answer that is a stream of events. An event that is too long
// becomes an error for the call that it answers, and is dropped if it answers none.
type eventsBody struct {
	io.ReadCloser
	lines   *bufio.Reader
	limit   int64
	note    func(error) // is told of a failure that the SDK doesn't pass on
	event   []byte      // as far as it is read
	pending []byte
	err     error
}

func newEventsBody(body io.ReadCloser, limit int64, note func(error)) *eventsBody {
	return &eventsBody{ReadCloser: body, lines: bufio.NewReaderSize(body, 32<<10), limit: limit, note: note}
}

func (b *eventsBody) Read(p []byte) (int, error) {
	for len(b.pending) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.next()
	}
	n := copy(p, b.pending)
	b.pending = b.pending[n:]
	return n, nil
}

// next reads an event, up to the empty line after it.
func (b *eventsBody) next() {
	b.event = b.event[:0]
	if cap(b.event) > 1<<20 {
		b.event = nil
	}
	for begins := true; ; {
		part, err := b.lines.ReadSlice('\n')
		if int64(len(b.event)+len(part)) > b.limit {
			b.skip(part, begins)
			return
		}
		b.event = append(b.event, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			begins = false
			continue
		case err != nil:
			b.err = err
		case !begins || len(bytes.TrimRight(part, "\r\n")) > 0:
			begins = true
			continue
		}
		// What isn't JSON to its end would swallow the end of the event.
		if b.pending = prune(b.event, maxNesting); err == nil && !bytes.HasSuffix(bytes.ReplaceAll(b.pending, []byte("\r"), nil), []byte("\n\n")) {
			b.pending = append(b.pending, "\n\n"...)
		}
		return
	}
}

// skip reads the rest of an event. part is read already, and begins a line if begins is true.
func (b *eventsBody) skip(part []byte, begins bool) {
	s := newSkim()
	isData := false // the current line is
	add := func(part []byte, begins bool) {
		data, ok := bytes.CutPrefix(part, []byte("data:"))
		switch {
		case begins && ok:
			s.add(data)
		case !begins && isData:
			s.add(part)
		}
		isData = begins && ok || !begins && isData
	}
	for line := range bytes.Lines(b.event) {
		add(line, true)
	}
	for skipped := int64(0); skipped <= maxSkipped*b.limit; skipped += int64(len(part)) {
		add(part, begins)
		begins = bytes.HasSuffix(part, []byte("\n"))
		var err error
		part, err = b.lines.ReadSlice('\n')
		switch {
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			b.err = err
		case !begins || len(bytes.TrimRight(part, "\r\n")) > 0:
			continue
		}
		if answer := s.answer(b.limit); answer != nil {
			b.pending = append(append([]byte("data: "), answer...), "\n\n"...)
		}
		return
	}
	b.err = fmt.Errorf("%w: it has more than %d bytes", errEndless, maxSkipped*b.limit)
	b.note(b.err)
}
