package client

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"

	"waymark/hub/api"
	"waymark/internal/httpapi/apiclient"
	"waymark/internal/httpapi/problem"
)

// Error is a refusal of the hub.
type Error = problem.Error

var (
	// ErrUnreachable says that no hub answers at the URL.
	ErrUnreachable error = problem.Nobody("no hub answers")
	// ErrNotFound says that the hub has no such agent, revision, resource or pin. The error
	// itself is an *Error.
	ErrNotFound = problem.ErrNotFound
)

// hub is the real Client.
type hub struct {
	opts Options
	api  *apiclient.Server
}

var _ Client = (*hub)(nil)

// idle is how long a connection is kept for the next call.
const idle = 10 * time.Second

// New makes a client of the hub at address, a URL such as http://127.0.0.1:7878. New
// doesn't connect, each call does. If address is invalid, every call returns the error.
func New(address string, opts Options) Client {
	opts.Timeout = cmp.Or(opts.Timeout, 30*time.Second)
	opts.Retry = cmp.Or(opts.Retry, 4*time.Second)
	opts.Silence = cmp.Or(opts.Silence, 45*time.Second)
	if opts.Transport == nil {
		opts.Transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
			IdleConnTimeout: idle, MaxIdleConnsPerHost: 2, MaxResponseHeaderBytes: 64 << 10,
		}
	}
	base, err := apiclient.ParseBase(address)
	switch {
	case address == "":
		err = errors.New("no URL of a hub is named")
	case err != nil:
		err = fmt.Errorf("%.200q is not the URL of a hub: want http://HOST:PORT or https://HOST", address)
	}
	return &hub{opts: opts, api: apiclient.New(apiclient.Options{
		Name: "hub", Where: base, Base: base + api.Root, Err: err, Token: opts.Token, Timeout: opts.Timeout, Transport: opts.Transport,
		Unreachable: func(err error) error {
			if errors.Is(err, syscall.ECONNREFUSED) {
				return fmt.Errorf("%w at %s: start one with 'hub serve', or name another", ErrUnreachable, base)
			}
			return fmt.Errorf("%w at %s: %w", ErrUnreachable, base, err)
		},
	})}
}
