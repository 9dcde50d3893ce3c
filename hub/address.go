package hub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"waymark/hub/store"
	"waymark/internal/credential"
	"waymark/internal/httpapi"
)

// DefaultHTTP is the default address of the HTTP API.
const DefaultHTTP = "127.0.0.1:7878"

// ErrUsage marks an option that can never be valid, unlike one that can't be satisfied now.
// Commands exit with 2 for it.
var ErrUsage = errors.New("usage")

// usagef makes an error that matches ErrUsage, without that word in its text.
func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

type usageError struct{ text string }

func (e *usageError) Error() string        { return e.text }
func (e *usageError) Is(target error) bool { return target == ErrUsage }

// listenHTTP opens the HTTP port. With freePort it takes another port if the requested one
// is in use.
func listenHTTP(ctx context.Context, flag, addr string, insecure, freePort bool) (net.Listener, error) {
	if err := checkTCP(flag, addr, insecure); err != nil {
		return nil, err
	}
	lc := tcpListen()
	listener, err := lc.Listen(ctx, "tcp", addr)
	if freePort && errors.Is(err, syscall.EADDRINUSE) {
		host, _, _ := net.SplitHostPort(addr) // checkTCP has split it before
		listener, err = lc.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %s: the port is in use, perhaps by another hub; stop that one, or choose another port with %s (127.0.0.1:0 takes any)", addr, flag)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, rootCause(err))
	}
	return listener, nil
}

// tcpListen enables keep-alives, so that a peer that vanished is detected after a minute:
// plain DRPC has no pings.
func tcpListen() *net.ListenConfig {
	return &net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 3,
	}}
}

// rootCause strips repetitions in errors of net.
func rootCause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// checkTCP refuses invalid addresses, and those that would send tokens and contexts in
// clear text over a network.
func checkTCP(flag, addr string, insecure bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return usagef("%s %q is not an address: want HOST:PORT, such as %s", flag, addr, DefaultHTTP)
	}
	if insecure || httpapi.IsLoopback(host) {
		return nil
	}
	return usagef("%s %s is not a loopback address, and there is no TLS: use --tls-cert and --tls-key, or put a TLS proxy before the hub, or add --insecure if the network can be trusted", flag, addr)
}

// listenDRPC opens a listener for "unix:PATH" or "tcp:HOST:PORT".
func listenDRPC(ctx context.Context, spec string, insecure bool) (net.Listener, error) {
	scheme, addr, _ := strings.Cut(spec, ":")
	switch {
	case scheme == "unix" && addr != "":
		return listenUnix(addr)
	case scheme == "tcp" && addr != "":
		if err := checkTCP("--drpc", addr, insecure); err != nil {
			return nil, err
		}
		listener, err := tcpListen().Listen(ctx, "tcp", addr)
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("listen on %s: the port is in use; choose another with --drpc", spec)
		}
		if err != nil {
			return nil, fmt.Errorf("listen on %s: %w", spec, rootCause(err))
		}
		return listener, nil
	}
	return nil, usagef("--drpc %q: want unix:PATH or tcp:HOST:PORT", spec)
}

// maxSocketPath is what fits into a sockaddr_un on every platform.
const maxSocketPath = 103

// listenUnix opens a socket that only this user can connect to; see httpapi.ListenUnix.
func listenUnix(path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, usagef("--drpc unix:%s: the path is longer than the %d bytes a socket's may have", path, maxSocketPath)
	}
	listener, err := httpapi.ListenUnix(path)
	switch {
	case errors.Is(err, httpapi.ErrInUse):
		return nil, fmt.Errorf("listen on unix:%s: %w, perhaps by another hub; stop that one, or choose another path with --drpc", path, err)
	case errors.Is(err, httpapi.ErrNotSocket):
		return nil, fmt.Errorf("listen on unix:%s: there is a file that is not a socket; remove it or name another path", path)
	case err != nil:
		return nil, fmt.Errorf("listen on unix:%s: %w", path, rootCause(err))
	}
	return listener, nil
}

// present returns how other hubs with the same store see this one.
func present(advertise string) (store.PresentHub, error) {
	self := store.PresentHub{ID: uuid.NewString(), Secret: credential.HubSecret.New()}
	if advertise != "" {
		u, err := url.Parse(advertise)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" {
			return self, usagef("--advertise %q: want where other hubs reach this one, such as http://10.0.0.7:7878", advertise)
		}
		self.URL = u.Scheme + "://" + u.Host
	}
	return self, nil
}
