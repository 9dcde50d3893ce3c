package client

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// hub is the real Client.
type hub struct {
	opts Options
	base string // of all URLs
	err  error  // why there is no such place; every call answers it
	http *http.Client
}

var _ Client = (*hub)(nil)

// idle is how long a connection waits for the next call: long enough for a
// few in a row.
const idle = 10 * time.Second

// New makes a client of the hub at place, a URL such as
// http://127.0.0.1:7878. It connects with each call; what is wrong with place
// is the error of every call.
func New(place string, opts Options) Client {
	opts.Timeout = cmp.Or(opts.Timeout, 30*time.Second)
	opts.Retry = cmp.Or(opts.Retry, 4*time.Second)
	opts.Silence = cmp.Or(opts.Silence, 45*time.Second)
	if opts.Transport == nil {
		opts.Transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
			IdleConnTimeout: idle, MaxIdleConnsPerHost: 2, MaxResponseHeaderBytes: 64 << 10,
		}
	}
	h := &hub{opts: opts}
	h.base, h.err = parse(place)
	h.http = &http.Client{
		Transport: opts.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // hubs send none to a reader with a token
		},
	}
	return h
}

// parse returns place without a slash at its end.
func parse(place string) (string, error) {
	if place == "" {
		return "", errors.New("no URL of a hub is named")
	}
	u, err := url.Parse(place)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%.200q is not the URL of a hub: want http://HOST:PORT or https://HOST", place)
	}
	return strings.TrimSuffix(u.String(), "/"), nil
}
