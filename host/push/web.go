package push

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/coder/websocket"
	"storj.io/drpc"

	"waymark/wire"
)

const (
	// maxRedirects is for http to https, and a host that has moved a path.
	maxRedirects = 3
	// maxResponseHeader is far above what any server answers.
	maxResponseHeader = 64 << 10
	// maxFrame bounds a WebSocket message from the peer; DRPC over yamux
	// writes no more than 64 KiB at once.
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

// checkRedirect follows a peer within its own host, and never out of TLS: the
// token is a header of our own, which net/http would carry anywhere.
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
