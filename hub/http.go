package hub

import (
	"context"
	_ "embed" // the document
	"net/http"
	"net/netip"
	"strings"

	"waymark/hub/api"
	"waymark/hub/calls"
	"waymark/hub/page"
	"waymark/hub/server"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/wire"
)

// Handler returns everything that a hub serves over HTTP:
//
//	GET /healthz                        open: 200 "ok"
//	GET /api/v2/workspaceagents/me/rpc  where agents connect
//	/api/v0/…                           for readers: see package server
//	/internal/v0/…                      for other hubs: see Options.Advertise
//	/, /login, /logout, /assets/        the page: see package page
//
// The endpoint for agents is a WebSocket that requires an agent's token: see package push
// and Coder's workspaceagents API. The API for readers requires a reader's token, and other
// hubs authenticate with what this hub has published. Everything else but the first
// requires a Host header that names this hub: the address that was connected to, localhost
// for a loopback address, or one of Options.AllowHosts. Otherwise any web page could make
// its own name resolve to 127.0.0.1 and access the hub from the user's browser.
//
// Errors are {"message","detail"}; those for agents have the form of Coder's server.
func (h *Hub) Handler() http.Handler {
	h.start() // readers need it even if no agent ever connects
	root := http.NewServeMux()
	root.HandleFunc("GET /healthz", serveHealth)
	root.HandleFunc("/healthz", methodNotAllowed)
	root.Handle("GET "+wire.EndpointPath, h.checkHost(h.transport))
	root.HandleFunc(wire.EndpointPath, methodNotAllowed)
	for _, path := range page.Paths() {
		root.Handle(path, h.checkHost(h.page))
	}
	readers := h.checkHost(h.consumer)
	enroll := h.checkHost(h.newEnroll())
	replicas := h.calls.Replicas() // any Host is allowed, because no browser has the secret
	root.Handle("/", readers)
	others := http.MaxBytesHandler(root, maxBody) // the APIs limit their bodies by route
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpapi.Secure(w.Header())
		// A ServeMux would redirect ids of resources that contain "//" and "..".
		if r.URL.Path == enrollPath {
			enroll.ServeHTTP(w, r)
			return
		}
		if strings.HasPrefix(r.URL.Path, calls.ReplicaRoot) {
			replicas.ServeHTTP(w, r)
			return
		}
		if strings.HasPrefix(r.URL.Path, api.Root+"/") {
			readers.ServeHTTP(w, r)
			return
		}
		others.ServeHTTP(w, r)
	})
}

//go:generate go test -run ^TestDocument$ -count=1 . -update-openapi

//go:embed openapi.json
var document []byte

// newConsumer makes the API for readers. Its document also describes enrollment.
func (h *Hub) newConsumer(limits server.Limits, backup func(context.Context, string) error) *server.API {
	return server.New(server.Options{
		Store: h.store, Lookup: h.lookup, Session: h.lookupSession, Services: []httpapi.Service{h.loginService(), h.newChat().Service()},
		ClientContext: h.calls.ClientContext, Coverage: h.calls.Coverage, Pinned: h.calls.KeepManifests, Limits: limits, Backup: backup, Logger: h.log, Now: h.now, Document: document,
	})
}

// checkHost refuses requests for other host names; see Handler. Requests without a
// connection (in a test, or behind another handler) count as sent to a loopback address.
func (h *Hub) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local, ok := httpapi.LocalAddr(r)
		if !ok {
			local = netip.IPv6Loopback()
		}
		if !h.hosts.Allow(r.Host, local) {
			refuse(w, http.StatusMisdirectedRequest, "this hub is not known under that host name",
				"use the address it listens on, or start it with --allow-host NAME")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func serveHealth(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n"))
}

func methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Allow", "GET, HEAD")
	refuse(w, http.StatusMethodNotAllowed, "method not allowed", "this page knows GET only")
}

// refuse answers with an error in the form of the API for readers.
func refuse(w http.ResponseWriter, code int, message, detail string) {
	body, err := httpapi.Encode(&problem.Error{Message: message, Detail: detail})
	if err != nil { // two strings always marshal
		body = []byte(`{"message":"internal error","detail":""}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(body)
}
