package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"waymark/internal/httpapi"
)

var (
	// ErrRunning says that another agent serves the socket.
	ErrRunning = errors.New("an agent is already running")
	// ErrAddress says that an address can never be served, unlike one that is unavailable
	// now. Commands exit with 2 for it.
	ErrAddress = errors.New("not an address to serve")
)

// Listen opens the socket. It replaces a socket that nobody serves any more, and returns
// ErrRunning for one that is served; see httpapi.ListenUnix.
func Listen(path string) (net.Listener, error) {
	l, err := httpapi.ListenUnix(path)
	switch {
	case errors.Is(err, httpapi.ErrInUse):
		return nil, fmt.Errorf("%w on %s: see 'agent status', or give this one another socket with --listen", ErrRunning, path)
	case errors.Is(err, httpapi.ErrNotSocket):
		return nil, fmt.Errorf("socket %s: something that isn't a socket is there: remove it", path)
	case err != nil:
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	return l, nil
}

// ListenTCP opens a port. Serving it requires Options.Token.
//
// Only loopback addresses are accepted: there is no TLS here, so the token would travel in
// clear text.
func ListenTCP(ctx context.Context, addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %q: want HOST:PORT, such as 127.0.0.1:7879", ErrAddress, addr)
	}
	if !httpapi.IsLoopback(host) {
		return nil, fmt.Errorf("%w: %s is not a loopback address, and there is no TLS: listen on 127.0.0.1 and put a TLS proxy before it",
			ErrAddress, addr)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %s: the port is in use, perhaps by another agent: stop that one, or choose another with --listen (tcp:127.0.0.1:0 takes any)", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return l, nil
}
