package consumer

import (
	"net/http"

	"waymark/internal/httpapi/problem"
)

// maxClient bounds the name of a client, in bytes.
const maxClient = 64

// getClient answers what a coding agent would see that is started where an agent works.
func (a *API) getClient(c *call) error {
	client := c.Arg("client")
	if len(client) > maxClient {
		return &problem.Error{Code: http.StatusBadRequest, Message: "the agent was not asked", Detail: "no client has so long a name"}
	}
	agent, err := c.store.Agent(c.Context(), c.Arg("id")) // what is out of scope isn't there
	if err != nil {
		return err
	}
	if a.opts.ClientContext == nil {
		return &problem.Error{Code: http.StatusConflict, Message: "the agent was not asked", Detail: "this hub asks agents nothing"}
	}
	view, err := a.opts.ClientContext(c.Context(), agent.ID, client)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, view)
}
