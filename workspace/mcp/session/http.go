package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

const (
	// An answer may take as long as the call, so only connecting has a time limit.
	dialTimeout = 10 * time.Second
	// maxRedirects limits redirects within an origin, which servers use for a trailing
	// slash or a language.
	maxRedirects = 3
	// maxErrorBody is how much of an error page is read, in bytes.
	maxErrorBody = 64 << 10
)

// guard handles all requests to one server.
type guard struct {
	base     *http.Transport
	address  *url.URL
	origin   string
	header   http.Header
	maxBody  int64
	protocol atomic.Value // a string, the negotiated version
	// oauth has tokens for resource; it may be nil. challenged, if not nil, is called with
	// a response that requires a sign-in.
	oauth      *OAuth
	resource   string
	challenged func(*http.Response)
}

// ownHeaders are headers of the protocol, which a configuration can't set.
var ownHeaders = map[string]bool{
	"Accept": true, "Content-Type": true, "Content-Length": true, "Transfer-Encoding": true, "Connection": true, "Host": true,
	"Mcp-Session-Id": true, "Mcp-Protocol-Version": true, "Mcp-Method": true, "Mcp-Name": true, "Last-Event-Id": true,
}

func newGuard(address string, header http.Header, opts Options) (*guard, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, errors.New("the server's address isn't one") // don't repeat it: it may contain a token
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, errors.New("the server's address isn't one: it begins with http:// or https:// and a host")
	}
	g := &guard{address: u, origin: originOf(u), header: make(http.Header), maxBody: int64(opts.Caps.Line)}
	for name, values := range header {
		if name = http.CanonicalHeaderKey(name); !ownHeaders[name] {
			g.header[name] = values
		}
	}
	if resource, err := canonical(address); err == nil && opts.OAuth != nil && g.header.Get("Authorization") == "" {
		g.oauth, g.resource = opts.OAuth, resource
		g.challenged = func(resp *http.Response) { g.oauth.challenged(g.resource, resp) }
	}
	g.base = &http.Transport{
		// Proxies of the environment are never used for loopback addresses.
		Proxy:       http.ProxyFromEnvironment,
		DialContext: (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		// No server needs more headers than this.
		MaxResponseHeaderBytes: 256 << 10, TLSHandshakeTimeout: dialTimeout,
		ForceAttemptHTTP2: true, MaxIdleConns: 8, IdleConnTimeout: 90 * time.Second,
	}
	return g, nil
}

func (g *guard) setProtocol(version string) { g.protocol.Store(version) }

func (g *guard) close() { g.base.CloseIdleConnections() }

func (g *guard) client() *http.Client {
	return &http.Client{Transport: g, CheckRedirect: g.redirect}
}

// redirect follows redirects within the origin, unless they drop the message.
func (g *guard) redirect(req *http.Request, via []*http.Request) error {
	var err error
	switch {
	case originOf(req.URL) != g.origin:
		err = fmt.Errorf("%s sends us to another origin, %s: configure that address, if it is meant", hostOf(g.address), hostOf(req.URL))
	case len(via) > maxRedirects:
		err = fmt.Errorf("%s sends us in circles: check the url of its entry", hostOf(g.address))
	case req.Method != via[0].Method:
		err = fmt.Errorf("%s sends us elsewhere without the message: configure the address that it names", hostOf(g.address))
	}
	if err != nil {
		note(req.Context(), err)
	}
	return err
}

// hostOf returns the part of an address that may be shown.
func hostOf(u *url.URL) string {
	host := u.Host
	if len(host) > 253 {
		host = host[:253]
	}
	return host
}

type quietKey struct{}

// quietly marks a request whose failure must not end the session. method is the method of
// its message, "" for an answer.
func quietly(ctx context.Context, method string) context.Context {
	return context.WithValue(ctx, quietKey{}, method)
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	note(req.Context(), nil)
	if originOf(req.URL) != g.origin {
		err := fmt.Errorf("%s names an address of another origin, %s, which isn't used", hostOf(g.address), hostOf(req.URL))
		note(req.Context(), err)
		return nil, err
	}
	out := req.Clone(req.Context())
	for name, values := range g.header {
		out.Header[name] = values
	}
	if version, ok := g.protocol.Load().(string); ok && out.Header.Get("Mcp-Protocol-Version") == "" {
		// The SDK sets it only for requests.
		out.Header.Set("Mcp-Protocol-Version", version)
		if method, _ := quiet(req); method != "" && version >= discovers {
			out.Header.Set("Mcp-Method", method)
		}
	}
	resp, err := g.send(out)
	if err != nil {
		g.unreached(req, err)
		return nil, err
	}
	g.answered(req, resp)
	return g.check(req, resp)
}

// send sends a request with the current token. If the server refuses the token, it
// refreshes it once and tries again.
func (g *guard) send(req *http.Request) (*http.Response, error) {
	if g.oauth == nil {
		return g.base.RoundTrip(req)
	}
	token, err := g.oauth.token(req.Context(), g.resource, "")
	if err != nil {
		return nil, err
	}
	bear(req, token)
	resp, err := g.base.RoundTrip(req)
	if err != nil || token == "" || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	fresh, err := g.oauth.token(req.Context(), g.resource, token)
	if err != nil || fresh == "" || req.Body != nil && req.GetBody == nil {
		return resp, nil //nolint:nilerr // what the server says is what counts
	}
	again := req.Clone(req.Context())
	if req.Body != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return resp, nil //nolint:nilerr // as above
		}
	}
	_ = resp.Body.Close()
	bear(again, fresh)
	return g.base.RoundTrip(again)
}

func bear(req *http.Request, token string) {
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
}

func quiet(req *http.Request) (method string, ok bool) {
	method, ok = req.Context().Value(quietKey{}).(string)
	return method, ok
}

// check enforces the limits of an answer.
func (g *guard) check(req *http.Request, resp *http.Response) (*http.Response, error) {
	_, isQuiet := quiet(req)
	switch {
	case resp.StatusCode == http.StatusUnauthorized, g.challenged != nil && wantsMore(resp):
		if g.challenged != nil {
			g.challenged(resp)
		}
		_ = resp.Body.Close()
		return nil, ErrNeedsAuthorization
	case resp.StatusCode >= 400 && isQuiet:
		_ = resp.Body.Close()
		resp.StatusCode, resp.Status, resp.Body = http.StatusAccepted, "202 Accepted", http.NoBody
		return resp, nil
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= 300:
		resp.Body = &errorBody{Reader: io.LimitReader(resp.Body, maxErrorBody), Closer: resp.Body}
	case kind == "text/event-stream":
		resp.Body = newEventsBody(resp.Body, g.maxBody, func(err error) { note(req.Context(), err) })
	default:
		resp.Body = &jsonBody{ReadCloser: resp.Body, limit: g.maxBody}
	}
	resp.ContentLength = -1
	return resp, nil
}

// errorBody is the beginning of a body.
type errorBody struct {
	io.Reader
	io.Closer
}
