package mcpserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxMessage bounds a message of a client, in bytes: a file that is written, as JSON.
	maxMessage = 16 << 20
	// idleSession is after what time a session over HTTP ends that nobody uses.
	idleSession = 2 * time.Hour
	// stateless is the first version of the protocol that has no sessions.
	stateless = "2026-07-28"
)

// ServeStdio serves one client, until that closes its end or ctx ends.
func (s *Server) ServeStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	err := s.mcp.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out, MaxLineLength: maxMessage})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Handler serves clients over streamable HTTP, both generations of the protocol at one
// URL. Who may connect is for the caller to decide; that a request comes for this machine
// (its Host) is checked, and that no page of another origin sends it.
func (s *Server) Handler() http.Handler {
	get := func(*http.Request) *mcp.Server { return s.mcp }
	// Each of the SDK's handlers speaks one of the two.
	sessions := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Logger: s.sdkLog, SessionTimeout: idleSession, MaxRequestBodyBytes: maxMessage})
	single := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Logger: s.sdkLog, Stateless: true, MaxRequestBodyBytes: maxMessage, PropagateRequestCancellation: true})
	either := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= stateless {
			single.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})
	return http.NewCrossOriginProtection().Handler(either)
}
