package hub

import (
	"net/http"
	"strings"
	"time"

	"waymark/hub/api"
	"waymark/wire"
)

// RequestObserved describes an answered request, without who asked for what.
type RequestObserved struct {
	// Route is "agents" for the agents' endpoint, "events", "api" for the rest of the API
	// for readers, "probe" or "page".
	Route string
	Code  int
	// Waited says that the request asked to wait for news.
	Waited bool
	// Duration is until the answer was written. For an agent's connection and a stream of
	// events it is the lifetime.
	Duration time.Duration
}

func routeOf(path string) string {
	switch {
	case path == wire.EndpointPath:
		return "agents"
	case path == api.Root+"/events":
		return "events"
	case strings.HasPrefix(path, api.Root+"/"):
		return "api"
	case path == "/healthz", path == "/readyz":
		return "probe"
	}
	return "page"
}

// observed reports each answer to ListenOptions.ObserveRequest.
func (s *Server) observed(next http.Handler) http.Handler {
	if s.observe == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin, answer := time.Now(), &codeWriter{inner: w, code: http.StatusOK}
		defer func() {
			s.observe(RequestObserved{Route: routeOf(r.URL.Path), Code: answer.code, Waited: r.URL.Query().Has("wait"), Duration: time.Since(begin)})
		}()
		next.ServeHTTP(answer, r)
	})
}

// codeWriter records the status of an answer. Unwrap gives access to the rest, for
// http.ResponseController and for WebSockets, which hijack the connection.
type codeWriter struct {
	inner http.ResponseWriter
	code  int
}

func (w *codeWriter) Header() http.Header            { return w.inner.Header() }
func (w *codeWriter) Unwrap() http.ResponseWriter    { return w.inner }
func (w *codeWriter) Write(data []byte) (int, error) { return w.inner.Write(data) }

// WriteHeader implements http.ResponseWriter.
func (w *codeWriter) WriteHeader(code int) {
	w.code = code
	w.inner.WriteHeader(code)
}
