package transport

import (
	"container/list"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// minStay is how long a connection has to show a token, at least, before it has
// to go for another: many agents that come back at once must not push each
// other out. New connections wait in the listener's queue meanwhile.
const minStay = 100 * time.Millisecond

// Door bounds the unauthenticated connections of a listener: those on which no
// token has been shown yet. They never take the room of the others: when there
// are too many, the one that has been there for the longest is closed. That is
// fair to whoever has a token, since showing it takes a moment; silence, half a
// request or half a handshake takes longer.
type Door struct {
	limit int // of unauthenticated connections
	room  int // of authenticated ones; those beyond it count as unauthenticated
	log   *slog.Logger
	name  string
	lines *throttledLog // of all doors

	mu              sync.Mutex // guards the rest, and the same of the connections
	unauthenticated list.List  // of *doorConn, the oldest first
	known           int        // authenticated connections
}

// NewDoor makes a door for a listener, whose name is for the log. It lets in
// unauthenticated connections up to the one limit, and authenticated ones up to
// the other; those above that stay in the count of the first.
func (t *Transport) NewDoor(name string, unauthenticated, authenticated int) *Door {
	return &Door{name: name, limit: unauthenticated, room: authenticated, log: t.log, lines: &t.dismissed}
}

// doorConn is a connection that has come through a door. It embeds all of a
// net.Conn on purpose: it adds to Close and changes nothing.
type doorConn struct {
	net.Conn
	door *Door
	came time.Time
	// queued is the element of the unauthenticated; nil for what is none of
	// those, or is gone.
	queued *list.Element
	known  bool
	// busy counts the requests that are being answered: such a connection goes
	// last.
	busy int
}

// admit lets a connection in as an unauthenticated one, and closes another for
// it if there are too many.
func (d *Door) admit(conn net.Conn) *doorConn {
	c := &doorConn{Conn: conn, door: d}
	for {
		oldest, wait := d.enter(c)
		switch {
		case wait > 0:
			<-time.After(wait)
		case oldest != nil:
			d.dismiss(oldest)
		default:
			return c
		}
	}
}

// enter lets the connection in if there is room. Otherwise it returns which one
// has to go first, or for how long all of them may stay.
func (d *Door) enter(c *doorConn) (oldest *doorConn, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unauthenticated.Len() < d.limit {
		c.came = time.Now()
		c.queued = d.unauthenticated.PushBack(c)
		return nil, 0
	}
	oldest = d.oldest()
	if wait = minStay - time.Since(oldest.came); wait > 0 {
		return nil, wait
	}
	d.unauthenticated.Remove(oldest.queued) // nobody else takes it for the oldest
	oldest.queued = nil
	return oldest, 0
}

// oldest returns the connection that goes first; nil: there is none. The caller
// holds d.mu.
func (d *Door) oldest() *doorConn {
	for e := d.unauthenticated.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*doorConn); c.busy == 0 { //nolint:forcetypeassert // nothing else is in it
			return c
		}
	}
	if e := d.unauthenticated.Front(); e != nil {
		return e.Value.(*doorConn) //nolint:forcetypeassert // as above
	}
	return nil
}

// dismiss closes an unauthenticated connection. What is logged of it doesn't
// grow with the number of connections.
func (d *Door) dismiss(c *doorConn) {
	_ = c.Close()
	if n, due := d.lines.due(); due {
		d.log.Warn("too many connections without a token; the oldest are closed", slog.String("listener", d.name),
			slog.Int("limit", d.limit), slog.Int("closed", n))
	}
}

// relieve closes the oldest unauthenticated connection where something that
// every connection takes has run out.
func (d *Door) relieve() {
	d.mu.Lock()
	oldest := d.oldest()
	d.mu.Unlock()
	if oldest != nil {
		d.dismiss(oldest)
	}
}

// authenticated is called when a valid token has been shown. The connection
// counts as authenticated from then on, if there is room for one more of those.
func (c *doorConn) authenticated() {
	d := c.door
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.queued == nil || d.known >= d.room {
		return
	}
	d.unauthenticated.Remove(c.queued)
	c.queued, c.known = nil, true
	d.known++
}

// forget makes the connection unauthenticated again: its token is no longer
// valid.
func (c *doorConn) forget() {
	d := c.door
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.known {
		d.known--
		c.known = false
		c.queued = d.unauthenticated.PushBack(c)
	}
}

func (c *doorConn) isKnown() bool {
	c.door.mu.Lock()
	defer c.door.mu.Unlock()
	return c.known
}

// work counts an answer that begins (1) or is over (-1).
func (c *doorConn) work(n int) {
	c.door.mu.Lock()
	defer c.door.mu.Unlock()
	c.busy += n
}

// Close implements net.Conn.
func (c *doorConn) Close() error {
	d := c.door
	d.mu.Lock()
	if c.queued != nil {
		d.unauthenticated.Remove(c.queued)
		c.queued = nil
	}
	if c.known {
		d.known--
		c.known = false
	}
	d.mu.Unlock()
	return c.Conn.Close()
}

// Listen returns a listener whose connections come through the door. An HTTP
// server on it needs ConnContext and Requests, too.
func (d *Door) Listen(inner net.Listener) net.Listener { return &doorListener{inner, d} }

type doorListener struct {
	inner net.Listener
	door  *Door
}

func (l *doorListener) Addr() net.Addr { return l.inner.Addr() }
func (l *doorListener) Close() error   { return l.inner.Close() }

// Accept implements net.Listener. The caller tries again after a while when
// there are no file descriptors left; unauthenticated connections give theirs
// back meanwhile.
func (l *doorListener) Accept() (net.Conn, error) {
	conn, err := l.inner.Accept()
	if err != nil {
		if isTemporary(err) {
			l.door.relieve()
		}
		return nil, err
	}
	return l.door.admit(conn), nil
}

type (
	connKey    struct{}
	requestKey struct{}
)

// ConnContext is for http.Server.ConnContext: it lets requests know which
// connection they came on.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	if c, ok := conn.(*doorConn); ok {
		return context.WithValue(ctx, connKey{}, c)
	}
	return ctx
}

// request is one request on a connection that has come through a door.
type request struct {
	conn *doorConn

	// mu guards header: a WebSocket is one request, and calls of all its streams are
	// authenticated, the pushes' and the reverse channel's at the same time.
	mu     sync.Mutex
	header http.Header // of the answer
}

// Requests lets the door know of each request, and ends an unauthenticated
// connection with the answer.
func Requests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(connKey{}).(*doorConn)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		c.work(1)
		defer c.work(-1)
		if !c.isKnown() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, &request{conn: c, header: w.Header()})))
	})
}

// Authenticated is to be called by whoever looks tokens up, for agents and for
// readers, with the context of the request: the door of its connection learns
// whether the token is valid. Other contexts don't matter.
func Authenticated(ctx context.Context, valid bool) {
	r, ok := ctx.Value(requestKey{}).(*request)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !valid {
		r.conn.forget()
		r.header.Set("Connection", "close")
		return
	}
	r.conn.authenticated()
	r.header.Del("Connection")
}
