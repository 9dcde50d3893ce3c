package consumer

import (
	"net/http"
	"slices"
)

func (a *API) listAgents(c *call) error {
	agents, err := c.store.Agents(c.Context())
	if err != nil {
		return err
	}
	connected := a.opts.Connected()
	slices.Sort(connected)
	list := make([]agentJSON, len(agents))
	for i := range agents {
		_, is := slices.BinarySearch(connected, agents[i].ID)
		list[i] = toAgent(&agents[i], is)
	}
	return answer(c.w, http.StatusOK, list)
}

func (a *API) showAgent(c *call) error {
	agent, err := c.store.Agent(c.Context(), c.args[0])
	if err != nil {
		return err
	}
	return answer(c.w, http.StatusOK, toAgent(&agent, slices.Contains(a.opts.Connected(), agent.ID)))
}

func (a *API) showHistory(c *call) error {
	limit, limited, err := c.number("limit")
	if err != nil {
		return err
	}
	history, err := c.store.History(c.Context(), c.args[0])
	if err != nil {
		return err
	}
	if limited && limit < int64(len(history)) {
		history = history[:limit]
	}
	list := make([]changeJSON, len(history))
	for i := range history {
		ch := &history[i]
		list[i] = changeJSON{ch.Revision, ch.Version, ch.AggregateHash, ch.At, ch.Added, ch.Changed, ch.Removed}
	}
	return answer(c.w, http.StatusOK, list)
}
