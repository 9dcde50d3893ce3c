package sandbox

import (
	"fmt"
	"io"
)

const (
	// stderrMax bounds the standard error that is kept for the panic text, in
	// bytes: the half of it that was written last holds a Go panic's message and
	// the head of its traceback, also of a guest that has said much before.
	stderrMax = 16 << 10

	// outputMax bounds what is kept for Result.Output, in bytes: more than one
	// reads, and little beside a guest's memory.
	outputMax = 64 << 10
)

// output keeps the beginning and the end of what is written to it. It is used by
// one goroutine, the one that runs the guest.
type output struct {
	max        int // bytes; half of them for the beginning
	head, tail []byte
	written    int64 // in all
}

// Write implements io.Writer. It never fails: a guest that floods its standard
// error is not worth an error of its own.
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

// end is what of the tail is kept.
func (o *output) end() []byte { return o.tail[max(0, len(o.tail)-o.max/2):] }

// String returns what was kept, and says what is missing in between.
func (o *output) String() string {
	end := o.end()
	if lost := o.written - int64(len(o.head)+len(end)); lost > 0 {
		return fmt.Sprintf("%s\n… %d bytes are not shown …\n%s", o.head, lost, end)
	}
	return string(o.head) + string(end)
}

// streams are a guest's standard output and error.
func (in *instance) streams() (stdout, stderr io.Writer) {
	if in.output == nil {
		return in.tee(), in.tee(in.stderr)
	}
	return in.tee(in.output), in.tee(in.output, in.stderr)
}

// tee makes the writer of one of a guest's streams: what is written is charged
// for, the same whoever keeps it, and goes to each.
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
