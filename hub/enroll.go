package hub

import (
	"errors"
	"log/slog"
	"net/http"

	"waymark/hub/api"
	"waymark/hub/store"
	"waymark/hub/transport"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/internal/text"
)

// maxAgentName limits an agent's name, in bytes.
const maxAgentName = 128

// newEnroll makes the API's only route that isn't for readers: POST /api/v0/enroll, with an
// enrollment code or key instead of a token. A code can't be guessed while it is valid, and
// trying costs no more than a connection without a token.
func (h *Hub) newEnroll() http.Handler {
	return httpapi.New(httpapi.Options{
		Name: "hub", Logger: h.log, JSONType: "application/json; charset=utf-8", MaxBody: maxBody,
		Classify: func(_ *httpapi.Call, err error) *problem.Error {
			switch {
			case errors.Is(err, httpapi.ErrNoRoute):
				return &problem.Error{Code: http.StatusNotFound, Message: "no such page"}
			case errors.Is(err, errUnauthorized):
				return &problem.Error{Code: http.StatusUnauthorized, Message: "unauthorized",
					Detail: "the code or key is wrong, used up, expired or revoked; hub enroll makes another"}
			case errors.Is(err, store.ErrAgentExists):
				return &problem.Error{Code: http.StatusConflict, Message: "the agent exists already", Detail: "hub agents remove removes it; or enroll with a code for another"}
			case errors.Is(err, store.ErrInvalid):
				return &problem.Error{Code: http.StatusBadRequest, Message: "the request is not what it should be"}
			}
			return nil
		},
	}, h.enrollService())
}

func (h *Hub) enrollService() httpapi.Service {
	return httpapi.Service{About: httpapi.About{Groups: []httpapi.Group{{Name: "agents"}}}, Routes: []httpapi.Route{{
		Method: http.MethodPost, Pattern: enrollPath, Handle: h.enroll, Failed: "the agent is not enrolled", Operation: &httpapi.Operation{
			ID: "enroll", Summary: "An agent of one's own, with a code or a key",
			Text:     "Makes an agent that isn't there yet, and a token for it. Whoever enrolls makes the token (`wma_` and 32 random bytes in base64url) and sends its SHA-256 alone; to ask again with the same, when the answer was lost, is safe. A code or key opens nothing else, and a token of whatever role doesn't open this.",
			Body:     api.Enrollment{},
			Security: []string{"enrollment"},
			Answers: []httpapi.Answer{
				{Code: http.StatusCreated, Text: "It is enrolled.", Body: api.Enrolled{}},
				httpapi.Refuse(http.StatusUnauthorized, "The code or key is wrong, used up, expired or revoked.", ""),
				httpapi.Refuse(http.StatusForbidden, "The request comes from a page of another origin.", ""),
				httpapi.Refuse(http.StatusConflict, "The code is for an agent that exists already.", ""),
			},
		},
	}}}
}

const enrollPath = api.Root + "/enroll"

// enroll makes an agent and a token for it.
func (h *Hub) enroll(c *httpapi.Call) error {
	if err := http.NewCrossOriginProtection().Check(c.Request); err != nil {
		return &problem.Error{Code: http.StatusForbidden, Message: "forbidden", Detail: "the request comes from a page of another origin"}
	}
	ctx := c.Context()
	secret, err := store.ParseEnrollment(httpapi.BearerToken(c.Request))
	if err != nil {
		transport.Authenticated(ctx, false)
		return errUnauthorized
	}
	var request api.Enrollment
	if err := c.Decode(&request); err != nil {
		return err
	}
	var agent store.NewAgent
	if err := agent.Token.UnmarshalText([]byte(request.TokenSHA256)); err != nil {
		return &problem.Error{Code: http.StatusBadRequest, Message: "the request is not what it should be", Detail: "token_sha256: " + err.Error()}
	}
	agent.Name = text.Line(request.Name, maxAgentName)
	made, err := h.store.Enroll(ctx, secret, agent)
	switch {
	case errors.Is(err, store.ErrNotFound):
		transport.Authenticated(ctx, false)
		return errUnauthorized
	case err != nil:
		return err
	}
	h.log.Info("agent enrolled", slog.String("agent", made.AgentID), slog.String("token", made.ID), slog.String("enrollment", made.EnrolledBy))
	return c.JSON(http.StatusCreated, api.Enrolled{AgentID: made.AgentID, TokenID: made.ID})
}
