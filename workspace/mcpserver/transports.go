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

// MaxMessage limits a client's message, in bytes, including a file to write, as JSON.
const MaxMessage = 16 << 20

const (
	// idleSession is when an unused session over HTTP ends.
	idleSession = 2 * time.Hour
	// stateless is the first protocol version without sessions.
	stateless = "2026-07-28"
)

// ServeStdio serves a single client until it closes its end or ctx ends.
func (s *Server) ServeStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	err := s.mcp.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out, MaxLineLength: MaxMessage})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil //nolint:nilerr // that is how it ends
	}
	return err
}

// Handler serves clients over streamable HTTP, with and without sessions at the same URL.
// The caller decides who may connect. The handler checks that a request is for this machine
// (its Host), and not from a page of another origin.
func (s *Server) Handler() http.Handler { return s.handler(false) }

// handler implements Handler. guarded says that the caller has checked Host.
func (s *Server) handler(guarded bool) http.Handler {
	get := func(*http.Request) *mcp.Server { return s.mcp }
	// Each of the SDK's handlers supports one of the two.
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

// forCaller performs a request for the chat that its headers name, as in the agent's API.
// The chat grants nothing; the token does.
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

// asked returns the agent's client for the chat of a request.
func asked(ctx context.Context, c client.Client) client.Client {
	if caller, ok := ctx.Value(callerKey{}).(agentapi.Caller); ok {
		return c.For(caller)
	}
	return c
}
