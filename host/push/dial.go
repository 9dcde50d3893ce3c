package push

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"

	"storj.io/drpc"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcstream"
	"storj.io/drpc/drpcwire"

	"waymark/wire"
)

// Errors that a Dialer wraps when a peer refuses a connection for a reason
// that trying again at once won't mend.
var (
	ErrUnauthorized   = errors.New("the peer refuses the token")
	ErrVersionRefused = errors.New("the peer refuses this version of the API")
)

// Dialer makes connections to one peer.
type Dialer interface {
	// Dial makes one. The connection outlives ctx.
	Dial(ctx context.Context) (drpc.Conn, error)
}

// DialFunc is a function as a Dialer.
type DialFunc func(ctx context.Context) (drpc.Conn, error)

// Dial implements Dialer.
func (f DialFunc) Dial(ctx context.Context) (drpc.Conn, error) { return f(ctx) }

// NewConn speaks DRPC over transport, which it owns from then on.
func NewConn(transport io.ReadWriteCloser) drpc.Conn {
	return drpcconn.NewWithOptions(transport, drpcconn.Options{Manager: drpcmanager.Options{
		Reader: drpcwire.ReaderOptions{MaximumBufferSize: wire.MaxMessage},
		Stream: drpcstream.Options{MaximumBufferSize: wire.MaxMessage},
	}})
}

// Target is where a peer listens for plain DRPC. It is a Dialer.
type Target struct {
	Network string // "unix" or "tcp"
	Address string // a path, or host:port
}

// maxUnixPath is what a socket address holds on Linux, less its final NUL.
// On darwin it is 103, where the dial then says so.
const maxUnixPath = 107

// ParseURL reads "unix:/path" and "tcp:host:port", both also with "//" after
// the colon. Its errors don't repeat what may be a credential.
func ParseURL(raw string) (Target, error) {
	scheme, rest, found := strings.Cut(raw, ":")
	rest, slashes := strings.CutPrefix(rest, "//")
	switch scheme := strings.ToLower(scheme); {
	case !found:
		return Target{}, fmt.Errorf("the peer's URL %q has no scheme; write unix:/path or tcp:host:port", shown(raw))
	case scheme == "unix":
		return unixTarget(rest, slashes)
	case scheme == "tcp":
		return tcpTarget(rest)
	case scheme == "http", scheme == "https", scheme == "ws", scheme == "wss":
		return Target{}, fmt.Errorf("a peer at %s is not supported yet by this build; use unix: or tcp: instead", scheme)
	default:
		return Target{}, fmt.Errorf("the peer's URL %q has an unknown scheme; write unix:/path or tcp:host:port", shown(raw))
	}
}

func unixTarget(path string, slashes bool) (Target, error) {
	switch {
	case !filepath.IsAbs(path) && slashes:
		return Target{}, fmt.Errorf("the peer's socket %q isn't an absolute path; write unix:/path, or unix:///path with three slashes", shown(path))
	case !filepath.IsAbs(path):
		return Target{}, fmt.Errorf("the peer's socket %q isn't an absolute path; write unix:/path", shown(path))
	case strings.ContainsRune(path, 0):
		return Target{}, fmt.Errorf("the peer's socket %q has a NUL in its path; write unix:/path", shown(path))
	case len(path) > maxUnixPath:
		return Target{}, fmt.Errorf("the path of the peer's socket has %d bytes, more than the %d a socket can have; use a shorter one", len(path), maxUnixPath)
	}
	return Target{Network: "unix", Address: path}, nil
}

func tcpTarget(address string) (Target, error) {
	host, port, err := net.SplitHostPort(strings.TrimSuffix(address, "/"))
	if err != nil || host == "" || strings.ContainsAny(host, "@/?# ") {
		return Target{}, fmt.Errorf("the peer's address %q isn't host:port; write tcp:host:port, for example tcp:127.0.0.1:7879", shown(address))
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return Target{}, fmt.Errorf("the peer's port %q isn't a number from 1 to 65535; write tcp:host:port", shown(port))
	}
	return Target{Network: "tcp", Address: net.JoinHostPort(host, port)}, nil
}

// shown cuts what may be a credential out of a URL that can't be used: user
// info, and everything from a query on.
func shown(raw string) string {
	if i := strings.IndexAny(raw, "?#"); i >= 0 {
		raw = raw[:i]
	}
	if i := strings.LastIndex(raw, "@"); i >= 0 {
		raw = "…" + raw[i:]
	}
	return truncate(raw, 100)
}

// String returns the target as ParseURL reads it.
func (t Target) String() string { return t.Network + ":" + t.Address }

// Local reports whether what is sent stays on this machine. Plain DRPC isn't
// encrypted, so for other targets a token and all payloads can be read on the
// way.
func (t Target) Local() bool {
	if t.Network == "unix" {
		return true
	}
	host, _, _ := net.SplitHostPort(t.Address)
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// Dial implements Dialer.
func (t Target) Dial(ctx context.Context) (drpc.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, t.Network, t.Address)
	if err != nil {
		return nil, err
	}
	return NewConn(conn), nil
}
