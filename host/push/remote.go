package push

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"storj.io/drpc"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcstream"
	"storj.io/drpc/drpcwire"

	"waymark/internal/text"
	"waymark/wire"
)

// ErrClearText says that a URL would send the token and all contents over a network in clear
// text.
var ErrClearText = errors.New("not encrypted")

// RemoteOptions say how to reach a peer. The zero value is for a peer that needs no token.
type RemoteOptions struct {
	// Token is the agent's token, issued by the peer.
	Token string
	// Insecure allows http to another machine. Without it, http is limited to loopback
	// addresses.
	Insecure bool
	// TLS is for https; nil trusts what the system trusts, or the certificates in the file
	// that SSL_CERT_FILE names.
	TLS *tls.Config
	// Proxy chooses the proxy for http and https; nil means the one that HTTPS_PROXY,
	// HTTP_PROXY and NO_PROXY name.
	Proxy func(*http.Request) (*url.URL, error)
}

// Remote returns Options with Dialer, Peer and Token set for the peer at a URL; see ParseURL
// for its forms. The caller sets the rest.
//
// An https or http URL is dialed as a workspace agent dials a Coder server, except for the
// role, so that the server doesn't mistake this connection for that of the workspace's own
// agent.
//
// # Errors
//
// ErrClearText if the peer is on another machine, the URL says http and Insecure isn't set.
// No error contains the token or a credential from the URL.
func Remote(url string, opts RemoteOptions) (Options, error) {
	target, err := ParseURL(url)
	if err != nil {
		return Options{}, err
	}
	if !target.web() {
		return Options{Dialer: target, Peer: target.String(), Token: opts.Token}, nil
	}
	if target.Network == "http" && !target.Local() && !opts.Insecure {
		return Options{}, fmt.Errorf("%s is %w: token and contents could be read on the way; use https, or insist if the network can be trusted", target, ErrClearText)
	}
	return Options{Dialer: newWebDialer(target, &opts), Peer: target.String()}, nil
}

// Target is where a peer is: a socket or an address that speaks plain DRPC, or the URL of a
// server with Coder's agent endpoint. Remote connects to one.
type Target struct {
	// Network is "unix" or "tcp" for plain DRPC, "http" or "https" for the endpoint.
	Network string
	Address string // a path, or host:port
	// Path is the prefix of the endpoint's own path, such as "/coder"; usually empty.
	Path string
}

// maxUnixPath is what a socket address holds on Linux, without its final NUL. On darwin the
// limit is 103, and the dial fails.
const maxUnixPath = 107

// forms is the end of an error about a URL of unknown form.
const forms = "write https://host, unix:/path or tcp:host:port"

// ParseURL parses "unix:/path" and "tcp:host:port", both optionally with "//" after the
// colon, and "https://host[:port][/path]" with the address of a hub or a Coder server, also
// with wss, http or ws. Its errors don't repeat possible credentials.
func ParseURL(raw string) (Target, error) {
	scheme, rest, found := strings.Cut(raw, ":")
	rest, slashes := strings.CutPrefix(rest, "//")
	switch scheme := strings.ToLower(scheme); {
	case !found:
		return Target{}, fmt.Errorf("the peer's URL %q has no scheme; %s", withoutSecrets(raw), forms)
	case scheme == "unix":
		return unixTarget(rest, slashes)
	case scheme == "tcp":
		return tcpTarget(rest)
	case scheme == "http", scheme == "https", scheme == "ws", scheme == "wss":
		return webTarget(raw)
	default:
		return Target{}, fmt.Errorf("the peer's URL %q has an unknown scheme; %s", withoutSecrets(raw), forms)
	}
}

func unixTarget(path string, slashes bool) (Target, error) {
	switch {
	case !filepath.IsAbs(path) && slashes:
		return Target{}, fmt.Errorf("the peer's socket %q isn't an absolute path; write unix:/path, or unix:///path with three slashes", withoutSecrets(path))
	case !filepath.IsAbs(path):
		return Target{}, fmt.Errorf("the peer's socket %q isn't an absolute path; write unix:/path", withoutSecrets(path))
	case strings.ContainsRune(path, 0):
		return Target{}, fmt.Errorf("the peer's socket %q has a NUL in its path; write unix:/path", withoutSecrets(path))
	case len(path) > maxUnixPath:
		return Target{}, fmt.Errorf("the path of the peer's socket has %d bytes, more than the %d a socket can have; use a shorter one", len(path), maxUnixPath)
	}
	return Target{Network: "unix", Address: path}, nil
}

func tcpTarget(address string) (Target, error) {
	host, port, err := net.SplitHostPort(strings.TrimSuffix(address, "/"))
	if err != nil || host == "" || strings.ContainsAny(host, "@/?# ") {
		return Target{}, fmt.Errorf("the peer's address %q isn't host:port; write tcp:host:port, for example tcp:127.0.0.1:7879", withoutSecrets(address))
	}
	if err := checkPort(port); err != nil {
		return Target{}, fmt.Errorf("%w; write tcp:host:port", err)
	}
	return Target{Network: "tcp", Address: net.JoinHostPort(host, port)}, nil
}

func webTarget(raw string) (Target, error) {
	u, err := url.Parse(raw)
	if err != nil { // the error quotes the URL
		return Target{}, fmt.Errorf("the peer's URL %q can't be read; write https://host", withoutSecrets(raw))
	}
	host := strings.ToLower(u.Hostname())
	switch {
	case !isHost(host):
		return Target{}, fmt.Errorf("the peer's URL %q names no host; write https://host", withoutSecrets(raw))
	case u.User != nil:
		return Target{}, fmt.Errorf("the peer's URL %q holds a user; write https://host, the token has a place of its own", withoutSecrets(raw))
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(raw, "#"):
		return Target{}, fmt.Errorf("the peer's URL %q has more than host and path; write https://host", withoutSecrets(raw))
	}
	t := Target{Network: "https", Address: host}
	if scheme := strings.ToLower(u.Scheme); scheme == "http" || scheme == "ws" {
		t.Network = "http"
	}
	if strings.Contains(host, ":") {
		t.Address = "[" + host + "]"
	}
	if u.Port() != "" {
		if err := checkPort(u.Port()); err != nil {
			return Target{}, fmt.Errorf("%w; write https://host:port", err)
		}
		t.Address = net.JoinHostPort(host, u.Port())
	}
	// Accept a copy of the endpoint's complete URL.
	t.Path = strings.TrimSuffix(path.Clean("/"+u.EscapedPath()), "/")
	t.Path = strings.TrimSuffix(t.Path, wire.EndpointPath)
	return t, nil
}

// isHost reports whether s looks like a name or an address. The resolver checks the rest.
func isHost(s string) bool {
	allowed := "abcdefghijklmnopqrstuvwxyz0123456789-._"
	if strings.Contains(s, ":") {
		if _, err := netip.ParseAddr(s); err != nil {
			return false
		}
		allowed += ":%" // a zone follows the latter
	}
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r == utf8.RuneError || r < utf8.RuneSelf && !strings.ContainsRune(allowed, r)
	})
}

func checkPort(port string) error {
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("the peer's port %q isn't a number from 1 to 65535", withoutSecrets(port))
	}
	return nil
}

// withoutSecrets removes possible credentials from an invalid URL: user info, and everything
// from a query on.
func withoutSecrets(raw string) string {
	if i := strings.IndexAny(raw, "?#"); i >= 0 {
		raw = raw[:i]
	}
	if i := strings.LastIndex(raw, "@"); i >= 0 {
		raw = "…" + raw[i:]
	}
	return text.Truncate(raw, 100)
}

// String returns the target in the form that ParseURL reads.
func (t Target) String() string {
	if t.web() {
		return (&url.URL{Scheme: t.Network, Host: t.Address}).String() + t.Path
	}
	return t.Network + ":" + t.Address
}

// web reports whether the target is a server with Coder's endpoint.
func (t Target) web() bool { return t.Network == "http" || t.Network == "https" }

// Encrypted reports whether what is sent is encrypted in transit.
func (t Target) Encrypted() bool { return t.Network == "https" }

// Local reports whether what is sent stays on this machine. Plain DRPC and http aren't
// encrypted, so with other targets a token and all payloads can be read in transit.
func (t Target) Local() bool {
	if t.Network == "unix" {
		return true
	}
	host, _, err := net.SplitHostPort(t.Address)
	if err != nil { // no port
		host = strings.Trim(t.Address, "[]")
	}
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// errNeedsRemote is for a target that was used without its token.
var errNeedsRemote = errors.New("a server needs the token when it is dialed: make the options with Remote")

// Dial implements Dialer for plain DRPC. For other targets, use Remote.
func (t Target) Dial(ctx context.Context) (drpc.Conn, error) {
	if t.web() {
		return nil, errNeedsRemote
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, t.Network, t.Address)
	if err != nil {
		return nil, err
	}
	return NewConn(conn), nil
}

// Errors that a Dialer wraps when a peer refuses a connection and an immediate retry won't
// help.
var (
	ErrUnauthorized   = errors.New("the peer refuses the token")
	ErrVersionRefused = errors.New("the peer refuses this version of the API")
)

// LaterError is what a Dialer wraps when a peer says when to come again. Whoever has many agents
// to let in spreads them this way.
type LaterError struct {
	// After is how long to wait.
	After time.Duration
	Err   error
}

func (e *LaterError) Error() string { return e.Err.Error() }
func (e *LaterError) Unwrap() error { return e.Err }

// Dialer makes connections to one peer.
type Dialer interface {
	// Dial makes one. The connection outlives ctx.
	Dial(ctx context.Context) (drpc.Conn, error)
}

// DialFunc is a function as a Dialer.
type DialFunc func(ctx context.Context) (drpc.Conn, error)

// Dial implements Dialer.
func (f DialFunc) Dial(ctx context.Context) (drpc.Conn, error) { return f(ctx) }

// keptBuffer is the largest message, in bytes, for which a connection keeps its encoding
// buffer. A delta fits; a full push is rare, and large.
const keptBuffer = 64 << 10

// NewConn speaks DRPC over transport, and takes ownership of it.
func NewConn(transport io.ReadWriteCloser) drpc.Conn {
	return drpcconn.NewWithOptions(transport, drpcconn.Options{Manager: drpcmanager.Options{
		Reader: drpcwire.ReaderOptions{MaximumBufferSize: wire.MaxMessage},
		Stream: drpcstream.Options{MaximumBufferSize: keptBuffer},
	}})
}
