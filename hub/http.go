package hub

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"waymark/hub/store"
	"waymark/wire"
)

// Handler returns the HTTP API:
//
//	GET /healthz                                       open: 200 "ok"
//	GET /api/v0/agents                                 all agents
//	GET /api/v0/agents/{id}/context                    an agent's snapshot
//	GET /api/v0/agents/{id}/context/resources/{rid}    a resource's payload
//	GET /api/v2/workspaceagents/me/rpc                 where agents connect
//
// The last one needs an agent's token, and is a WebSocket: see package push
// and Coder's workspaceagents API. All of /api/v0 needs a reader's token (Authorization: Bearer) and a Host
// header that names this hub: the address that was connected to, localhost
// for a loopback address, or one of Options.AllowHosts. Without the latter
// any web page could have its own name point to 127.0.0.1 and talk to the
// hub from the user's browser.
//
// {rid} is the rest of the path, so a resource's id may stand there as it is,
// or URL-encoded (which it must be where it holds ?, #, % or //). Errors are
// {"message","detail"}.
func (h *Hub) Handler() http.Handler {
	api := http.NewServeMux()
	for path, get := range map[string]http.HandlerFunc{
		"/api/v0/agents":                                      h.serveAgents,
		"/api/v0/agents/{id}/context":                         h.serveContext,
		"/api/v0/agents/{id}/context/resources/{resource...}": h.serveResource,
	} {
		api.HandleFunc("GET "+path, get)
		api.HandleFunc(path, methodNotAllowed)
	}
	api.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, "no such page", "see GET /api/v0/agents")
	})

	root := http.NewServeMux()
	root.HandleFunc("GET /healthz", serveHealth)
	root.HandleFunc("/healthz", methodNotAllowed)
	root.Handle("GET "+wire.EndpointPath, h.checkHost(http.HandlerFunc(h.serveEndpoint)))
	root.HandleFunc(wire.EndpointPath, methodNotAllowed)
	root.Handle("/", h.checkHost(h.checkReader(api)))
	return secure(root)
}

// secure sets what every answer has. Nothing here is meant to be shown as
// anything but data: payloads are text that a workspace chose.
func secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func serveHealth(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n"))
}

func methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Allow", "GET, HEAD")
	writeError(w, http.StatusMethodNotAllowed, "method not allowed", "this page knows GET only")
}

// apiError is the form of all errors of the API.
type apiError struct {
	Message string `json:"message"`
	Detail  string `json:"detail"`
}

func writeError(w http.ResponseWriter, status int, message, detail string) {
	writeJSON(w, status, apiError{Message: message, Detail: detail})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, `{"message":"internal error","detail":""}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
}

// fail answers with what the store says.
func (h *Hub) fail(w http.ResponseWriter, r *http.Request, err error) {
	var missing *store.NotFoundError
	switch {
	case errors.As(err, &missing):
		writeError(w, http.StatusNotFound, "not found", missing.Error())
	case r.Context().Err() != nil: // nobody is there to read an answer
	default:
		h.log.Error("request failed", slog.String("path", r.URL.Path), slog.Any("error", err))
		writeError(w, http.StatusInternalServerError, "internal error", "see the hub's log")
	}
}
