package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// ErrAddress is for an address that can't be right, as opposed to one that
// can't be had now. Commands exit with 2 for it.
var ErrAddress = errors.New("not an address to serve")

// ListenTCP opens a port. What is served there needs Options.Token.
//
// An address that isn't loopback is refused unless insecure is set: there is
// no TLS here, and the token would travel in clear text.
func ListenTCP(ctx context.Context, addr string, insecure bool) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %q: want HOST:PORT, such as 127.0.0.1:7879", ErrAddress, addr)
	}
	if !insecure && !isLoopback(host) {
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

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
