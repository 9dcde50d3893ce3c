package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/hashicorp/yamux"
	"storj.io/drpc"

	"waymark/wire"
)

const (
	// maxRedirects is for http to https, and a host that has moved a path.
	maxRedirects = 3
	// maxResponseHeader is far above what any server sends.
	maxResponseHeader = 64 << 10
	// maxFrame bounds a WebSocket message from the peer; DRPC over yamux writes no more than
	// 64 KiB at once.
	maxFrame = 4 << 20
)

// webDialer dials Coder's agent endpoint: a WebSocket that carries yamux.
type webDialer struct {
	endpoint string
	token    string
	client   *http.Client
}

func newWebDialer(t Target, opts *RemoteOptions) *webDialer {
	query := url.Values{
		"version": {fmt.Sprintf("%d.%d", wire.APIMajor, wire.APIMinor)},
		"role":    {wire.Role},
	}
	proxy := opts.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	return &webDialer{
		endpoint: t.String() + wire.EndpointPath + "?" + query.Encode(),
		token:    opts.Token,
		client: &http.Client{
			CheckRedirect: checkRedirect,
			Transport: &http.Transport{
				Proxy:                  proxy,
				TLSClientConfig:        opts.TLS.Clone(),
				MaxResponseHeaderBytes: maxResponseHeader,
				// A refused handshake must not leave a connection behind.
				DisableKeepAlives: true,
			},
		},
	}
}

// checkRedirect follows redirects only within the peer's own host, and never out of TLS: the
// token is a custom header, which net/http would send anywhere.
func checkRedirect(request *http.Request, via []*http.Request) error {
	from := via[len(via)-1].URL
	switch {
	case len(via) > maxRedirects:
		return errors.New("the peer redirects in circles; check the URL")
	case !strings.EqualFold(request.URL.Hostname(), from.Hostname()):
		return fmt.Errorf("the peer redirects to another host, where the token isn't sent; if %s is right, use it as the URL", request.URL.Hostname())
	case from.Scheme == "https" && request.URL.Scheme != "https":
		return errors.New("the peer redirects from https to http, which is not followed")
	}
	return nil
}

// Dial implements Dialer.
func (d *webDialer) Dial(ctx context.Context) (drpc.Conn, error) {
	//nolint:bodyclose // the library has read and closed it, or it is the connection
	ws, response, err := websocket.Dial(ctx, d.endpoint, &websocket.DialOptions{
		HTTPClient: d.client,
		HTTPHeader: http.Header{wire.TokenHeader: {d.token}},
	})
	if err != nil {
		err = refused(response, err)
		if d.token != "" && strings.Contains(err.Error(), d.token) {
			// A peer that repeats the token must not get it into a log.
			return nil, &scrubbed{err: err, text: strings.ReplaceAll(err.Error(), d.token, "[token]")}
		}
		return nil, err
	}
	conn, err := newMuxConn(ws)
	if err != nil {
		_ = ws.CloseNow()
		return nil, err
	}
	return conn, nil
}

// scrubbed is an error with another text.
type scrubbed struct {
	err  error
	text string
}

func (s *scrubbed) Error() string { return s.text }
func (s *scrubbed) Unwrap() error { return s.err }

// refusal is the body of a refusal by Coder's server or a hub.
type refusal struct {
	Message     string `json:"message"`
	Detail      string `json:"detail"`
	Validations []struct {
		Field  string `json:"field"`
		Detail string `json:"detail"`
	} `json:"validations"`
}

// refused says why a handshake failed, in the peer's words if it has some. response is nil if
// there was none.
func refused(response *http.Response, err error) error {
	if response == nil || response.StatusCode == http.StatusSwitchingProtocols {
		return plain(err)
	}
	var body refusal
	if response.Body != nil {
		// The library keeps the first kilobyte, which is enough for this.
		data, _ := io.ReadAll(response.Body)
		_ = json.Unmarshal(data, &body) // anything else has no message
	}
	switch code := response.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return fmt.Errorf("%w: %s", ErrUnauthorized, body.text(code))
	case code == http.StatusBadRequest && body.version() != "":
		return fmt.Errorf("%w: %s: %s", ErrVersionRefused, body.text(code), body.version())
	case code == http.StatusNotFound && body.Message == "":
		return fmt.Errorf("the peer has no agent endpoint (%s); is the URL that of a hub or of a Coder server?", body.text(code))
	default:
		err := fmt.Errorf("the peer refuses the connection: %s", body.text(code))
		if seconds, bad := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 16); bad == nil {
			return &LaterError{After: time.Duration(seconds) * time.Second, Err: err}
		}
		return err
	}
}

func (r *refusal) text(code int) string {
	text := fmt.Sprintf("HTTP %d", code)
	if r.Message == "" {
		return text + " " + http.StatusText(code)
	}
	text += ", " + r.Message
	if r.Detail != "" {
		text += ": " + r.Detail
	}
	return text
}

// version returns what the peer says about the version, if anything.
func (r *refusal) version() string {
	for _, v := range r.Validations {
		if v.Field == "version" {
			return v.Detail
		}
	}
	return ""
}

// plain removes what the libraries wrap around the cause: the whole URL, and function names.
func plain(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}

// muxBacklog bounds the streams that a peer may open to us. None is ever accepted, so this
// only limits memory.
const muxBacklog = 16

// muxConn is a DRPC connection over a yamux session. Each call has a stream of its own, so
// that its end doesn't end the connection.
type muxConn struct {
	session *yamux.Session
}

var _ drpc.Conn = (*muxConn)(nil)

// newMuxConn makes a connection of a WebSocket, and takes ownership of it unless it fails.
func newMuxConn(ws *websocket.Conn) (*muxConn, error) {
	conn := websocket.NetConn(context.Background(), ws, websocket.MessageBinary)
	ws.SetReadLimit(maxFrame) // NetConn has just removed the limit
	config := yamux.DefaultConfig()
	config.AcceptBacklog = muxBacklog
	config.LogOutput, config.Logger = nil, discardLogger{}
	session, err := yamux.Client(abrupt{conn, ws}, config)
	if err != nil {
		return nil, err
	}
	return &muxConn{session: session}, nil
}

// abrupt is a WebSocket that is closed without asking the peer, which could delay that for
// seconds.
type abrupt struct {
	conn net.Conn
	ws   *websocket.Conn
}

func (a abrupt) Read(p []byte) (int, error)  { return a.conn.Read(p) }
func (a abrupt) Write(p []byte) (int, error) { return a.conn.Write(p) }

// Close implements io.Closer.
func (a abrupt) Close() error { return errors.Join(a.ws.CloseNow(), a.conn.Close()) }

// Close implements drpc.Conn. It ends the WebSocket, too.
func (c *muxConn) Close() error { return c.session.Close() }

// Closed implements drpc.Conn.
func (c *muxConn) Closed() <-chan struct{} { return c.session.CloseChan() }

// Invoke implements drpc.Conn.
func (c *muxConn) Invoke(ctx context.Context, rpc string, enc drpc.Encoding, in, out drpc.Message) error {
	transport, err := c.open(ctx)
	if err != nil {
		return err
	}
	conn := NewConn(transport)
	defer func() { _ = conn.Close() }()
	return conn.Invoke(ctx, rpc, enc, in, out)
}

// NewStream implements drpc.Conn. The stream must be closed.
func (c *muxConn) NewStream(ctx context.Context, rpc string, enc drpc.Encoding) (drpc.Stream, error) {
	transport, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	conn := NewConn(transport)
	stream, err := conn.NewStream(ctx, rpc, enc)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return muxStream{inner: stream, conn: conn}, nil
}

// open opens a yamux stream. If the peer doesn't read, that would outlast ctx; the whole
// connection is then closed.
func (c *muxConn) open(ctx context.Context) (io.ReadWriteCloser, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.session.Close() })
	defer stop()
	stream, err := c.session.OpenStream()
	if err != nil {
		return nil, err
	}
	return muxTransport{stream}, nil
}

// muxTransport is a stream whose Close also ends a pending Read: yamux leaves that to the
// peer, and DRPC waits for it.
type muxTransport struct{ stream *yamux.Stream }

func (t muxTransport) Read(p []byte) (int, error)  { return t.stream.Read(p) }
func (t muxTransport) Write(p []byte) (int, error) { return t.stream.Write(p) }

// Close implements io.Closer.
func (t muxTransport) Close() error {
	err := t.stream.Close()
	_ = t.stream.SetReadDeadline(time.Unix(1, 0)) // it never fails
	return err
}

// muxStream is a call with a connection of its own.
type muxStream struct {
	inner drpc.Stream
	conn  drpc.Conn
}

func (s muxStream) Context() context.Context                      { return s.inner.Context() }
func (s muxStream) MsgSend(m drpc.Message, e drpc.Encoding) error { return s.inner.MsgSend(m, e) }
func (s muxStream) MsgRecv(m drpc.Message, e drpc.Encoding) error { return s.inner.MsgRecv(m, e) }
func (s muxStream) CloseSend() error                              { return s.inner.CloseSend() }

// Close implements drpc.Stream.
func (s muxStream) Close() error {
	err := s.inner.Close()
	_ = s.conn.Close() // the answer has arrived, or never will
	return err
}

// discardLogger is a logger for yamux, whose lines say nothing that its errors don't.
type discardLogger struct{}

func (discardLogger) Print(...any)          {}
func (discardLogger) Printf(string, ...any) {}
func (discardLogger) Println(...any)        {}
