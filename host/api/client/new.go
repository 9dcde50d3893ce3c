package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ErrNotRunning says that no agent serves the socket or the address.
var ErrNotRunning = errors.New("no agent is running")

// agent is the real Client.
type agent struct {
	opts  Options
	where string // for a person
	base  string // of all URLs
	err   error  // why there is no such place; every call answers it
	http  *http.Client
}

var _ Client = (*agent)(nil)

// New makes a client. place is a socket's path, what the agent's --listen
// takes (unix:PATH, tcp:HOST:PORT), or a URL (http://HOST:PORT). It connects
// with each call; what is wrong with place is the error of every call.
func New(place string, opts Options) Client {
	opts.Timeout = cmp.Or(opts.Timeout, 30*time.Second)
	opts.Retry = cmp.Or(opts.Retry, 2*time.Second)
	a := &agent{opts: opts, where: place, base: "http://agent"}
	transport := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10}
	socket, err := a.locate(place)
	if socket != "" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
	}
	a.err = err
	a.http = &http.Client{
		Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the agent sends none
		},
	}
	return a
}

// locate sets base and where, and returns the path of the socket, if it is
// one.
func (a *agent) locate(place string) (socket string, err error) {
	if scheme, rest, ok := strings.Cut(place, ":"); ok && !strings.Contains(scheme, "/") {
		rest = strings.TrimPrefix(rest, "//")
		switch scheme {
		case "unix":
			place, a.where = rest, rest
		case "tcp":
			return "", a.remote("http", rest)
		case "http", "https":
			return "", a.remote(scheme, rest)
		}
	}
	if place == "" {
		return "", errors.New("no socket and no address of an agent is named")
	}
	return place, nil
}

func (a *agent) remote(scheme, rest string) error {
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%q is not the address of an agent: want %s://HOST:PORT", a.where, scheme)
	}
	a.base = strings.TrimSuffix(u.String(), "/")
	return nil
}
