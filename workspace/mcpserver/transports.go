package mcpserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/agentapi"
	"waymark/agentapi/client"
)

// MaxMessage bounds a message of a client, in bytes: a file that is written, as JSON.
const MaxMessage = 16 << 20

const (
	// idleSession is after what time a session over HTTP ends that nobody uses.
	idleSession = 2 * time.Hour
	// stateless is the first version of the protocol that has no sessions.
	stateless = "2026-07-28"
)

// ServeStdio serves one client, until that closes its end or ctx ends.
func (s *Server) ServeStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	err := s.mcp.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out, MaxLineLength: MaxMessage})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil //nolint:nilerr // that is how it ends
	}
	return err
}

// Handler serves clients over streamable HTTP, both generations of the protocol at one
// URL. Who may connect is for the caller to decide; that a request comes for this machine
// (its Host) is checked, and that no page of another origin sends it.
func (s *Server) Handler() http.Handler { return s.handler(false) }

// handler is Handler. guarded says that somebody else has looked at Host.
func (s *Server) handler(guarded bool) http.Handler {
	get := func(*http.Request) *mcp.Server { return s.mcp }
	// Each of the SDK's handlers speaks one of the two.
	sessions := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Logger: s.sdkLog, SessionTimeout: idleSession, MaxRequestBodyBytes: MaxMessage, DisableLocalhostProtection: guarded,
	})
	single := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Logger: s.sdkLog, Stateless: true, MaxRequestBodyBytes: MaxMessage, PropagateRequestCancellation: true, DisableLocalhostProtection: guarded,
	})
	either := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= stateless {
			single.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})
	return http.NewCrossOriginProtection().Handler(either)
}

type callerKey struct{}

// forCaller has what a request asks for done for the chat that its headers name, as in the
// agent's own API. That is information: what is allowed says the token.
func (s *Server) forCaller(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if extra := r.GetExtra(); extra != nil && extra.Header.Get(agentapi.HeaderChat) != "" {
			caller, err := agentapi.CallerOf(extra.Header)
			if err != nil {
				return nil, invalid(err.Error())
			}
			ctx = context.WithValue(ctx, callerKey{}, caller)
		}
		return next(ctx, method, r)
	}
}

// asked is the agent's client as the caller of a request uses it.
func asked(ctx context.Context, c client.Client) client.Client {
	if caller, ok := ctx.Value(callerKey{}).(agentapi.Caller); ok {
		return c.For(caller)
	}
	return c
}
