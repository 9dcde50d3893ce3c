package session

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"

	"waymark/internal/errtext"
	"waymark/internal/text"
)

// report is the error of the last request under a context. It exists because the SDK
// reports only the name of a status, and never an answer's type.
type report struct {
	mu  sync.Mutex // guards err
	err error
}

type reportKey struct{}

// reporting returns a context under which errors of requests are recorded in r; a nil r
// records nothing.
func reporting(ctx context.Context, r *report) context.Context {
	return context.WithValue(ctx, reportKey{}, r)
}

// note records the outcome of a request; nil means that it has begun or succeeded.
func note(ctx context.Context, err error) {
	if _, isQuiet := ctx.Value(quietKey{}).(string); isQuiet {
		return
	}
	if r, _ := ctx.Value(reportKey{}).(*report); r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.err = err
	}
}

// reported returns what was recorded under a context, or else err.
func reported(ctx context.Context, err error) error {
	if r, _ := ctx.Value(reportKey{}).(*report); r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.err != nil {
			return r.err
		}
	}
	return err
}

// answered records what is wrong with the head of an answer.
func (g *guard) answered(req *http.Request, resp *http.Response) {
	host := hostOf(g.address)
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case forgotten(req, resp):
		note(req.Context(), fmt.Errorf("%s answers with %d (%s): %w", host, resp.StatusCode, statusName(resp.StatusCode), ErrSessionLost))
	case resp.StatusCode >= 300:
		note(req.Context(), &statusError{host, resp.StatusCode})
	case kind == "text/event-stream", kind == "application/json" && req.Method == http.MethodPost:
	case kind == "" && req.Method == http.MethodPost:
		// This is right for a notification, but not for a call.
		note(req.Context(), fmt.Errorf("%s takes the message, and answers nothing (%d): check the url of its entry", host, resp.StatusCode))
	default:
		note(req.Context(), fmt.Errorf("%s answers with %s, which isn't MCP: check the url of its entry, and its type (http or sse)", host, contentType(kind)))
	}
}

// statusError is an answer that is no message because of its status.
type statusError struct {
	host string
	code int
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s answers with %d (%s): %s", e.host, e.code, statusName(e.code), statusHint(e.code))
}

// otherTransport reports whether an error is an answer that a server gives to the first
// message of a transport that it doesn't have, by the specification's section on backwards
// compatibility.
func otherTransport(err error) bool {
	status, ok := errors.AsType[*statusError](err)
	return ok && (status.code == http.StatusBadRequest || status.code == http.StatusNotFound || status.code == http.StatusMethodNotAllowed)
}

// forgotten reports whether an answer says that the server doesn't know the request's
// session. That is 404 by the specification; many servers answer with 400.
func forgotten(req *http.Request, resp *http.Response) bool {
	switch {
	case req.Header.Get("Mcp-Session-Id") == "":
		return false
	case resp.StatusCode == http.StatusNotFound:
		return true
	case resp.StatusCode != http.StatusBadRequest:
		return false
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // nothing after that is read anyway
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	said := strings.ToLower(string(body))
	return strings.Contains(said, "session") || strings.Contains(said, "not initialized")
}

func contentType(kind string) string {
	if kind == "" {
		return "something without a content type"
	}
	return "the content type " + text.Line(kind, 100)
}

func statusName(code int) string {
	if name := http.StatusText(code); name != "" {
		return name
	}
	return "a status of its own"
}

// statusHint says what to do about a status.
func statusHint(code int) string {
	switch code {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return "it doesn't take the message: check the url of its entry, and its type (http or sse)"
	case http.StatusForbidden:
		return "it doesn't let us in: check the token in the headers of its entry, and what that may do"
	case http.StatusNotFound, http.StatusGone:
		return "there is no server at this path: check the url of its entry"
	case http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusUnsupportedMediaType, http.StatusNotImplemented:
		return "it doesn't speak this transport at this path: check the url of its entry, and its type (http or sse)"
	case http.StatusProxyAuthRequired:
		return "a proxy on the way wants to be signed in to: check HTTPS_PROXY and HTTP_PROXY"
	case http.StatusRequestEntityTooLarge:
		return "the message is longer than it takes"
	case http.StatusTooManyRequests:
		return "it is asked too often: try again later"
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return "it, or what it is behind, isn't there at the moment: try again later"
	}
	switch {
	case code < 400:
		return "it sends us elsewhere without saying where: check the url of its entry"
	case code >= 500:
		return "it has failed: its own log says why"
	}
	return "check the url and the headers of its entry"
}

// unreached records why a request has no answer.
func (g *guard) unreached(req *http.Request, err error) {
	if req.Context().Err() != nil || errors.Is(err, ErrNeedsAuthorization) {
		return // the end of the context has its own reason
	}
	who := hostOf(g.address)
	if proxy, _ := g.base.Proxy(req); proxy != nil {
		who = "the proxy " + hostOf(proxy) + " on the way to " + who
	}
	note(req.Context(), bounded(&boundedError{text: way(who, err), err: err}))
}

// way describes a failure on the way to a server, and what to do about it.
func way(who string, err error) string {
	var (
		dns     *net.DNSError
		untrust *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		timed   net.Error
	)
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return who + " isn't a name that is known: check the url of its entry, and the network"
	case errors.As(err, &dns):
		return "the address of " + who + " can't be looked up now: check the network and its name server"
	case errors.Is(err, syscall.ECONNREFUSED):
		return who + " refuses the connection: nothing listens there; start it, or check the port in the url of its entry"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no way to " + who + ": check the network, a VPN or a proxy"
	case errors.As(err, &untrust):
		return "the certificate of " + who + " isn't trusted: " + text.Line(errtext.Of(untrust.Err), 300)
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return who + " doesn't speak TLS: check whether the url of its entry begins with http:// rather than https://"
	case errors.As(err, &alert):
		return who + " refuses TLS: " + text.Line(alert.Error(), 300)
	case errors.As(err, &timed) && timed.Timeout():
		return fmt.Sprintf("connecting with %s takes longer than %s: check the url of its entry, and the network", who, dialTimeout)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.EPIPE):
		return who + " has closed the connection without an answer"
	}
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return who + " can't be asked: " + text.Line(errtext.Of(err), 500)
}
