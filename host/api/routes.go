package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// handle answers one route. arg is the decoded end of the path, for routes
// that have one. An error is answered as *Error, if it isn't one by classify.
type handle func(w http.ResponseWriter, r *http.Request, arg string) error

// route is one path, in the words of OpenAPI: the part in braces, if there is
// one, is all the rest.
type route struct {
	path    string
	methods map[string]operation
}

// operation is one method of a route.
type operation struct {
	handle handle
	failed string // for a person: what didn't work
}

// Routes are matched here rather than by http.ServeMux. That redirects a path
// with "//" or "..", in HTML and forgetting the method, takes "%2F" (the source
// "/") for a trailing slash, and doesn't say in JSON which methods there are.
func (h *handler) routes() []route {
	get := func(f handle, failed string) map[string]operation {
		return map[string]operation{http.MethodGet: {f, failed}}
	}
	post := func(f handle, failed string) map[string]operation {
		return map[string]operation{http.MethodPost: {f, failed}}
	}
	return []route{
		{"/healthz", get(h.health, "health is not known")},
		{"/metrics", get(h.metrics, "there are no metrics")},
		{"/api/v0/openapi.json", get(h.document, "the document can't be shown")},
		{"/api/v0/status", get(h.status, "the status is not known")},
		{"/api/v0/plugins", get(h.plugins, "the plugins are not known")},
		{"/api/v0/plugins/retry", post(h.retryPlugins, "the plugins were not retried")},
		{"/api/v0/plugins/waiting", get(h.waitingPlugins, "it is not known which plugins wait")},
		{"/api/v0/plugins/approve", post(h.approvePlugin, "the plugin was not approved")},
		{"/api/v0/context/snapshot", get(h.snapshot, "there is no snapshot to show")},
		{"/api/v0/context/resync", post(h.resync, "the resync was not completed")},
		{"/api/v0/context/resources/{id}", get(h.resource, "there is nothing to read")},
		{"/api/v0/context/why", get(h.why, "the question was not answered")},
		{"/api/v0/context/root", map[string]operation{http.MethodPut: {h.putRoot, "the root was not set"}}},
		{"/api/v0/context/ready", post(h.ready, "the first snapshot was not released")},
		{sourcesPath, map[string]operation{
			http.MethodGet:  {h.listSources, "the sources are not known"},
			http.MethodPost: {h.addSource, "the source was not added"},
		}},
		{sourcesPath + "/{path}", map[string]operation{
			http.MethodGet:    {h.showSource, "the source is not known"},
			http.MethodDelete: {h.removeSource, "the source was not removed"},
		}},
	}
}

// match finds the route of a request and decodes the end of its path. ok is
// false when there is no such route.
//
// The end may hold slashes, encoded or not, percent signs and any bytes: it is
// decoded exactly once.
func match(list []route, escaped string) (rt *route, arg string, ok bool) {
	for i := range list {
		prefix, hasArg := strings.CutSuffix(list[i].path, "}")
		if !hasArg {
			if escaped == list[i].path {
				return &list[i], "", true
			}
			continue
		}
		prefix = prefix[:strings.IndexByte(prefix, '{')]
		rest, found := strings.CutPrefix(escaped, prefix)
		if !found || rest == "" {
			continue
		}
		arg, err := url.PathUnescape(rest)
		return &list[i], arg, err == nil
	}
	return nil, "", false
}

// dispatch answers one request.
func (h *handler) dispatch(w http.ResponseWriter, r *http.Request) {
	rt, arg, ok := match(h.table, r.URL.EscapedPath())
	if !ok {
		fail(w, &Error{Code: http.StatusNotFound, Message: "no such route",
			Detail: r.Method + " " + r.URL.Path + ": see GET /api/v0/openapi.json"})
		return
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet // net/http drops the body
	}
	op, ok := rt.methods[method]
	if !ok {
		allowed := rt.allow()
		w.Header().Set("Allow", allowed)
		fail(w, &Error{Code: http.StatusMethodNotAllowed, Message: "method not allowed", Detail: rt.path + " knows " + allowed})
		return
	}
	if err := sane(r, arg, op.failed); err != nil {
		fail(w, err)
		return
	}
	if err := op.handle(w, r, arg); err != nil {
		h.refuse(w, r, op.failed, err)
	}
}

// sane refuses what no route can want.
func sane(r *http.Request, arg, failed string) *Error {
	switch {
	case strings.ContainsRune(arg, 0):
		return &Error{Code: http.StatusBadRequest, Message: failed, Detail: "a path has no NUL byte"}
	case r.ContentLength != 0 && r.Method != http.MethodPost && r.Method != http.MethodPut:
		// Unread it would keep net/http from noticing that the client is gone.
		return &Error{Code: http.StatusBadRequest, Message: failed, Detail: r.Method + " takes no body"}
	}
	return nil
}

// allow lists the methods for the Allow header.
func (rt *route) allow() string {
	var list []string
	for method := range rt.methods {
		list = append(list, method)
		if method == http.MethodGet {
			list = append(list, http.MethodHead)
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
