package hub

import (
	"encoding/json"
	"net/http"
	"strings"

	"waymark/hub/consumer"
	"waymark/wire"
)

// Handler returns everything that a hub serves over HTTP:
//
//	GET /healthz                        open: 200 "ok"
//	GET /api/v2/workspaceagents/me/rpc  where agents connect
//	/api/v0/…                           for readers: see package consumer
//	/, /login, /logout, /assets/        the page: see package page
//
// Where agents connect is a WebSocket that needs an agent's token: see package
// push and Coder's workspaceagents API. What readers get needs a reader's
// token. All but the first wants a Host header that names this hub: the
// address that was connected to, localhost for a loopback address, or one of
// Options.AllowHosts. Without that any web page could have its own name point
// to 127.0.0.1 and talk to the hub from the user's browser.
//
// Errors are {"message","detail"}, those for agents in the form of Coder's
// server.
func (h *Hub) Handler() http.Handler {
	h.presence.start() // readers ask for it, also where no agent ever connects
	root := http.NewServeMux()
	root.HandleFunc("GET /healthz", serveHealth)
	root.HandleFunc("/healthz", methodNotAllowed)
	root.Handle("GET "+wire.EndpointPath, h.checkHost(h.transport))
	root.HandleFunc(wire.EndpointPath, methodNotAllowed)
	h.addPage(root)
	readers := h.checkHost(h.consumer)
	root.Handle("/", readers)
	return secure(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The ids of resources hold "//" and "..", which a ServeMux redirects.
		if path := r.URL.Path; strings.HasPrefix(path, consumer.Root+"/") && path != loginPath {
			readers.ServeHTTP(w, r)
			return
		}
		root.ServeHTTP(w, r)
	}))
}

// loginPath is where a reader gets a link to the page.
const loginPath = consumer.Root + "/login"

// secure sets what every answer has unless its handler knows better, as the
// page does. Nothing else is meant to be shown as anything but data.
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
