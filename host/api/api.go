// Package api is the agent's local HTTP API, and the client that the agent's
// own commands use.
//
// It serves a Unix socket of mode 0600 in a directory of mode 0700: who can
// open it is the user. Answers are JSON; errors are {"message","detail"}.
//
// # Guarantees
//
//   - Slow clients are cut off: headers within 5 s, a whole exchange within 60 s.
//   - A socket that another process serves is never taken over.
//
// # Concurrency
//
// A Server and a Client may be used by any number of goroutines.
package api

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"waymark/host/push"
	"waymark/host/snapshot"
)

// Status answers GET /api/v0/status.
type Status struct {
	PID int `json:"pid"`
	// AgentVersion is the version of the program.
	AgentVersion  string    `json:"agent_version"`
	StartedAt     time.Time `json:"started_at"`
	UptimeSeconds float64   `json:"uptime_seconds"`
	Roots         []string  `json:"roots"`
	// Version is the newest snapshot's; 0 when there is none yet.
	Version   uint64 `json:"version"`
	Resources int    `json:"resources"`
	// Push is null when nothing is pushed.
	Push *push.Status `json:"push"`
	// Hub is the base URL of the embedded hub; empty when there is none.
	Hub     string            `json:"hub"`
	Watch   string            `json:"watch"`
	Plugins []snapshot.Plugin `json:"plugins"`
}

// Backend is what the API shows.
type Backend interface {
	Status() Status
	Current() *snapshot.Snapshot
}

// Error is the body of every answer that isn't a success.
type Error struct {
	Message string `json:"message"`
	Detail  string `json:"detail"`
}

// Error implements error.
func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Message
	}
	return e.Message + ": " + e.Detail
}

// Handler serves the API.
func Handler(b Backend, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	reply := func(w http.ResponseWriter, code int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		if err := json.NewEncoder(w).Encode(v); err != nil {
			log.Debug("answer not sent", slog.Any("error", err))
		}
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /api/v0/status", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, b.Status())
	})
	mux.HandleFunc("GET /api/v0/context/snapshot", func(w http.ResponseWriter, r *http.Request) {
		s := b.Current()
		etag := `"` + strconv.FormatUint(s.Version, 10) + `"`
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		reply(w, http.StatusOK, s)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		reply(w, http.StatusNotFound, Error{Message: "no such route", Detail: r.Method + " " + r.URL.Path})
	})
	return mux
}
