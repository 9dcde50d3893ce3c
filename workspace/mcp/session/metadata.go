package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"
)

// metadataTimeout limits a request for metadata or a token.
const metadataTimeout = 15 * time.Second

// maxMetadata is how much of an answer is read, in bytes.
const maxMetadata = 1 << 20

// newMetadataClient returns the HTTP client for addresses that an MCP server names: its
// metadata, and the endpoints of its authorization server. It refuses addresses of this
// machine and link-local ones, unless the MCP server itself is on loopback. Private
// networks are allowed, because companies have their sign-in there.
func newMetadataClient(address string) (*http.Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the server's address isn't one")
	}
	local := isLoopbackHost(u.Hostname())
	proxies := &knownProxies{hosts: make(map[string]bool)}
	dialer := &net.Dialer{Timeout: dialTimeout}
	checked := &net.Dialer{Timeout: dialTimeout, Control: func(_, addr string, _ syscall.RawConn) error {
		ip, err := netip.ParseAddrPort(addr)
		if err != nil {
			return err
		}
		return checkIP(ip.Addr())
	}}
	base := &http.Transport{
		Proxy: proxies.of, TLSHandshakeTimeout: dialTimeout, MaxResponseHeaderBytes: 64 << 10,
		ResponseHeaderTimeout: metadataTimeout, ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if local || proxies.has(addr) {
				return dialer.DialContext(ctx, network, addr)
			}
			return checked.DialContext(ctx, network, addr)
		},
	}
	return &http.Client{
		Transport: metadataTransport{base, local}, Timeout: metadataTimeout,
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			switch {
			case req.Method != http.MethodGet || via[0].Method != http.MethodGet:
				return errors.New("the authorization server sends a request with secrets elsewhere")
			case len(via) > maxRedirects:
				return errors.New("the authorization server sends us in circles")
			}
			return nil
		},
	}, nil
}

// metadataTransport checks the destination of each request, including redirects, and limits
// the answers.
type metadataTransport struct {
	base  *http.Transport
	local bool
}

// CloseIdleConnections is called by http.Client.
func (t metadataTransport) CloseIdleConnections() { t.base.CloseIdleConnections() }

// RoundTrip implements http.RoundTripper.
func (t metadataTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	loopback := isLoopbackHost(req.URL.Hostname())
	switch {
	case loopback && !t.local:
		return nil, errors.New("the server names an address on this machine, which isn't asked")
	case req.URL.Scheme != "https" && (req.URL.Scheme != "http" || !loopback):
		return nil, fmt.Errorf("the server names an address without https (%s), which isn't asked", hostOf(req.URL))
	}
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &limitedBody{resp.Body, maxMetadata}
	return resp, nil
}

type limitedBody struct {
	io.ReadCloser
	left int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("the answer is too long")
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

func isLoopbackHost(host string) bool {
	if strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// checkIP refuses addresses of this machine and link-local ones, where clouds keep secrets
// (169.254.169.254).
func checkIP(ip netip.Addr) error {
	ip = ip.Unmap()
	if ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast() ||
		ip == netip.MustParseAddr("fd00:ec2::254") {
		return errors.New("the server names a host that is this machine or its link, which isn't asked")
	}
	return nil
}

// knownProxies are the environment's proxies, which may be on loopback.
type knownProxies struct {
	mu    sync.Mutex
	hosts map[string]bool
}

func (p *knownProxies) of(req *http.Request) (*url.URL, error) {
	u, err := http.ProxyFromEnvironment(req)
	if u != nil {
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
		}
		p.mu.Lock()
		p.hosts[net.JoinHostPort(u.Hostname(), port)] = true
		p.mu.Unlock()
	}
	return u, err
}

func (p *knownProxies) has(addr string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hosts[addr]
}

// withResource adds the resource parameter of RFC 8707 to requests for tokens, because the
// OAuth library omits it when refreshing.
type withResource struct {
	base     http.RoundTripper
	resource string
}

// CloseIdleConnections is called by http.Client.
func (t withResource) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper.
func (t withResource) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodPost || t.resource == "" || req.Body == nil {
		return t.base.RoundTrip(req)
	}
	body, err := io.ReadAll(req.Body) // the form is our own
	_ = req.Body.Close()
	if err != nil {
		return nil, err
	}
	body = append(body, "&resource="+url.QueryEscape(t.resource)...)
	out := req.Clone(req.Context())
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return t.base.RoundTrip(out)
}
