package consumer

import (
	"bytes"
	"fmt"
	"time"
)

// none is the id of an event without one.
const none = -1

// frames gathers server-sent events. Data are JSON, which has no line breaks
// but those within its strings, and these are escaped.
type frames struct {
	buf bytes.Buffer
	// sent is the last id.
	sent int64
}

func (f *frames) event(name string, id int64, data any) {
	fmt.Fprintf(&f.buf, "event: %s\n", name)
	if id != none {
		fmt.Fprintf(&f.buf, "id: %d\n", id)
		f.sent = id
	}
	f.buf.WriteString("data: ")
	if err := encode(&f.buf, data); err != nil { // never: nothing in them can't be encoded
		f.buf.WriteString("null\n")
	}
	f.buf.WriteByte('\n')
}

// position says how far the stream is, without an event: readers take the id
// and nothing else.
func (f *frames) position(id int64) {
	if id != f.sent {
		fmt.Fprintf(&f.buf, "id: %d\n\n", id)
		f.sent = id
	}
}

// heartbeat is a comment, and a position where that has moved without events:
// a reader of one agent that is quiet must not come back from where nothing is
// kept any more.
func (f *frames) heartbeat(id int64) {
	f.buf.WriteString(":\n\n")
	f.position(id)
}

func (f *frames) retry(d time.Duration) {
	fmt.Fprintf(&f.buf, "retry: %d\n\n", d.Milliseconds())
}
