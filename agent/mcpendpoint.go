package agent

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/workspace/access"
	"waymark/workspace/mcpserver"
	"waymark/workspace/mcpserver/tools"
)

const (
	// mcpBody limits how long a message may take to arrive.
	mcpBody = time.Minute
	// mcpWrite limits how long a client may take to read a part of an answer.
	mcpWrite = 30 * time.Second
)

// newEndpoint makes the MCP endpoint on the agent's own address. It calls this agent's API
// with the token of its client.
func (s *services) newEndpoint() *mcpserver.Endpoint {
	return mcpserver.NewEndpoint(mcpserver.EndpointOptions{Client: s.inside.client, Version: s.d.opts.Version, Logger: s.d.log})
}

// serveMCP serves MCP over streamable HTTP, next to the rest of the API.
func (s *services) serveMCP() httpapi.Service {
	route := func(method string, o *httpapi.Operation) httpapi.Route {
		return httpapi.Route{
			Method: method, Pattern: agentapi.PathMCP, Effect: httpapi.Reads, Handle: s.mcp, Failed: "the request was not served",
			MaxBody: mcpserver.MaxMessage, BodyTimeout: mcpBody, Operation: o,
		}
	}
	gone := httpapi.Answer{Code: http.StatusNotFound, Text: "There is no such session any more: begin one.", Body: httpapi.Content("text/plain")}
	return httpapi.Service{
		About: httpapi.AgentAbout("chats", "The workspace for clients that speak MCP."),
		Routes: []httpapi.Route{
			route(http.MethodPost, &httpapi.Operation{
				ID: "sendMCP", Summary: "Send a message of MCP", Body: map[string]any{},
				Text: "Streamable HTTP, of the revisions up to 2025-11-25 with sessions and of 2026-07-28 without: tools, skills, instructions, as `agent mcp serve` has them. A message is JSON-RPC 2.0. The token decides what is offered and what is done; without one, over the Unix socket, that is what reads. A message has at most 16 MiB, and is accepted by who takes `application/json` and `text/event-stream`. Over TCP it follows `services.tcp`.",
				Params: struct {
					mcpParams
					agentapi.CallerParams
				}{},
				Example: json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`),
				Answers: []httpapi.Answer{
					httpapi.OK("The answer, or a stream that ends with it.", httpapi.Contents{map[string]any{}, httpapi.Content("text/event-stream")}),
					{Code: http.StatusAccepted, Text: "It was a notification."},
					gone,
					httpapi.Refuse(http.StatusTooManyRequests, "As many tokens are in use there as can be, 16.", ""),
				},
				Errors: []int{http.StatusUnauthorized},
			}),
			route(http.MethodGet, &httpapi.Operation{
				ID: "streamMCP", Summary: "Hear of what changes, in a session of MCP", Params: mcpParams{},
				Answers: []httpapi.Answer{httpapi.OK("Events, until the client goes or the session ends.", httpapi.Content("text/event-stream")), gone},
				Errors:  []int{http.StatusUnauthorized},
			}),
			route(http.MethodDelete, &httpapi.Operation{
				ID: "endMCP", Summary: "End a session of MCP", Params: mcpParams{},
				Answers: []httpapi.Answer{{Code: http.StatusNoContent, Text: "It has ended."}, gone},
				Errors:  []int{http.StatusUnauthorized},
			}),
		},
	}
}

// mcpParams are the headers of MCP's HTTP transport.
type mcpParams struct {
	// The protocol revision. From 2026-07-28 on there are no sessions.
	Revision string `header:"Mcp-Protocol-Version"`
	// The session id, up to 2025-11-25. The answer to initialize has it.
	Session string `header:"Mcp-Session-Id"`
}

// mcp serves a message. The endpoint only checks its form; each thing it asks for goes
// through the routes of this API, which check the token.
func (s *services) mcp(c *httpapi.Call) error {
	if c.Method == http.MethodHead {
		return &problem.Error{Code: http.StatusMethodNotAllowed, Message: c.Failed(), Detail: "use POST, GET or DELETE"}
	}
	c.Stream()
	err := s.endpoint.Serve(&partWriter{c.Writer()}, c.Request, httpapi.BearerToken(c.Request), s.offerOf(access.From(c.Context())))
	if errors.Is(err, mcpserver.ErrFull) {
		return &problem.Error{Code: http.StatusTooManyRequests, Message: c.Failed(), Detail: err.Error()}
	}
	return err
}

// offerOf returns the tools that a grant allows. Without a grant these are the ones that
// read.
func (s *services) offerOf(g *access.Grant) (o tools.Offer) {
	if g == nil {
		return o
	}
	o.Plan = g.Plan != ""
	for _, scope := range g.Scopes {
		if scope != access.ScopeDesktop || s.config.Load().Desktop {
			o.Scopes = append(o.Scopes, string(scope))
		}
	}
	return o
}

// partWriter sets a deadline for each part of a streamed answer, so that a client that
// doesn't read can't block the writer forever.
type partWriter struct{ http.ResponseWriter }

// deadline sets the write deadline; zero means none. It does nothing without a connection,
// as in tests.
func (w *partWriter) deadline(t time.Time) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(t)
}

// Write implements io.Writer.
func (w *partWriter) Write(p []byte) (int, error) {
	w.deadline(time.Now().Add(mcpWrite))
	return w.ResponseWriter.Write(p)
}

// FlushError is for http.ResponseController. It removes the deadline until the next part.
func (w *partWriter) FlushError() error {
	w.deadline(time.Now().Add(mcpWrite))
	defer w.deadline(time.Time{})
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (w *partWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
