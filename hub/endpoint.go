package hub

import (
	"errors"
	"log/slog"
	"net/http"

	"waymark/wire"
)

// refusal is how Coder's server says no to an agent.
type refusal struct {
	Message     string       `json:"message"`
	Detail      string       `json:"detail,omitempty"`
	Validations []validation `json:"validations,omitempty"`
}

type validation struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

// serveEndpoint is the endpoint that Coder's server has for agents: GET with
// the token in a header and the version of the API in the query, upgraded to
// a WebSocket. A role says only what the peer calls itself.
func (h *Hub) serveEndpoint(w http.ResponseWriter, r *http.Request) {
	who, err := h.loginRequest(r)
	switch {
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "1")
		writeJSON(w, http.StatusTooManyRequests, refusal{Message: "Too many requests.", Detail: "try again later"})
		return
	case errors.Is(err, errUnauthorized):
		writeJSON(w, http.StatusUnauthorized, refusal{
			Message: "Agent token is invalid.",
			Detail:  "send an agent's token as " + wire.TokenHeader + "; hub token create --role agent makes one",
		})
		return
	case err != nil:
		writeJSON(w, http.StatusInternalServerError, refusal{Message: "Internal error.", Detail: "see the hub's log"})
		return
	}
	version := r.URL.Query().Get("version")
	if version == "" {
		version = "2.0" // what agents spoke before they said so
	}
	if err := checkVersion(version); err != nil {
		h.log.Warn("agent refused", slog.String("agent", who.agentID), slog.Any("error", err))
		writeJSON(w, http.StatusBadRequest, refusal{
			Message:     "Unknown or unsupported API version",
			Validations: []validation{{Field: "version", Detail: err.Error()}},
		})
		return
	}
	h.upgrade(w, r, who)
}

// loginRequest says whose request it is, if that one may connect now.
func (h *Hub) loginRequest(r *http.Request) (caller, error) {
	who, err := h.agent(r.Context(), r.Header.Get(wire.TokenHeader))
	if err != nil {
		return caller{}, err
	}
	return who, h.throttle(r.Context(), who)
}
