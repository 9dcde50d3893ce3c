package main

import (
	"errors"
	"net/http"
	"time"

	"waymark/cmd/internal/cli"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	ws "waymark/workspace"
	"waymark/workspace/access"
	"waymark/workspace/mcpserver"
	"waymark/workspace/mcpserver/tools"
)

const (
	// mcpBody is how long a message may take to arrive.
	mcpBody = time.Minute
	// mcpWrite is how long a client may take to read a part of an answer.
	mcpWrite = 30 * time.Second
)

// newEndpoint makes what serves MCP on the agent's own address. It is a client of this
// agent's API, with the token that its own client shows.
func (s *services) newEndpoint() *mcpserver.Endpoint {
	return mcpserver.NewEndpoint(mcpserver.EndpointOptions{Client: s.inside.client, Version: cli.CurrentVersion().Version, Logger: s.d.log})
}

// serveMCP is MCP over streamable HTTP, beside the rest of the API.
func (s *services) serveMCP() httpapi.Service {
	route := func(method string) httpapi.Route {
		return httpapi.Route{
			Method: method, Pattern: ws.PathMCP, Effect: httpapi.Reads, Handle: s.mcp, Failed: "the request was not served",
			MaxBody: mcpserver.MaxMessage, BodyTimeout: mcpBody,
		}
	}
	return httpapi.Service{Routes: []httpapi.Route{route(http.MethodPost), route(http.MethodGet), route(http.MethodDelete)}}
}

// mcp answers it. A message is looked at by who serves it, and what it asks for is done,
// or not, by the routes of this API, each of which looks at the token.
func (s *services) mcp(c *httpapi.Call) error {
	if c.Method == http.MethodHead {
		return &problem.Error{Code: http.StatusMethodNotAllowed, Message: c.Failed(), Detail: "use POST, GET or DELETE"}
	}
	c.Stream()
	err := s.endpoint.Serve(&partWriter{c.Writer()}, c.Request, httpapi.BearerToken(c.Request), offerOf(access.From(c.Context())))
	if errors.Is(err, mcpserver.ErrFull) {
		return &problem.Error{Code: http.StatusTooManyRequests, Message: c.Failed(), Detail: err.Error()}
	}
	return err
}

// offerOf are the tools that a grant is good for; without one those that read.
func offerOf(g *access.Grant) (o tools.Offer) {
	if g == nil {
		return o
	}
	o.Plan = g.Plan != ""
	for _, scope := range g.Scopes {
		o.Scopes = append(o.Scopes, string(scope))
	}
	return o
}

// partWriter gives a client time for each part of an answer that goes on: who doesn't read
// doesn't keep what writes.
type partWriter struct{ http.ResponseWriter }

// deadline is until when the client may read; zero: for ever. There is none where there is
// no connection, as in tests.
func (w *partWriter) deadline(t time.Time) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(t)
}

// Write implements io.Writer.
func (w *partWriter) Write(p []byte) (int, error) {
	w.deadline(time.Now().Add(mcpWrite))
	return w.ResponseWriter.Write(p)
}

// FlushError is for http.ResponseController. Between two parts there is no deadline.
func (w *partWriter) FlushError() error {
	w.deadline(time.Now().Add(mcpWrite))
	defer w.deadline(time.Time{})
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap is for it, too.
func (w *partWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
