package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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
		if r.Method == http.MethodPost {
			if w, r = inSession(w, r); w == nil {
				return
			}
		}
		sessions.ServeHTTP(w, r)
	})
	return http.NewCrossOriginProtection().Handler(either)
}

// inSession refuses a message without a session, unless it begins one: the SDK would begin
// one with any. It returns the writer for the SDK's answer, which for an unknown method isn't
// that of JSON-RPC; nil if everything is answered.
func inSession(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxMessage))
	if err != nil {
		http.Error(w, fmt.Sprintf("the message can't be read, or has more than %d bytes", MaxMessage), http.StatusRequestEntityTooLarge)
		return nil, nil
	}
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	known := json.Unmarshal(body, &message) == nil
	if r.Header.Get("Mcp-Session-Id") == "" && message.Method != "initialize" {
		writeError(w, http.StatusBadRequest, message.ID, jsonrpc.CodeInvalidRequest, "a message in a session has the header Mcp-Session-Id, which initialize answers with")
		return nil, nil
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !known {
		return w, r
	}
	return &unhandled{ResponseWriter: w, id: message.ID, method: message.Method}, r
}

// writeError answers with an error of JSON-RPC.
func writeError(w http.ResponseWriter, status int, id json.RawMessage, code int64, text string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text}})
}

// unhandled replaces the SDK's answer to an unknown method, 400 and text, by JSON-RPC's: an
// error for a request, and nothing for a notification.
type unhandled struct {
	http.ResponseWriter
	id     json.RawMessage
	method string
	status int // 400, until it is known what the SDK writes with it
}

func (u *unhandled) Unwrap() http.ResponseWriter { return u.ResponseWriter }

func (u *unhandled) WriteHeader(status int) {
	if u.status = status; status != http.StatusBadRequest {
		u.ResponseWriter.WriteHeader(status)
	}
}

func (u *unhandled) Write(p []byte) (int, error) {
	switch {
	case u.status != http.StatusBadRequest:
		return u.ResponseWriter.Write(p)
	case !strings.Contains(string(p), "not handled"):
		u.ResponseWriter.WriteHeader(u.status)
	case u.id == nil:
		u.ResponseWriter.WriteHeader(http.StatusAccepted)
		return len(p), nil
	default:
		writeError(u.ResponseWriter, http.StatusOK, u.id, jsonrpc.CodeMethodNotFound, "there is no method "+line(u.method, 100))
		return len(p), nil
	}
	u.status = 0
	return u.ResponseWriter.Write(p)
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
