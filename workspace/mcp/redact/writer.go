package redact

import (
	"io"
	"unicode/utf8"
)

// maxHeld bounds what a Writer holds back for one value that has no end.
const maxHeld = 64 << 10

// Writer redacts a stream, in which a value may lie across any number of writes. It
// holds back the last bytes, some hundreds, until it is flushed.
type Writer struct {
	to   io.Writer
	scan *scanner // nil without values
	held []byte   // what hasn't been written on, which ends at scan.at
}

// Writer returns a Writer that writes on to w.
func (r *Redactor) Writer(w io.Writer) *Writer {
	if r.empty() {
		return &Writer{to: w}
	}
	return &Writer{to: w, scan: newScanner(r)}
}

// Write takes all of p, and writes on what is certain. Errors are those of the
// writer below; what it was given then is gone.
func (w *Writer) Write(p []byte) (int, error) {
	if w.scan == nil {
		return w.to.Write(p)
	}
	for rest := p; len(rest) > 0; {
		n := min(len(rest), maxHeld)
		w.held = append(w.held, rest[:n]...)
		w.scan.feed(rest[:n])
		rest = rest[n:]
		if err := w.pass(max(0, len(w.held)-reach)); err != nil {
			return len(p) - len(rest), err
		}
	}
	return len(p), nil
}

// Flush writes on what is held back. A value that lies across a Flush is found by
// what of it is after it, and before, if each has MinPart bytes.
func (w *Writer) Flush() error {
	if w.scan == nil {
		return nil
	}
	w.scan.end()
	return w.pass(len(w.held))
}

// pass writes on so many of the bytes held, or some fewer so that no value and no
// rune is cut.
func (w *Writer) pass(n int) error {
	base := w.scan.at - int64(len(w.held))
	for i := range w.scan.found {
		w.scan.found[i].from = max(w.scan.found[i].from, base)
		w.scan.found[i].to = max(w.scan.found[i].to, base)
	}
	all := n == len(w.held)
	for back := 1; !all && back < utf8.UTFMax && n > 0 && !utf8.RuneStart(w.held[n]); back++ {
		n--
	}
	w.scan.found = merge(w.scan.found, w.held, base)
	var now, later []span
	for _, s := range w.scan.found {
		from, to := int(s.from-base), int(s.to-base)
		switch {
		case to == 0:
		case to < n || all:
			now = append(now, span{int64(from), int64(to)})
		case from < n && len(w.held) < 2*maxHeld:
			n = from // it may go on
			later = append(later, s)
		case from < n:
			now, n = append(now, span{int64(from), int64(to)}), to
		default:
			later = append(later, s)
		}
	}
	w.scan.found = later
	if n == 0 {
		return nil
	}
	out := render(nil, w.held[:n], now)
	w.held = append(w.held[:0], w.held[n:]...)
	_, err := w.to.Write(out)
	return err
}
