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

	"waymark/agentapi"
)

// discovers is the first protocol version with server/discover.
const discovers = "2026-07-28"

// Stdio connects to a server through the pipes of its process: the server reads from in and
// writes to out. The session closes both. ctx limits connecting only. Closing must unblock
// a Write to in and a Read from out.
//
// If the process must be started again, Stdio returns ErrDiscover after about 3 s; see
// there.
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
		MaxLineLength: opts.Caps.Line + 4096, // the filter enforces the limit
	}
	var discover func()
	if opts.Protocol == "" {
		discover = t.watchDiscover
	}
	s, err := connect(ctx, t, &tapTransport{inner: transport, tap: t, queued: true}, discover)
	if err != nil {
		_ = out.Close() // in case the SDK hasn't closed it
		return nil, err
	}
	return s, nil
}

// hungUp is the server's input; it is closed once.
type hungUp struct {
	io.Writer
	hangUp func()
}

func (h hungUp) Close() error {
	h.hangUp()
	return nil
}

// HTTP connects to a server by streamable HTTP. The values of header are sent only to the
// origin of the address. ctx limits connecting only. HTTP returns ErrNeedsAuthorization if
// the server requires a token and there is none. If the server doesn't take the first message
// by this transport, HTTP tries that of SSE, as the clients do whose entries don't tell both
// apart.
func HTTP(ctx context.Context, address string, header http.Header, opts Options) (Session, error) {
	opts = opts.orDefaults()
	s, err := dial(ctx, address, header, opts)
	if errors.Is(err, ErrDiscover) { // there is no process to start again
		opts.Protocol = Fallback
		s, err = dial(ctx, address, header, opts)
	}
	if otherTransport(err) && ctx.Err() == nil {
		if older, olderErr := SSE(ctx, address, header, opts); olderErr == nil {
			return older, nil
		}
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
		// This package reads the server's own stream itself, because the SDK ends the whole
		// session when it fails.
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
	caps := s.sdk.InitializeResult().Capabilities
	tells := caps != nil && caps.Tools != nil && caps.Tools.ListChanged
	if s.Protocol() < discovers && (tells || len(opts.Asks) > 0) { // it may ask there, too
		t.listens()
		t.run(func() { t.overhear(guard) })
	}
	return s, nil
}

// SSE connects to a server by the transport of 2024-11-05: a stream of events, and an
// address for messages, which must have the same origin. Otherwise it is like HTTP.
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

// connect negotiates the protocol. discover, if not nil, ends the connection if the server
// doesn't answer server/discover.
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
		// Not nil, because the SDK would declare the roots capability, with change
		// notifications.
		Capabilities: capabilities(opts.Asks),
		// Call does it.
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		// With a handler, the SDK subscribes to changes. The tap handles the notifications.
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {},
	})
	protocol := opts.Protocol
	if protocol != "" && protocol < discovers {
		protocol = Fallback // the server may answer with an older version
	}
	// Use the session's own context, because the SDK keeps it after connecting.
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
		return nil, words // even if the server closes the connection afterwards
	case ctx.Err() == nil && !errors.Is(why, ErrDiscover) && reported(t.ctx, nil) != nil:
		return nil, reported(t.ctx, nil)
	case why != nil && why != ErrClosed: //nolint:errorlint // that alone: the SDK has closed it, and err says why
		return nil, why
	}
	return nil, words
}

// capabilities declares what a server may ask.
func capabilities(asks []string) *mcp.ClientCapabilities {
	caps := new(mcp.ClientCapabilities)
	for _, ask := range asks {
		if caps.Elicitation == nil && (ask == agentapi.MCPAskForm || ask == agentapi.MCPAskURL) {
			caps.Elicitation = new(mcp.ElicitationCapabilities)
		}
		switch ask {
		case agentapi.MCPAskForm:
			caps.Elicitation.Form = new(mcp.FormElicitationCapabilities)
		case agentapi.MCPAskURL:
			caps.Elicitation.URL = new(mcp.URLElicitationCapabilities)
		case agentapi.MCPAskSampling:
			caps.Sampling = new(mcp.SamplingCapabilities)
		case agentapi.MCPAskRoots:
			caps.RootsV2 = new(mcp.RootCapabilities)
		}
	}
	return caps
}

// version returns the version of this program.
var version = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "0"
})

// originOf returns the scheme, host and port of an address, for comparison.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + u.Hostname() + ":" + port
}
