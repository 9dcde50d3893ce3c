package hub

import (
	"net/http"
	"strings"
	"time"

	"waymark/hub/consumer"
	"waymark/wire"
)

// RequestObserved is what ListenOptions.ObserveRequest is told. It says
// nothing about who asked, and for what.
type RequestObserved struct {
	// Route is "agents" for where agents connect, "events", "api" for the rest
	// of what readers get, "probe" or "page".
	Route string
	Code  int
	// Waited says that the request asked to wait for news.
	Waited bool
	// Duration is until the answer was written; for a connection of an agent
	// and a stream of events that is its life.
	Duration time.Duration
}

func routeOf(path string) string {
	switch {
	case path == wire.EndpointPath:
		return "agents"
	case path == consumer.Root+"/events":
		return "events"
	case strings.HasPrefix(path, consumer.Root+"/"):
		return "api"
	case path == "/healthz", path == "/readyz":
		return "probe"
	}
	return "page"
}

// observed tells whoever observes of each answer.
func (s *Server) observed(next http.Handler) http.Handler {
	if s.observe == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin, answer := time.Now(), &answered{inner: w, code: http.StatusOK}
		defer func() {
			s.observe(RequestObserved{Route: routeOf(r.URL.Path), Code: answer.code, Waited: r.URL.Query().Has("wait"), Duration: time.Since(begin)})
		}()
		next.ServeHTTP(answer, r)
	})
}

// answered notes the code of an answer. What else the connection can do is
// found through Unwrap, as http.ResponseController does; WebSockets take the
// connection over that way, too.
type answered struct {
	inner http.ResponseWriter
	code  int
}

func (a *answered) Header() http.Header            { return a.inner.Header() }
func (a *answered) Unwrap() http.ResponseWriter    { return a.inner }
func (a *answered) Write(data []byte) (int, error) { return a.inner.Write(data) }

// WriteHeader implements http.ResponseWriter.
func (a *answered) WriteHeader(code int) {
	a.code = code
	a.inner.WriteHeader(code)
}
