package server

import (
	"net/http"

	"waymark/internal/httpapi/problem"
)

// maxClient limits the name of a client, in bytes.
const maxClient = 64

// getClient answers what a coding agent would see if it were started in the agent's working
// directory.
func (a *API) getClient(c *call) error {
	client := c.Arg("client")
	if len(client) > maxClient {
		return &problem.Error{Code: http.StatusBadRequest, Message: "the agent was not asked", Detail: "no client has so long a name"}
	}
	agent, err := toAsk(c, a.opts.ClientContext != nil)
	if err != nil {
		return err
	}
	view, err := a.opts.ClientContext(c.Context(), agent, client)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, view)
}

// getCoverage answers which files in places that agents read aren't used.
func (a *API) getCoverage(c *call) error {
	agent, err := toAsk(c, a.opts.Coverage != nil)
	if err != nil {
		return err
	}
	coverage, err := a.opts.Coverage(c.Context(), agent)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, coverage)
}

// toAsk returns the id of the agent that a request is about. possible says whether agents
// can be asked.
func toAsk(c *call, possible bool) (string, error) {
	agent, err := c.store.Agent(c.Context(), c.Arg("id")) // agents out of scope aren't found
	if err != nil {
		return "", err
	}
	if !possible {
		return "", &problem.Error{Code: http.StatusConflict, Message: "the agent was not asked", Detail: "this hub asks agents nothing"}
	}
	return agent.ID, nil
}
