package hub

import (
	"net"
	"sync"
	"sync/atomic"
)

// limitListener closes what comes when there are enough connections. Package
// netutil has one that lets them wait instead: then whoever opens connections
// and says nothing keeps everybody else out for as long.
type limitListener struct {
	inner net.Listener
	max   int64
	count atomic.Int64
}

func newLimitListener(inner net.Listener, limit int) *limitListener {
	return &limitListener{inner: inner, max: int64(limit)}
}

func (l *limitListener) Addr() net.Addr { return l.inner.Addr() }
func (l *limitListener) Close() error   { return l.inner.Close() }

// Accept implements net.Listener.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.inner.Accept()
		if err != nil {
			return nil, err
		}
		if l.count.Add(1) <= l.max {
			return &limitedConn{Conn: conn, leave: sync.OnceFunc(func() { l.count.Add(-1) })}, nil
		}
		l.count.Add(-1)
		_ = conn.Close()
	}
}

// limitedConn is a connection that is counted. It embeds all of a net.Conn on
// purpose: it adds to Close and changes nothing.
type limitedConn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}
