package consumer

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"waymark/hub/store"
)

// maxBody bounds a request's body: two names.
const maxBody = 4 << 10

// newPin is what creates a pin.
type newPin struct {
	AgentID string `json:"agent_id"`
	Name    string `json:"name"`
}

func (a *API) createPin(c *call) error {
	var wanted newPin
	if err := decode(c, &wanted); err != nil {
		return err
	}
	if wanted.AgentID == "" {
		return &apiError{http.StatusBadRequest, "the pin was not made", "agent_id is missing: name the agent to pin"}
	}
	pin, err := c.store.CreatePin(c.Context(), wanted.AgentID, wanted.Name)
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", Root+"/pins/"+pin.ID)
	return answer(c.w, http.StatusCreated, toPin(&pin))
}

// decode reads a body into v. It is strict: an unknown key is nearly always a
// known one that somebody misspelled. encoding/json would also take repeated
// keys, keys in the wrong case, and bytes that aren't UTF-8, which it changes.
func decode(c *call, v any) error {
	if media, _, err := mime.ParseMediaType(c.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return &apiError{http.StatusBadRequest, "a JSON body is needed", "send it with Content-Type: application/json"}
	}
	err := json.UnmarshalRead(http.MaxBytesReader(c.w, c.Body, maxBody), v, json.RejectUnknownMembers(true))
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return &apiError{http.StatusRequestEntityTooLarge, "the body is too large", fmt.Sprintf("at most %d bytes are read", maxBody)}
	}
	return &apiError{http.StatusBadRequest, "the body is not what it should be", err.Error()}
}

func (a *API) listPins(c *call) error {
	agentID, err := c.text("agent_id")
	if err != nil {
		return err
	}
	pins, err := c.store.Pins(c.Context(), agentID)
	if err != nil {
		return err
	}
	list := make([]pinJSON, len(pins))
	for i := range pins {
		list[i] = toPin(&pins[i])
	}
	return answer(c.w, http.StatusOK, list)
}

func (a *API) showPin(c *call) error {
	pin, err := c.store.Pin(c.Context(), c.args[0])
	if err != nil {
		return err
	}
	return answer(c.w, http.StatusOK, toPin(&pin))
}

func (a *API) refreshPin(c *call) error {
	pin, err := c.store.RefreshPin(c.Context(), c.args[0])
	if err != nil {
		return err
	}
	return answer(c.w, http.StatusOK, toPin(&pin))
}

func (a *API) deletePin(c *call) error {
	if err := c.store.DeletePin(c.Context(), c.args[0]); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// showPinned answers with what is pinned. The ETag changes with the pin, as
// what follows its agent live changes without the revision.
func (a *API) showPinned(c *call) error {
	markdown, err := c.markdown()
	if err != nil {
		return err
	}
	if markdown {
		release, err := a.enterHeavy(c.Context())
		if err != nil {
			return err
		}
		defer release()
	}
	pin, stored, err := c.store.PinSnapshot(c.Context(), c.args[0], !markdown)
	var missing *store.NotFoundError
	if errors.As(err, &missing) && missing.What == "snapshot" {
		return &apiError{http.StatusNotFound, "not found", "the pin is empty: " + missing.Error()}
	}
	if err != nil {
		return err
	}
	if isKnown(c.w, c.Request, fmt.Sprint(stored.Revision, "-", strconv.FormatInt(pin.Changed, 10))) {
		return nil
	}
	return a.sendSnapshot(c, pin.AgentID, &stored, markdown)
}

func (a *API) showPinnedResource(c *call) error {
	body, err := c.store.PinBody(c.Context(), c.args[0], c.args[1])
	if err != nil {
		return err
	}
	sendBody(c.w, body)
	return nil
}
