package hub

import (
	"net/http"
	"strconv"
	"time"

	"waymark/host/snapshot"
	"waymark/hub/store"
)

// agentJSON is one agent in the list. UpdatedAt is null until it has pushed.
type agentJSON struct {
	ID            string        `json:"id"`
	Name          string        `json:"name"`
	Connected     bool          `json:"connected"`
	Version       uint64        `json:"version"`
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	Resources     int           `json:"resources"`
	UpdatedAt     *time.Time    `json:"updated_at"`
}

func (h *Hub) serveAgents(w http.ResponseWriter, r *http.Request) {
	agents, err := h.store.Agents(r.Context())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	list := make([]agentJSON, 0, len(agents))
	for _, a := range agents {
		j := agentJSON{
			ID: a.ID, Name: a.Name, Connected: h.Connected(a.ID),
			Version: a.Version, AggregateHash: a.AggregateHash, Resources: a.Resources,
		}
		if !a.UpdatedAt.IsZero() {
			j.UpdatedAt = &a.UpdatedAt
		}
		list = append(list, j)
	}
	writeJSON(w, http.StatusOK, list)
}

// contextJSON is a snapshot as the agent itself shows it, and two fields.
type contextJSON struct {
	snapshot.Snapshot
	ReceivedAt time.Time `json:"received_at"`
	Revision   int64     `json:"revision"`
}

func (h *Hub) serveContext(w http.ResponseWriter, r *http.Request) {
	stored, err := h.store.Snapshot(r.Context(), store.Query{AgentID: r.PathValue("id"), WithoutPayloads: true})
	if err != nil {
		h.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, contextJSON{stored.Snapshot, stored.ReceivedAt, stored.Revision})
}

func (h *Hub) serveResource(w http.ResponseWriter, r *http.Request) {
	body, err := h.store.ResourceBody(r.Context(), store.Query{AgentID: r.PathValue("id")}, r.PathValue("resource"))
	if err != nil {
		h.fail(w, r, err)
		return
	}
	// Whatever it is, a browser must take it for plain text.
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) //nolint:gosec // never HTML: see the headers above
}
