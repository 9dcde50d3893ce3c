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

// minStay is the minimum time that a connection has to show a token before another may
// replace it, so that many reconnecting agents don't push each other out. New connections
// wait in the listener's queue meanwhile.
const minStay = 100 * time.Millisecond

// Door limits the unauthenticated connections of a listener, on which no token was shown
// yet. They never take the place of others: if there are too many, the oldest is closed.
// That is fair to owners of tokens, because showing one takes a moment; silence and
// incomplete requests or handshakes take longer.
type Door struct {
	limit int // limit of unauthenticated connections
	room  int // limit of authenticated ones; further ones count as unauthenticated
	log   *slog.Logger
	name  string
	lines *throttledLog // shared by all doors

	mu              sync.Mutex // guards the fields below, and those of the connections
	unauthenticated list.List  // of *doorConn, oldest first
	known           int        // number of authenticated connections
}

// NewDoor makes a door for a listener; name is for the log. Authenticated connections
// beyond their limit count as unauthenticated.
func (t *Transport) NewDoor(name string, unauthenticated, authenticated int) *Door {
	return &Door{name: name, limit: unauthenticated, room: authenticated, log: t.log, lines: &t.dismissed}
}

// doorConn is a connection that has come through a door. It embeds a net.Conn on purpose:
// it only adds to Close.
type doorConn struct {
	net.Conn
	door *Door
	came time.Time
	// queued is the element in the list of unauthenticated ones; nil if it isn't there.
	queued *list.Element
	known  bool
	// busy is the number of requests being answered. Such connections are closed last.
	busy int
}

// admit admits a connection as unauthenticated, and closes another one if there are too
// many.
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

// enter admits the connection if there is room. Otherwise it returns the one to close
// first, or for how long all may stay.
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
	d.unauthenticated.Remove(oldest.queued) // so that nobody else chooses it
	oldest.queued = nil
	return oldest, 0
}

// oldest returns the connection to close first; nil if there is none. The caller holds
// d.mu.
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

// dismiss closes an unauthenticated connection. The number of log lines doesn't grow with
// that of connections.
func (d *Door) dismiss(c *doorConn) {
	_ = c.Close()
	if n, due := d.lines.due(); due {
		d.log.Warn("too many connections without a token; the oldest are closed", slog.String("listener", d.name),
			slog.Int("limit", d.limit), slog.Int("closed", n))
	}
}

// relieve closes the oldest unauthenticated connection when a resource that connections
// need is exhausted.
func (d *Door) relieve() {
	d.mu.Lock()
	oldest := d.oldest()
	d.mu.Unlock()
	if oldest != nil {
		d.dismiss(oldest)
	}
}

// authenticated is called when a valid token was shown. From then on the connection counts
// as authenticated if the limit allows.
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

// forget makes the connection unauthenticated again, because its token has become invalid.
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

// work counts the beginning (1) or end (-1) of an answer.
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

// Listen returns a listener whose connections come through the door. An HTTP server on it
// also needs ConnContext and Requests.
func (d *Door) Listen(inner net.Listener) net.Listener { return &doorListener{inner, d} }

type doorListener struct {
	inner net.Listener
	door  *Door
}

func (l *doorListener) Addr() net.Addr { return l.inner.Addr() }
func (l *doorListener) Close() error   { return l.inner.Close() }

// Accept implements net.Listener. If there are no file descriptors left, the caller tries
// again later, and unauthenticated connections are closed meanwhile.
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

// ConnContext is for http.Server.ConnContext. It tells requests their connection.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	if c, ok := conn.(*doorConn); ok {
		return context.WithValue(ctx, connKey{}, c)
	}
	return ctx
}

// request is a request on a connection that has come through a door.
type request struct {
	conn *doorConn

	// mu guards header. A WebSocket is a single request whose streams authenticate
	// concurrently, those of pushes and of the reverse channel.
	mu     sync.Mutex
	header http.Header // of the answer
}

// Requests tells the door of each request, and ends an unauthenticated connection after the
// answer.
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

// Authenticated must be called after each lookup of a token, for agents and readers, with
// the request's context, to tell the door of the connection whether the token is valid. It
// ignores other contexts.
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
