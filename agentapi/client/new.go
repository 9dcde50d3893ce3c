package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"waymark/agentapi"
	"waymark/internal/httpapi/apiclient"
	"waymark/internal/httpapi/problem"
)

// ErrNotRunning says that no agent serves the socket or address.
var ErrNotRunning error = problem.Nobody("no agent is running")

// agent is the real Client.
type agent struct {
	opts Options
	api  *apiclient.Server
}

var _ Client = (*agent)(nil)

// New makes a client. address is the path of a socket, a value of the agent's --listen
// (unix:PATH or tcp:HOST:PORT), or a URL (http://HOST:PORT). New doesn't connect, each call
// does. If address is invalid, every call returns the error.
func New(address string, opts Options) Client {
	opts.Timeout = cmp.Or(opts.Timeout, 30*time.Second)
	opts.Retry = cmp.Or(opts.Retry, 2*time.Second)
	transport := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10}
	t, err := parse(address)
	if t.socket != "" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", t.socket)
		}
	}
	if opts.Dial != nil {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return opts.Dial(ctx) }
	}
	a := &agent{opts: opts, api: apiclient.New(apiclient.Options{
		Name: "agent", Where: t.name, Base: t.base, Err: err, Token: opts.Token, Timeout: opts.Timeout, Transport: transport,
		Unreachable: func(err error) error {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
				return fmt.Errorf("%w (nothing serves %s): start one with 'agent run'", ErrNotRunning, t.name)
			}
			return fmt.Errorf("agent at %s: %w", t.name, err)
		},
	})}
	return a.For(opts.Caller)
}

// For implements Client.
func (a *agent) For(caller agentapi.Caller) Client {
	header := http.Header{agentapi.HeaderChat: nil, agentapi.HeaderAncestors: nil}
	if caller.Scoped() {
		header.Set(agentapi.HeaderChat, caller.Chat.String())
		if len(caller.Ancestors) > 0 {
			ids, _ := json.Marshal(caller.Ancestors) // UUIDs always marshal
			header.Set(agentapi.HeaderAncestors, string(ids))
		}
	}
	opts := a.opts
	opts.Caller = caller
	return &agent{opts: opts, api: a.api.With(header)}
}

// target is the address of an agent.
type target struct {
	name   string // for people
	base   string // of all URLs
	socket string // the path of a Unix socket; empty for TCP
}

func parse(address string) (t target, err error) {
	t = target{name: address, base: "http://agent", socket: address}
	if scheme, rest, ok := strings.Cut(address, ":"); ok && !strings.Contains(scheme, "/") {
		rest = strings.TrimPrefix(rest, "//")
		switch scheme {
		case "unix":
			t.name, t.socket = rest, rest
		case "tcp":
			scheme = "http"
			fallthrough
		case "http", "https":
			t.socket = ""
			if t.base, err = apiclient.ParseBase(scheme + "://" + rest); err != nil {
				err = fmt.Errorf("%q is not the address of an agent: want %s://HOST:PORT", address, scheme)
			}
			return t, err
		}
	}
	if t.socket == "" {
		return t, errors.New("no socket and no address of an agent is named")
	}
	return t, nil
}
