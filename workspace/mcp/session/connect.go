package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime/debug"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// discovers is the first protocol in which a server is asked by server/discover.
const discovers = "2026-07-28"

// Stdio speaks with a server through the pipes of its process: in is what the server
// reads, out what it writes. Both are closed with the session; ctx bounds connecting
// alone. A Write to in and a Read from out must return when they are closed.
//
// It returns ErrDiscover, after some 3 s, when the process has to be started again;
// see there.
func Stdio(ctx context.Context, in io.WriteCloser, out io.ReadCloser, opts Options) (Session, error) {
	opts = opts.orDefaults()
	t := newTap(ctx, opts)
	filter := newLineFilter(out, opts.Caps.Line, func(line []byte) {
		t.lives()
		opts.Noise(line)
	})
	var once sync.Once
	t.hangUp = func() { once.Do(func() { _ = in.Close() }) }
	transport := &mcp.IOTransport{
		Reader: filter, Writer: hungUp{in, t.hangUp},
		MaxLineLength: opts.Caps.Line + 4096, // the filter is the bound
	}
	var discover func()
	if opts.Protocol == "" {
		discover = t.watchDiscover
	}
	s, err := connect(ctx, t, &tapTransport{inner: transport, tap: t, queued: true}, discover)
	if err != nil {
		_ = out.Close() // where the SDK hasn't come so far
		return nil, err
	}
	return s, nil
}

// hungUp is what the server reads from; it is closed once.
type hungUp struct {
	io.Writer
	hangUp func()
}

func (h hungUp) Close() error {
	h.hangUp()
	return nil
}

// HTTP speaks with a server by streamable HTTP. The header's values go to the origin of
// the address alone. ctx bounds connecting. It returns ErrNeedsAuthorization when the
// server wants a token that there isn't.
func HTTP(ctx context.Context, address string, header http.Header, opts Options) (Session, error) {
	opts = opts.orDefaults()
	s, err := dial(ctx, address, header, opts)
	if errors.Is(err, ErrDiscover) { // nothing has to be started again here
		opts.Protocol = Fallback
		s, err = dial(ctx, address, header, opts)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func dial(ctx context.Context, address string, header http.Header, opts Options) (*live, error) {
	t := newTap(ctx, opts)
	guard, err := newGuard(address, header, opts)
	if err != nil {
		return nil, err
	}
	transport := &mcp.StreamableClientTransport{
		Endpoint: address, HTTPClient: guard.client(), MaxEventSize: opts.Caps.Line,
		// What a server sends on its own is read by package session itself: a stream
		// that fails costs the SDK the whole session.
		DisableStandaloneSSE: true,
	}
	var discover func()
	if opts.Protocol == "" {
		discover = t.waitDiscover
	}
	s, err := connect(ctx, t, &tapTransport{inner: transport, tap: t}, discover)
	if err != nil {
		guard.close()
		return nil, err
	}
	s.guard = guard
	guard.setProtocol(s.Protocol())
	if caps := s.sdk.InitializeResult().Capabilities; s.Protocol() < discovers && caps != nil && caps.Tools != nil && caps.Tools.ListChanged {
		t.listens()
		t.run(func() { t.overhear(guard) })
	}
	return s, nil
}

// SSE speaks with a server by the transport of 2024-11-05: one stream of events, and an
// address for messages, which has to be of the same origin. See HTTP for the rest.
func SSE(ctx context.Context, address string, header http.Header, opts Options) (Session, error) {
	opts = opts.orDefaults()
	t := newTap(ctx, opts)
	guard, err := newGuard(address, header, opts)
	if err != nil {
		return nil, err
	}
	transport := &mcp.SSEClientTransport{Endpoint: address, HTTPClient: guard.client(), MaxEventSize: opts.Caps.Line}
	// Such a server is older than server/discover.
	t.opts.Protocol = Fallback
	s, err := connect(ctx, t, &tapTransport{inner: transport, tap: t}, nil)
	if err != nil {
		guard.close()
		return nil, err
	}
	s.guard = guard
	return s, nil
}

// connect agrees with a server on a protocol. discover, if not nil, ends the connection
// when the server doesn't answer what is asked first.
func connect(ctx context.Context, t *tap, transport *tapTransport, discover func()) (*live, error) {
	opts := t.opts
	ctx, cancel := context.WithTimeoutCause(ctx, opts.Timeout, fmt.Errorf("the server hasn't answered within %s", opts.Timeout))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = t.end(context.Cause(ctx)) })
	defer stop()
	if discover != nil {
		t.run(discover)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "waymark", Title: "Waymark", Version: version()}, &mcp.ClientOptions{
		// Not nil: the SDK would offer roots, and to tell of their changes.
		Capabilities: &mcp.ClientCapabilities{},
		// The SDK subscribes to changes for whoever has this; they are told by the tap.
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {},
	})
	protocol := opts.Protocol
	if protocol != "" && protocol < discovers {
		protocol = Fallback // the server may answer with an older one
	}
	// The session's own context: the SDK keeps it beyond connecting.
	sdk, err := client.Connect(t.ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err == nil && !stop() {
		err = context.Cause(ctx)
	}
	if err == nil {
		return &live{tap: t, sdk: sdk, caps: opts.Caps}, nil
	}
	why := t.why()
	_ = t.end(ErrClosed)
	if sdk != nil {
		_ = sdk.Close()
	}
	t.wait.Wait()
	words := inWords(err)
	refused := (*ServerError)(nil)
	switch {
	case errors.Is(err, ErrNeedsAuthorization), errors.Is(why, ErrNeedsAuthorization):
		return nil, ErrNeedsAuthorization
	case errors.As(words, &refused):
		return nil, words // also where it hangs up after that
	case ctx.Err() == nil && !errors.Is(why, ErrDiscover) && reported(t.ctx, nil) != nil:
		return nil, reported(t.ctx, nil)
	case why != nil && why != ErrClosed: //nolint:errorlint // that alone: the SDK has closed it, and err says why
		return nil, why
	}
	return nil, words
}

// version is that of this program.
var version = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "0"
})

// originOf returns the scheme, host and port of an address, for comparing.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + u.Hostname() + ":" + port
}
