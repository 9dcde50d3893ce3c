package hub

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

// grace is how long a connection has to show a token, at least, before it has
// to go for another: many agents that come back at once must not push each
// other out. Whoever comes meanwhile waits in the listener's queue.
const grace = 100 * time.Millisecond

// door bounds the connections of strangers, which are those on which no token
// has been shown yet. They never take the room of the others: when there are
// too many, the one that has been there for the longest goes. That is fair to
// whoever has a token, since showing it takes a moment; silence, half a
// request or half a handshake takes longer.
type door struct {
	limit int // of strangers
	room  int // for the others; beyond it they are treated as strangers
	log   *slog.Logger
	name  string
	told  *rarely // of all doors

	mu        sync.Mutex // guards the rest, and the guests' own
	strangers list.List  // of *guest, the oldest first
	known     int
}

func (h *Hub) newDoor(name string, limit, room int) *door {
	return &door{name: name, limit: limit, room: room, log: h.log, told: &h.dismissed}
}

// guest is a connection that has come through a door. It embeds all of a
// net.Conn on purpose: it adds to Close and changes nothing.
type guest struct {
	net.Conn
	door *door
	came time.Time
	// place is that among the strangers; nil for who is none, or is gone.
	place *list.Element
	known bool
	// busy counts what is being answered: such a stranger goes last.
	busy int
}

// admit lets a connection in as a stranger's, and closes another for it if
// there are too many.
func (d *door) admit(conn net.Conn) *guest {
	g := &guest{Conn: conn, door: d}
	for {
		oldest, wait := d.enter(g)
		switch {
		case wait > 0:
			<-time.After(wait)
		case oldest != nil:
			d.dismiss(oldest)
		default:
			return g
		}
	}
}

// enter lets the guest in if there is room. Otherwise it returns who has to go
// first, or for how long everybody may stay.
func (d *door) enter(g *guest) (oldest *guest, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.strangers.Len() < d.limit {
		g.came = time.Now()
		g.place = d.strangers.PushBack(g)
		return nil, 0
	}
	oldest = d.oldest()
	if wait = grace - time.Since(oldest.came); wait > 0 {
		return nil, wait
	}
	d.strangers.Remove(oldest.place) // nobody else takes it for the oldest
	oldest.place = nil
	return oldest, 0
}

// oldest is the stranger that goes first, under the lock; nil: there is none.
func (d *door) oldest() *guest {
	for e := d.strangers.Front(); e != nil; e = e.Next() {
		if g := e.Value.(*guest); g.busy == 0 { //nolint:forcetypeassert // nothing else is in it
			return g
		}
	}
	if e := d.strangers.Front(); e != nil {
		return e.Value.(*guest) //nolint:forcetypeassert // as above
	}
	return nil
}

// dismiss closes a stranger's connection. What is logged of it doesn't grow
// with the number of connections.
func (d *door) dismiss(g *guest) {
	_ = g.Close()
	if n, due := d.told.due(); due {
		d.log.Warn("too many connections without a token; the oldest are closed", slog.String("listener", d.name),
			slog.Int("limit", d.limit), slog.Int("closed", n))
	}
}

// relieve closes the oldest stranger's connection where something that every
// connection takes has run out.
func (d *door) relieve() {
	d.mu.Lock()
	oldest := d.oldest()
	d.mu.Unlock()
	if oldest != nil {
		d.dismiss(oldest)
	}
}

// recognize notes that a token has been shown, if there is room for one more
// of those.
func (g *guest) recognize() {
	d := g.door
	d.mu.Lock()
	defer d.mu.Unlock()
	if g.place == nil || d.known >= d.room {
		return
	}
	d.strangers.Remove(g.place)
	g.place, g.known = nil, true
	d.known++
}

// forget makes a stranger of the guest again: its token is no longer valid.
func (g *guest) forget() {
	d := g.door
	d.mu.Lock()
	defer d.mu.Unlock()
	if g.known {
		d.known--
		g.known = false
		g.place = d.strangers.PushBack(g)
	}
}

// stranger reports whether no token has been shown.
func (g *guest) stranger() bool {
	g.door.mu.Lock()
	defer g.door.mu.Unlock()
	return !g.known
}

// work notes that an answer begins (1) or is over (-1).
func (g *guest) work(n int) {
	g.door.mu.Lock()
	defer g.door.mu.Unlock()
	g.busy += n
}

// Close implements net.Conn.
func (g *guest) Close() error {
	d := g.door
	d.mu.Lock()
	if g.place != nil {
		d.strangers.Remove(g.place)
		g.place = nil
	}
	if g.known {
		d.known--
		g.known = false
	}
	d.mu.Unlock()
	return g.Conn.Close()
}

// doorListener is a listener with a door.
type doorListener struct {
	inner net.Listener
	door  *door
}

func (l *doorListener) Addr() net.Addr { return l.inner.Addr() }
func (l *doorListener) Close() error   { return l.inner.Close() }

// Accept implements net.Listener. Who calls it tries again after a while when
// there are no file descriptors left; strangers give theirs back meanwhile.
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
	guestKey struct{}
	visitKey struct{}
)

// withGuest puts the guest of a connection into the context of its requests.
func withGuest(ctx context.Context, conn net.Conn) context.Context {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	if g, ok := conn.(*guest); ok {
		return context.WithValue(ctx, guestKey{}, g)
	}
	return ctx
}

// visit is one request of a guest.
type visit struct {
	guest  *guest
	header http.Header // of the answer
}

// visited tells the door of each request, and ends a stranger's connection with
// the answer.
func visited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g, ok := r.Context().Value(guestKey{}).(*guest)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		g.work(1)
		defer g.work(-1)
		if g.stranger() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitKey{}, &visit{g, w.Header()})))
	})
}

// shown notes for the connection of a request, if ctx is of one, whether its
// token was good.
func shown(ctx context.Context, good bool) {
	v, ok := ctx.Value(visitKey{}).(*visit)
	switch {
	case !ok:
	case good:
		v.guest.recognize()
		v.header.Del("Connection")
	default:
		v.guest.forget()
		v.header.Set("Connection", "close")
	}
}

// rarelyEvery is how often there is a line of what could fill a log.
const rarelyEvery = 10 * time.Minute

// rarely counts what happens too often to tell of each.
type rarely struct {
	mu    sync.Mutex // guards the rest
	last  time.Time
	count int
}

// due counts one more, and reports whether it is time for a line and how many
// there have been since the last one.
func (r *rarely) due() (n int, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	if !r.last.IsZero() && time.Since(r.last) < rarelyEvery {
		return 0, false
	}
	n, r.count, r.last = r.count, 0, time.Now()
	return n, true
}
