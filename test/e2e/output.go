package e2e

import (
	"bytes"
	"sync"
)

// output collects what a process prints and tells who waits for a text.
type output struct {
	mu   sync.Mutex // guards buf and more
	buf  bytes.Buffer
	more chan struct{} // closed and replaced when buf has grown
}

// maxOutput is enough for any log worth reading; what is more is dropped, from
// the front.
const maxOutput = 4 << 20

func newOutput() *output { return &output{more: make(chan struct{})} }

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.more)
	o.more = make(chan struct{})
	if over := o.buf.Len() + len(p) - maxOutput; over > 0 {
		o.buf.Next(over)
	}
	return o.buf.Write(p)
}

// text returns all of it, and a channel that is closed when there is more.
func (o *output) text() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String(), o.more
}
