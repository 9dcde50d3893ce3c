package push_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcwire"

	"waymark/host/push"
	"waymark/test/pushtest"
	"waymark/wire"
)

// TestPushToCoder is the whole path to a Coder server, as it stands: no
// waymark.v1, a stream for each call, and reconnecting.
func TestPushToCoder(t *testing.T) {
	p := &peer{coder: true}
	server := newBareServer(t, p)
	server.Start()
	opts := remote(t, server.URL, nil)
	opts.MinBackoff = time.Millisecond
	pusher := run(t, opts)
	pusher.Publish(snap(1, "/w/AGENTS.md"))
	accepted(t, pusher, 1)
	pusher.Publish(snap(2, "/w/AGENTS.md", "/w/CLAUDE.md"))
	accepted(t, pusher, 2)
	server.Cut()
	pusher.Publish(snap(3, "/w/AGENTS.md"))
	accepted(t, pusher, 3)

	// On a new connection the first push is initial; whether that is of version
	// 2 or 3, and whether the cut still hits it, depends on who was faster.
	const before = "[coder.agent.v2 v1 initial=true coder.agent.v2 v2 initial=false coder.agent.v2 "
	switch arrivals := fmt.Sprint(brief(p.received())); arrivals {
	case before + "v3 initial=true]", before + "v2 initial=true coder.agent.v2 v3 initial=false]",
		before + "v2 initial=true coder.agent.v2 v3 initial=true]":
	default:
		t.Errorf("the server received %s", arrivals)
	}
	if status := pusher.Status(); status.Protocol != wire.ProtocolCoder || status.Peer != server.URL {
		t.Errorf("status is %+v", status)
	}
	r := server.Request(0)
	if r.URL.RawQuery != "role=waymark&version=2.10" || r.Header.Get("Sec-WebSocket-Protocol") != "" ||
		r.Header.Get("Sec-WebSocket-Extensions") != "" || r.Header.Get("Cookie") != "" {
		t.Errorf("the handshake is %s %v", r.URL, r.Header)
	}
	if got := p.received()[0].token; got != "" {
		t.Errorf("the token is in the call's metadata, too: %q", got)
	}
	if n := server.Calls(); n < 4 {
		t.Errorf("%d streams, want one for each call", n)
	}
}

// TestUnimplementedOverTheWeb meets both forms.
func TestUnimplementedOverTheWeb(t *testing.T) {
	for name, p := range map[string]*peer{"unknown rpc": {}, "code 12": {unimplemented: true}} {
		t.Run(name, func(t *testing.T) {
			server := newBareServer(t, p)
			server.Start()
			pusher := run(t, remote(t, server.URL, nil))
			pusher.Publish(snap(1, "/a"))
			state(t, pusher, push.StateUnimplemented)
			if n := server.Connections(); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// TestDroppedAndLost: a call that the peer drops is told apart from a lost
// connection, and both from our own cancel.
func TestDroppedAndLost(t *testing.T) {
	p := &peer{waymark: true}
	server := newBareServer(t, p)
	server.Options.Manager = drpcmanager.Options{Reader: drpcwire.ReaderOptions{MaximumBufferSize: 64 << 10}}
	server.Start()
	results := make(chan push.Result, 100)
	opts := remote(t, server.URL, nil)
	opts.MinBackoff, opts.MaxBackoff = time.Hour, time.Hour
	opts.Observe = func(a push.Attempt) { results <- a.Result }
	big := texts(1, 100, 10, 0)
	for i := range big.Resources {
		big.Resources[i].Description = strings.Repeat("d", 1500)
	}
	pusher := run(t, opts)
	pusher.Publish(big)
	status := state(t, pusher, push.StateBackingOff)
	if !strings.Contains(status.LastError, "dropped the call") || <-results != push.ResultLost {
		t.Errorf("a dropped call is told as %q", status.LastError)
	}

	p.set(func(p *peer) {
		p.answer = func(context.Context, arrival) (bool, error) { server.Cut(); return true, nil }
	})
	pusher = run(t, opts)
	pusher.Publish(snap(1, "/a"))
	status = state(t, pusher, push.StateBackingOff)
	if status.LastError != "the connection was lost" || <-results != push.ResultLost {
		t.Errorf("a lost connection is told as %q", status.LastError)
	}

	arrived := make(chan struct{})
	p.set(func(p *peer) {
		p.answer = func(ctx context.Context, _ arrival) (bool, error) {
			close(arrived)
			<-ctx.Done() // as soon as the caller has gone
			return false, ctx.Err()
		}
	})
	pusher = run(t, opts)
	pusher.Publish(snap(1, "/a"))
	<-arrived
	if err := pusher.Close(); err != nil {
		t.Error(err)
	}
	if got := pusher.Status(); got.LastError != "" || <-results != push.ResultCanceled {
		t.Errorf("our own cancel is told as %q", got.LastError)
	}
}

// TestHangingPeerOverTheWeb has a deadline although none travels.
func TestHangingPeerOverTheWeb(t *testing.T) {
	var once sync.Once
	ended := make(chan struct{})
	p := &peer{waymark: true, answer: func(ctx context.Context, _ arrival) (bool, error) {
		<-ctx.Done()
		once.Do(func() { close(ended) })
		return false, ctx.Err()
	}}
	server := newBareServer(t, p)
	server.Start()
	opts := remote(t, server.URL, nil)
	// On a slow machine the time may be up before the push: then again.
	opts.CallTimeout, opts.MinBackoff, opts.MaxBackoff = 50*time.Millisecond, time.Millisecond, time.Millisecond
	pusher := run(t, opts)
	pusher.Publish(snap(1, "/a"))
	<-ended // the server's handler doesn't hang for longer
	said(t, pusher, "no answer within 50ms")
}

// refusing answers every handshake with what answer says.
func refusing(t *testing.T, answer http.HandlerFunc) push.Options {
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return remote(t, server.URL, nil)
}

func TestRefused(t *testing.T) {
	body := func(code int, body any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(body)
		}
	}
	type m map[string]any
	version := []m{{"field": "version", "detail": "server is at version 2.9, behind requested minor version 2.10"}}
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		is     error
		text   string
	}{
		"version": {body(400, m{"message": "Unknown or unsupported API version", "validations": version}), push.ErrVersionRefused,
			"HTTP 400, Unknown or unsupported API version: server is at version 2.9, behind requested minor version 2.10"},
		"another 400":  {body(400, m{"message": "Bad thing", "detail": "why"}), nil, "the peer refuses the connection: HTTP 400, Bad thing: why"},
		"unauthorized": {body(401, m{"message": "Workspace agent not authorized."}), push.ErrUnauthorized, "HTTP 401, Workspace agent not authorized."},
		"old build":    {body(403, m{"message": "Agent trying to connect from non-latest build."}), push.ErrUnauthorized, "non-latest build"},
		"not there":    {http.NotFound, nil, "no agent endpoint (HTTP 404 Not Found)"},
		"another host": {body(421, m{"message": "this hub is not known under that host name", "detail": "use --allow-host"}), nil, "use --allow-host"},
		"busy":         {body(503, m{}), nil, "HTTP 503 Service Unavailable"},
		"a page":       {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>log in</html>")) }, nil, "HTTP 200 OK"},
		"echoes the token": {func(w http.ResponseWriter, r *http.Request) {
			body(401, m{"message": "no: " + r.Header.Get("Coder-Session-Token")})(w, r)
		}, push.ErrUnauthorized, "no: [token]"},
		"half a body": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			w.WriteHeader(401)
			_, _ = w.Write([]byte(`{"message":"x`))
		}, push.ErrUnauthorized, "HTTP 401 Unauthorized"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := refusing(t, tc.answer).Dialer.Dial(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.text) || strings.Contains(err.Error(), pushtest.Token) {
				t.Fatalf("error is %v, want %q", err, tc.text)
			}
			for _, is := range []error{push.ErrVersionRefused, push.ErrUnauthorized} {
				if errors.Is(err, is) != (is == tc.is) {
					t.Errorf("%v matches %v: %t", err, is, errors.Is(err, is))
				}
			}
		})
	}
}

// TestRetryAfter: what a hub says of when to come again is heard, as far as it is a number.
func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{"7": 7 * time.Second, "": -1, "-1": -1, "soon": -1, "99999999999999999999": -1} {
		_, err := refusing(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusServiceUnavailable)
		}).Dialer.Dial(t.Context())
		got := time.Duration(-1)
		if later := new(push.LaterError); errors.As(err, &later) {
			got = later.After
		}
		if got != want || err == nil || !strings.Contains(err.Error(), "HTTP 503") {
			t.Errorf("%q: %s, %v", header, got, err)
		}
	}
}

// TestVersionRefusedIsNotAStorm: one attempt, and then a long pause.
func TestVersionRefusedIsNotAStorm(t *testing.T) {
	var dials atomic.Int64
	opts := refusing(t, func(w http.ResponseWriter, _ *http.Request) {
		dials.Add(1)
		w.WriteHeader(400)
		_, _ = w.Write([]byte(`{"message":"Unknown or unsupported API version","validations":[{"field":"version","detail":"too new"}]}`))
	})
	opts.MinBackoff, opts.MaxBackoff = time.Millisecond, time.Hour
	pusher := run(t, opts)
	status := state(t, pusher, push.StateVersionRefused)
	if !strings.Contains(status.LastError, "too new") || dials.Load() != 1 {
		t.Errorf("after %d attempts: %q", dials.Load(), status.LastError)
	}
}

func TestRedirects(t *testing.T) {
	p := &peer{waymark: true}
	server := newBareServer(t, p)
	server.Start()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a request with the token %q has come to another host", r.Header.Get("Coder-Session-Token"))
	}))
	defer elsewhere.Close()
	_, port, _ := net.SplitHostPort(elsewhere.Listener.Addr().String())

	for name, tc := range map[string]struct{ target, text string }{
		"same host":    {server.URL + wire.EndpointPath + "?role=waymark&version=2.10", ""},
		"another host": {"http://localhost:" + port + "/", "redirects to another host, where the token isn't sent; if localhost is right"},
		"in circles":   {"/again", "in circles"},
	} {
		opts := refusing(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, tc.target, http.StatusTemporaryRedirect)
		})
		conn, err := opts.Dialer.Dial(t.Context())
		if tc.text == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			_ = conn.Close()
		} else if err == nil || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v, want %q", name, err, tc.text)
		}
	}
	secure := httptest.NewTLSServer(http.RedirectHandler(server.URL, http.StatusFound))
	defer secure.Close()
	opts := remote(t, secure.URL, func(o *push.RemoteOptions) { o.TLS = trust(secure) })
	if _, err := opts.Dialer.Dial(t.Context()); err == nil || !strings.Contains(err.Error(), "from https to http") {
		t.Errorf("out of TLS: %v", err)
	}
}

func trust(server *httptest.Server) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return &tls.Config{RootCAs: pool}
}

// TestTLSAndProxy goes through a proxy to a server whose name only the proxy
// knows.
func TestTLSAndProxy(t *testing.T) {
	p := &peer{waymark: true}
	server := newBareServer(t, p)
	server.StartTLS()
	proxy, connects := newProxy(t, server.Listener.Addr().String())
	opts := remote(t, "https://example.com/", func(o *push.RemoteOptions) { // what httptest's certificate is for
		o.TLS = trust(server.Server)
		o.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy) }
	})
	pusher := run(t, opts)
	pusher.Publish(snap(1, "/a"))
	accepted(t, pusher, 1)
	if got := <-connects; got != "example.com:443" {
		t.Errorf("the proxy was asked for %s", got)
	}
	untrusted := remote(t, server.URL, nil)
	if _, err := untrusted.Dialer.Dial(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: %v", err)
	}
}

func TestClearText(t *testing.T) {
	for _, url := range []string{"http://hub.example.com", "ws://10.0.0.1:7878"} {
		if _, err := push.Remote(url, push.RemoteOptions{Token: pushtest.Token}); !errors.Is(err, push.ErrClearText) || !strings.Contains(err.Error(), "use https") {
			t.Errorf("%s: %v", url, err)
		}
		if _, err := push.Remote(url, push.RemoteOptions{Insecure: true}); err != nil {
			t.Errorf("%s, insisting: %v", url, err)
		}
	}
	opts, err := push.Remote("unix:/x", push.RemoteOptions{Token: "t"})
	if err != nil || opts.Token != "t" || opts.Peer != "unix:/x" {
		t.Errorf("plain DRPC: %+v, %v", opts, err)
	}
	target, err := push.ParseURL("https://hub")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := target.Dial(t.Context()); err == nil || !strings.Contains(err.Error(), "Remote") {
		t.Errorf("a server without its token: %v", err)
	}
}
