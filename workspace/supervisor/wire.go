package supervisor

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"sync"
	"time"

	"waymark/workspace/launch"
)

// Limits of a message: of a command line with environment (Linux allows 6 MiB), and of a
// page of output.
const (
	maxHead  = 8 << 20
	maxData  = 4 << 20
	maxHello = 4 << 10
)

// sendTimeout limits how long the other end may take to read a message.
const sendTimeout = 30 * time.Second

// errTooLarge says that a message exceeds a bound.
var errTooLarge = errors.New("a message of the supervisor's protocol is too large")

// writeFrame writes a message: the length of its JSON and of the data that follows, 4 bytes
// each, big endian; then both.
func writeFrame(w io.Writer, message any, data []byte) error {
	head, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if len(head) > maxHead || len(data) > maxData {
		return errTooLarge
	}
	frame := make([]byte, 0, 8+len(head)+len(data))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(head))) //nolint:gosec // bounded above
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(data))) //nolint:gosec // bounded above
	frame = append(append(frame, head...), data...)
	_, err = w.Write(frame)
	return err
}

// readFrame reads a message. It allocates memory only for what has arrived, not for what
// the lengths announce.
func readFrame(r io.Reader, headLimit, dataLimit uint32) (head, data []byte, err error) {
	var lengths [8]byte
	if _, err := io.ReadFull(r, lengths[:]); err != nil {
		return nil, nil, err
	}
	n, m := binary.BigEndian.Uint32(lengths[:4]), binary.BigEndian.Uint32(lengths[4:])
	if n > headLimit || m > dataLimit {
		return nil, nil, errTooLarge
	}
	if head, err = readN(r, n); err != nil {
		return nil, nil, err
	}
	data, err = readN(r, m)
	return head, data, err
}

func readN(r io.Reader, n uint32) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if n <= 64<<10 {
		b := make([]byte, n)
		_, err := io.ReadFull(r, b)
		return b, unexpected(err)
	}
	var b bytes.Buffer
	_, err := io.CopyN(&b, r, int64(n))
	return b.Bytes(), unexpected(err)
}

// unexpected converts an EOF within a message into an error.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// request is a call, or its cancellation.
type request struct {
	ID     uint64          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// methodCancel has no answer.
const methodCancel = "cancel"

// reply answers the request with the same ID.
type reply struct {
	ID     uint64          `json:"id"`
	Error  *wireError      `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// wireError is the encoding of an error.
type wireError struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

// codes are the wire codes of errors that callers distinguish.
var codes = []struct {
	code string
	err  error
}{
	{"not_found", ErrNotFound}, {"exited", ErrExited}, {"conflict", ErrConflict}, {"expired", ErrExpired},
	{"full", ErrFull}, {"no_stdin", ErrNoStdin}, {"no_terminal", ErrNoTerminal}, {"instance", ErrInstance}, {"lost", ErrLost},
	{"unconfined", launch.ErrUnsupported}, {"unsupported", errors.ErrUnsupported}, {"not_exist", fs.ErrNotExist}, {"permission", fs.ErrPermission},
	{"canceled", context.Canceled}, {"deadline", context.DeadlineExceeded},
}

func toWire(err error) *wireError {
	if err == nil {
		return nil
	}
	w := &wireError{Message: err.Error()}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			w.Code = c.code
			break
		}
	}
	return w
}

// remoteError is an error from the other end.
type remoteError struct {
	message string
	is      error // an error in codes, or nil
}

func (e *remoteError) Error() string { return e.message }
func (e *remoteError) Unwrap() error { return e.is }

func (w *wireError) err() error {
	if w == nil {
		return nil
	}
	e := &remoteError{message: w.Message}
	for _, c := range codes {
		if c.code == w.Code {
			e.is = c.err
		}
	}
	return e
}

// link is an end of an authenticated connection. Any number of goroutines may send, one
// receives.
type link struct {
	conn *net.UnixConn
	out  chan outgoing
	// dead is closed when nothing can be sent any more.
	dead chan struct{}
	once sync.Once
	sent sync.WaitGroup
}

type outgoing struct {
	message any
	data    []byte
}

func newLink(conn *net.UnixConn) *link {
	l := &link{conn: conn, out: make(chan outgoing), dead: make(chan struct{})}
	l.sent.Go(l.write)
	return l
}

func (l *link) write() {
	for {
		select {
		case o := <-l.out:
			_ = l.conn.SetWriteDeadline(time.Now().Add(sendTimeout))
			if err := writeFrame(l.conn, o.message, o.data); err != nil {
				l.kill()
				return
			}
		case <-l.dead:
			return
		}
	}
}

// send queues a message. It returns an error if the link or ctx ends first.
func (l *link) send(ctx context.Context, message any, data []byte) error {
	select {
	case l.out <- outgoing{message, data}:
		return nil
	case <-l.dead:
		return ErrLost
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *link) receive() (head, data []byte, err error) {
	return readFrame(l.conn, maxHead, maxData)
}

// kill closes the connection without waiting.
func (l *link) kill() {
	l.once.Do(func() {
		close(l.dead)
		_ = l.conn.Close()
	})
}

// close closes the connection and waits for the sender.
func (l *link) close() {
	l.kill()
	l.sent.Wait()
}

func decode(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("a message of the supervisor's protocol isn't understood: %w", err)
	}
	return nil
}
