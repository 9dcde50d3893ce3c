package sandbox

import (
	"fmt"
	"io"
)

const (
	// stderrMax bounds the standard error that is kept for the panic text, in bytes. The last
	// half of it holds a Go panic's message and the head of its traceback, even if the guest
	// has printed much before.
	stderrMax = 16 << 10

	// outputMax bounds what is kept for Result.Output, in bytes: more than anybody reads, and
	// little compared to a guest's memory.
	outputMax = 64 << 10
)

// output keeps the beginning and the end of what is written to it. Only the goroutine that
// runs the guest uses it.
type output struct {
	max        int // bytes; half of them for the beginning
	head, tail []byte
	written    int64 // in total
}

// Write implements io.Writer. It never fails: flooding standard error shouldn't cause another
// error.
func (o *output) Write(p []byte) (int, error) {
	n, half := len(p), o.max/2
	o.written += int64(n)
	room := min(half-len(o.head), n)
	o.head, p = append(o.head, p[:room]...), p[room:]
	o.tail = append(o.tail, p[max(0, len(p)-half):]...)
	if len(o.tail) > 2*half { // not at every byte: a guest may write one at a time
		o.tail = o.tail[:copy(o.tail, o.end())]
	}
	return n, nil
}

// end returns the kept part of the tail.
func (o *output) end() []byte { return o.tail[max(0, len(o.tail)-o.max/2):] }

// String returns what was kept, and says what is missing in between.
func (o *output) String() string {
	end := o.end()
	if lost := o.written - int64(len(o.head)+len(end)); lost > 0 {
		return fmt.Sprintf("%s\n… %d bytes are not shown …\n%s", o.head, lost, end)
	}
	return string(o.head) + string(end)
}

// streams returns a guest's standard output and error.
func (in *instance) streams() (stdout, stderr io.Writer) {
	if in.output == nil {
		return in.tee(), in.tee(in.stderr)
	}
	return in.tee(in.output), in.tee(in.output, in.stderr)
}

// tee returns the writer of one of a guest's streams. It charges for what is written, equally
// whoever keeps it, and passes it on to each writer.
func (in *instance) tee(to ...io.Writer) io.Writer {
	return writer(func(p []byte) {
		in.gov.charge(int64(min(len(p), outputMax)) * fuelPerByte)
		for _, w := range to {
			_, _ = w.Write(p) // an output, which never fails
		}
	})
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}
