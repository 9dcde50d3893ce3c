package transport

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/time/rate"
)

// A frame of yamux has version, type, flags, stream and length; in a data frame, length is
// that of the data that follows.
const (
	muxHeader   = 12
	typeData    = 0
	typeWindow  = 1
	typePing    = 2
	typeGoAway  = 3
	flagSYN     = 1
	maxMuxFrame = 256 << 10 // a stream's window
)

// A peer pings every half minute. yamux answers each ping in a goroutine, which blocks
// while the peer doesn't read. Without a limit there would be as many as fit into the
// connection.
const pingRate, pingBurst = 1, 20

// guard checks the headers of frames between a WebSocket and yamux, because yamux trusts
// its peer too much. A frame that violates a rule ends the connection, with a close frame
// that says why.
type guard struct {
	conn    net.Conn
	ws      *websocket.Conn
	socket  net.Conn // below the WebSocket
	limits  *Limits
	started chan struct{} // closed by start
	streams func() int    // number of streams; set before started is closed
	pings   *rate.Limiter

	// For the reading goroutine: the header that is being read, and the rest of a data
	// frame.
	header [muxHeader]byte
	have   int
	body   int

	mu    sync.Mutex // guards cause
	cause error      // why the connection ends
}

func newGuard(conn net.Conn, ws *websocket.Conn, socket net.Conn, limits *Limits) *guard {
	return &guard{
		conn: conn, ws: ws, socket: socket, limits: limits, started: make(chan struct{}),
		pings: rate.NewLimiter(pingRate, pingBurst),
	}
}

// start lets the first byte pass; streams returns the number of streams.
func (g *guard) start(streams func() int) {
	g.streams = streams
	close(g.started)
}

// policyError is a violated rule.
type policyError struct{ text string }

func (e *policyError) Error() string { return "the peer broke a rule: " + e.text }

// Read implements io.Reader.
func (g *guard) Read(p []byte) (int, error) {
	<-g.started
	n, err := g.conn.Read(p)
	if bad := g.inspect(p[:n]); bad != nil {
		g.end(bad)
		return 0, bad
	}
	if websocket.CloseStatus(err) == websocket.StatusMessageTooBig || errors.Is(err, websocket.ErrMessageTooBig) {
		g.end(&policyError{fmt.Sprintf("a message is longer than %d bytes", maxFrame)})
	}
	return n, err
}

// inspect tracks the frames in data, which is passed on to yamux.
func (g *guard) inspect(data []byte) error {
	for len(data) > 0 {
		if g.body > 0 {
			n := min(g.body, len(data))
			g.body, data = g.body-n, data[n:]
			continue
		}
		n := copy(g.header[g.have:], data)
		g.have, data = g.have+n, data[n:]
		if g.have < muxHeader {
			return nil
		}
		g.have = 0
		if err := g.checkHeader(); err != nil {
			return err
		}
	}
	return nil
}

// checkHeader checks a complete header.
func (g *guard) checkHeader() error {
	kind, flags := g.header[1], binary.BigEndian.Uint16(g.header[2:])
	length := binary.BigEndian.Uint32(g.header[8:])
	switch {
	case g.header[0] != 0 || kind > typeGoAway:
		return &policyError{"not a frame of yamux"}
	case kind == typeData && length > maxMuxFrame:
		return &policyError{fmt.Sprintf("a frame of %d bytes", length)}
	case kind == typePing && flags&flagSYN != 0 && !g.pings.Allow():
		return &policyError{"too many pings"}
	case kind <= typeWindow && flags&flagSYN != 0 && g.streams() >= 2*g.limits.Streams:
		// Some are being served, some wait, and some are about to close.
		return &policyError{fmt.Sprintf("more than %d streams", 2*g.limits.Streams)}
	case kind == typeData:
		g.body = int(length)
	}
	return nil
}

// end sets why the connection ends, unless that is set already.
func (g *guard) end(cause error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cause = cmp.Or(g.cause, cause)
}

// violation returns the rule that the peer violated, if any.
func (g *guard) violation() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if bad := (*policyError)(nil); errors.As(g.cause, &bad) {
		return bad
	}
	return nil
}

// Write implements io.Writer.
func (g *guard) Write(p []byte) (int, error) {
	if err := g.conn.SetWriteDeadline(time.Now().Add(g.limits.Write)); err != nil {
		return 0, err
	}
	// The library ends the connection when a deadline expires during any write, even one
	// that has just begun.
	defer func() { _ = g.conn.SetWriteDeadline(time.Time{}) }()
	return g.conn.Write(p)
}

// Close implements io.Closer. It sends the peer the reason, if there is one.
func (g *guard) Close() error {
	g.mu.Lock()
	cause := g.cause
	g.mu.Unlock()
	if status := closeStatus(cause); status != 0 {
		// The library would give the peer ten seconds to answer.
		_ = g.socket.SetDeadline(time.Now().Add(g.limits.Farewell))
		_ = g.ws.Close(status, cause.Error()) // an error is irrelevant: it is over
	}
	return g.conn.Close()
}

// closeStatus returns the status for a peer; 0 means none.
func closeStatus(cause error) websocket.StatusCode {
	var bad *policyError
	switch {
	case errors.As(cause, &bad), errors.Is(cause, errRevoked), errors.Is(cause, errTooManySessions), errors.Is(cause, ErrSuperseded):
		return websocket.StatusPolicyViolation
	case errors.Is(cause, errStopping), errors.Is(cause, ErrReleased):
		return websocket.StatusGoingAway
	}
	return 0
}
