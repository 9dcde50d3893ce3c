package consumer

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Root is the path below which everything is.
const Root = "/api/v0"

// call is one request, taken apart.
type call struct {
	*http.Request
	w      http.ResponseWriter
	reader Reader
	// store is what the reader may see.
	store view
	// args are the decoded parts of the path that its route has in braces.
	args  []string
	query url.Values
}

// handle answers one request, or says why not.
type handle func(c *call) error

// route is one path, in the words of OpenAPI. {rid} is all the rest of the
// path, since a resource's id holds slashes, and may stand there as it is or
// URL-encoded; all else in braces is one part of it.
type route struct {
	path    string
	methods map[string]handle
}

// Routes are matched here rather than by http.ServeMux, which redirects a path
// with "//" or "..", in HTML and forgetting the method.
func (a *API) routes() []route {
	get := func(path string, f handle) route { return route{path, map[string]handle{http.MethodGet: f}} }
	return []route{
		get("/openapi.json", a.document),
		get("/agents", a.listAgents),
		get("/agents/{id}", a.showAgent),
		get("/agents/{id}/context", a.showContext),
		get("/agents/{id}/context/resources/{rid}", a.showResource),
		get("/agents/{id}/history", a.showHistory),
		get("/agents/{id}/diff", a.showDiff),
		{"/pins", map[string]handle{http.MethodGet: a.listPins, http.MethodPost: a.createPin}},
		{"/pins/{id}", map[string]handle{http.MethodGet: a.showPin, http.MethodDelete: a.deletePin}},
		get("/pins/{id}/context", a.showPinned),
		get("/pins/{id}/context/resources/{rid}", a.showPinnedResource),
		get("/pins/{id}/diff", a.showPinDiff),
		{"/pins/{id}/refresh", map[string]handle{http.MethodPost: a.refreshPin}},
		get("/events", a.follow),
	}
}

// match takes an escaped path apart. Parts are decoded exactly once.
func (rt *route) match(escaped string) (args []string, ok bool) {
	rest := escaped
	for part := range strings.SplitSeq(rt.path[1:], "/") {
		if rest, ok = strings.CutPrefix(rest, "/"); !ok {
			return nil, false
		}
		own := rest
		if i := strings.IndexByte(rest, '/'); i >= 0 && part != "{rid}" {
			own = rest[:i]
		}
		rest = rest[len(own):]
		if part[0] != '{' {
			if own != part {
				return nil, false
			}
			continue
		}
		arg, err := url.PathUnescape(own)
		if err != nil || arg == "" {
			return nil, false
		}
		args = append(args, arg)
	}
	return args, rest == ""
}

// dispatch answers one request.
func (a *API) dispatch(w http.ResponseWriter, r *http.Request, reader Reader) {
	path, _ := strings.CutPrefix(r.URL.EscapedPath(), Root)
	for i := range a.table {
		rt := &a.table[i]
		args, ok := rt.match(path)
		if !ok {
			continue
		}
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet // net/http drops the body
		}
		f, ok := rt.methods[method]
		if !ok {
			w.Header().Set("Allow", rt.allow())
			a.refuse(w, r, &apiError{http.StatusMethodNotAllowed, "method not allowed", Root + rt.path + " knows " + rt.allow()})
			return
		}
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			a.refuse(w, r, badQuery(err.Error()))
			return
		}
		if err := f(&call{Request: r, w: w, reader: reader, store: view{a.store, &reader.Token}, args: args, query: query}); err != nil {
			a.refuse(w, r, err)
		}
		return
	}
	a.refuse(w, r, &apiError{http.StatusNotFound, "no such page", "see GET " + Root + "/openapi.json for what there is"})
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
