package transport

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"waymark/wire"
)

// refusal is the form in which Coder's server refuses an agent.
type refusal struct {
	Message     string       `json:"message"`
	Detail      string       `json:"detail,omitempty"`
	Validations []validation `json:"validations,omitempty"`
}

type validation struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

// ServeHTTP is Coder's endpoint for agents: GET with the token in a header and the API
// version in the query, upgraded to a WebSocket. It ignores the query's role, which a peer
// chooses freely.
func (t *Transport) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	owner, err := t.admitRequest(r)
	switch {
	case errors.Is(err, errThrottled):
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, refusal{Message: "Too many requests.", Detail: "try again later"})
		return
	case errors.Is(err, ErrUnauthorized):
		refuse(w, http.StatusUnauthorized, refusal{
			Message: "Agent token is invalid.",
			Detail:  "send an agent's token as " + wire.TokenHeader + "; hub token create --role agent makes one",
		})
		return
	case err != nil:
		refuseInternal(w)
		return
	}
	version := r.URL.Query().Get("version")
	if version == "" {
		version = "2.0" // the version of agents that don't send one
	}
	if err := checkVersion(version); err != nil {
		t.log.Warn("agent refused", slog.String("agent", owner.agentID), slog.Any("error", err))
		refuse(w, http.StatusBadRequest, refusal{
			Message:     "Unknown or unsupported API version",
			Validations: []validation{{Field: "version", Detail: err.Error()}},
		})
		return
	}
	// Only behind the token: others must not take turns of agents.
	place, again := t.admission.enter(r.Context())
	if place == nil {
		w.Header().Set("Retry-After", strconv.Itoa(again))
		refuse(w, http.StatusServiceUnavailable, refusal{Message: "The hub has more agents to let in than it can.", Detail: "try again later"})
		return
	}
	defer place.leave(false)
	t.upgrade(w, r, owner, place)
}

// admitRequest returns the client of a request if it may connect now.
func (t *Transport) admitRequest(r *http.Request) (*client, error) {
	peer, err := t.services.Authenticate(r.Context(), r.Header.Get(wire.TokenHeader))
	if err != nil {
		return nil, err
	}
	owner := t.conns.client(peer)
	return owner, t.throttle(r.Context(), owner)
}

func refuse(w http.ResponseWriter, status int, answer refusal) {
	data, err := json.Marshal(answer)
	if err != nil { // strings always marshal
		data = []byte(`{"message":"Internal error."}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
}

func refuseInternal(w http.ResponseWriter) {
	refuse(w, http.StatusInternalServerError, refusal{Message: "Internal error.", Detail: "see the hub's log"})
}

func refuseConnection(w http.ResponseWriter, err error) {
	w.Header().Set("Retry-After", "5")
	refuse(w, http.StatusServiceUnavailable, refusal{Message: "The hub takes no more connections.", Detail: err.Error()})
}

// checkVersion reports whether a hub supports the version of the Agent API, with the errors
// of Coder's server, which agents understand. There is no negotiation: a refused client
// asks for another version.
func checkVersion(version string) error {
	major, minor, err := parseVersion(version)
	switch {
	case err != nil:
		return err
	case major > wire.APIMajor:
		return fmt.Errorf("server is at version %d.%d, behind requested major version %s", wire.APIMajor, wire.APIMinor, version)
	case major < wire.APIMajor:
		return fmt.Errorf("version %s is no longer supported", version)
	case minor > wire.APIMinor:
		return fmt.Errorf("server is at version %d.%d, behind requested minor version %s", wire.APIMajor, wire.APIMinor, version)
	}
	return nil
}

func parseVersion(version string) (major, minor int, err error) {
	first, second, found := strings.Cut(version, ".")
	if !found || strings.Contains(second, ".") {
		return 0, 0, fmt.Errorf("invalid version string: %s", version)
	}
	if major, err = strconv.Atoi(first); err != nil {
		return 0, 0, fmt.Errorf("invalid major version: %s", version)
	}
	if minor, err = strconv.Atoi(second); err != nil {
		return 0, 0, fmt.Errorf("invalid minor version: %s", version)
	}
	return major, minor, nil
}
