package push

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"storj.io/drpc"

	"waymark/wire"
)

// Target is where a peer is: a socket or an address that speaks plain DRPC,
// or the URL of a server with Coder's agent endpoint. Remote connects to one.
type Target struct {
	// Network is "unix" or "tcp" for plain DRPC, "http" or "https" for the
	// endpoint.
	Network string
	Address string // a path, or host:port
	// Path is what stands before the endpoint's own path, such as "/coder";
	// mostly empty.
	Path string
}

// maxUnixPath is what a socket address holds on Linux, less its final NUL.
// On darwin it is 103, where the dial then says so.
const maxUnixPath = 107

// forms is the end of an error about a URL that has no form we know.
const forms = "write https://host, unix:/path or tcp:host:port"

// ParseURL reads "unix:/path" and "tcp:host:port", both also with "//" after
// the colon, and "https://host[:port][/path]" with the address of a hub or of
// a Coder server, also when it is written with wss, http or ws. Its errors
// don't repeat what may be a credential.
func ParseURL(raw string) (Target, error) {
	scheme, rest, found := strings.Cut(raw, ":")
	rest, slashes := strings.CutPrefix(rest, "//")
	switch scheme := strings.ToLower(scheme); {
	case !found:
		return Target{}, fmt.Errorf("the peer's URL %q has no scheme; %s", shown(raw), forms)
	case scheme == "unix":
		return unixTarget(rest, slashes)
	case scheme == "tcp":
		return tcpTarget(rest)
	case scheme == "http", scheme == "https", scheme == "ws", scheme == "wss":
		return webTarget(raw)
	default:
		return Target{}, fmt.Errorf("the peer's URL %q has an unknown scheme; %s", shown(raw), forms)
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
	if err := checkPort(port); err != nil {
		return Target{}, fmt.Errorf("%w; write tcp:host:port", err)
	}
	return Target{Network: "tcp", Address: net.JoinHostPort(host, port)}, nil
}

func webTarget(raw string) (Target, error) {
	u, err := url.Parse(raw)
	if err != nil { // the error quotes the URL
		return Target{}, fmt.Errorf("the peer's URL %q can't be read; write https://host", shown(raw))
	}
	host := strings.ToLower(u.Hostname())
	switch {
	case !isHost(host):
		return Target{}, fmt.Errorf("the peer's URL %q names no host; write https://host", shown(raw))
	case u.User != nil:
		return Target{}, fmt.Errorf("the peer's URL %q holds a user; write https://host, the token has a place of its own", shown(raw))
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(raw, "#"):
		return Target{}, fmt.Errorf("the peer's URL %q has more than host and path; write https://host", shown(raw))
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
	// Someone who copies the whole endpoint means its server.
	t.Path = strings.TrimSuffix(path.Clean("/"+u.EscapedPath()), "/")
	t.Path = strings.TrimSuffix(t.Path, wire.EndpointPath)
	return t, nil
}

// isHost reports whether s is a name or an address. Anything stricter is the
// resolver's business.
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
		return fmt.Errorf("the peer's port %q isn't a number from 1 to 65535", shown(port))
	}
	return nil
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
func (t Target) String() string {
	if t.web() {
		return (&url.URL{Scheme: t.Network, Host: t.Address}).String() + t.Path
	}
	return t.Network + ":" + t.Address
}

// web reports whether the target is a server with Coder's endpoint.
func (t Target) web() bool { return t.Network == "http" || t.Network == "https" }

// Encrypted reports whether nobody on the way can read what is sent.
func (t Target) Encrypted() bool { return t.Network == "https" }

// Local reports whether what is sent stays on this machine. Plain DRPC and
// http aren't encrypted, so for other targets a token and all payloads can be
// read on the way.
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

// errNeedsRemote is for a target that has been used without its token.
var errNeedsRemote = errors.New("a server needs the token when it is dialed: make the options with Remote")

// Dial implements Dialer for plain DRPC. For the rest, use Remote.
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
