package server

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"waymark/hub/api"
	"waymark/hub/store"
	"waymark/internal/httpapi/problem"
)

func (a *API) createPin(c *call) error {
	var wanted api.NewPin
	if err := c.Decode(&wanted); err != nil {
		return err
	}
	if wanted.AgentID == "" {
		return &problem.Error{Code: http.StatusBadRequest, Message: "the pin was not made", Detail: "agent_id is missing: name the agent to pin"}
	}
	pin, err := c.store.CreatePin(c.Context(), wanted.AgentID, wanted.Name)
	if err != nil {
		return err
	}
	a.opts.Pinned(c.Context(), &pin)
	c.Writer().Header().Set("Location", api.Root+"/pins/"+pin.ID)
	return c.JSON(http.StatusCreated, toPin(&pin))
}

func toPin(p *store.Pin) api.Pin {
	return api.Pin{
		ID: p.ID, AgentID: p.AgentID, Name: p.Name, Revision: p.Revision, AggregateHash: p.AggregateHash,
		CreatedAt: p.CreatedAt, PinnedAt: orNull(p.PinnedAt), DriftedAt: orNull(p.DriftedAt),
		DriftRevision: p.DriftRevision, AgentGone: p.AgentGone,
	}
}

func (a *API) listPins(c *call) error {
	agentID, err := c.Text("agent_id")
	if err != nil {
		return err
	}
	pins, err := c.store.Pins(c.Context(), agentID)
	if err != nil {
		return err
	}
	list := make([]api.Pin, len(pins))
	for i := range pins {
		list[i] = toPin(&pins[i])
	}
	return c.JSON(http.StatusOK, list)
}

func (a *API) getPin(c *call) error {
	pin, err := c.store.Pin(c.Context(), c.Arg("id"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, toPin(&pin))
}

func (a *API) refreshPin(c *call) error {
	pin, err := c.store.RefreshPin(c.Context(), c.Arg("id"))
	if err != nil {
		return err
	}
	a.opts.Pinned(c.Context(), &pin)
	return c.JSON(http.StatusOK, toPin(&pin))
}

func (a *API) deletePin(c *call) error {
	if err := c.store.DeletePin(c.Context(), c.Arg("id")); err != nil {
		return err
	}
	return c.NoContent()
}

// getPinned answers with the pinned snapshot. The ETag depends on the pin, because its live
// rows change without the revision.
func (a *API) getPinned(c *call) error {
	want, err := c.prompt()
	if err != nil {
		return err
	}
	if want != nil {
		end, err := a.beginRendering(c.Context())
		if err != nil {
			return err
		}
		defer end()
	}
	pin, stored, err := c.store.PinSnapshot(c.Context(), c.Arg("id"), want == nil)
	var missing *store.NotFoundError
	if errors.As(err, &missing) && missing.What == "snapshot" {
		return &problem.Error{Code: http.StatusNotFound, Message: "not found", Detail: "the pin is empty: " + missing.Error()}
	}
	if err != nil {
		return err
	}
	if c.Known(fmt.Sprint(stored.Revision, "-", strconv.FormatInt(pin.Changed, 10))) {
		return nil
	}
	return a.sendSnapshot(c, pin.AgentID, &stored, want, false)
}

func (a *API) getPinnedResource(c *call) error {
	body, err := c.store.PinBody(c.Context(), c.Arg("id"), c.Arg("rid"))
	if err != nil {
		return err
	}
	c.SendPayload(body)
	return nil
}
