package hub

import (
	"context"
	"errors"
	"net/http"

	"waymark/hub/api"
	"waymark/internal/clientview"
	"waymark/internal/errtext"
	"waymark/internal/httpapi/problem"
	"waymark/internal/text"
	"waymark/wire"
	"waymark/wire/reverse"
)

// clientContext asks an agent what a client would see that is started where it works.
// What it says is taken as its word, within bounds.
func (h *Hub) clientContext(ctx context.Context, agentID, client string) (*api.ClientContext, error) {
	refuse := func(code int, detail string) error {
		return &problem.Error{Code: code, Message: "the agent was not asked what " + text.Cut(text.Printable(client), 64) + " sees", Detail: detail}
	}
	body, err := h.ask(ctx, agentID, reverse.KindClientContext, clientview.EncodeRequest(clientview.Request{Client: client}), 0)
	var no *reverse.Error
	switch {
	case err == nil:
	case errors.As(err, &no) && no.Code == wire.CodeBusy:
		return nil, refuse(http.StatusTooManyRequests, no.Text)
	case errors.As(err, &no):
		return nil, refuse(askedCode(no.Code), "the agent says: "+text.Printable(no.Text))
	case errors.Is(err, errAway), errors.Is(err, errLost), errors.Is(err, errNotThere):
		return nil, refuse(http.StatusServiceUnavailable, errtext.Of(err))
	case errors.Is(err, errNoAddress), errors.Is(err, errNoChannel), errors.Is(err, errTooOld):
		return nil, refuse(http.StatusConflict, errtext.Of(err))
	case errors.Is(err, errAnswer):
		return nil, refuse(http.StatusBadGateway, "its answer can't be understood")
	case errors.Is(err, context.DeadlineExceeded):
		return nil, refuse(http.StatusGatewayTimeout, "it hasn't answered in time")
	default:
		return nil, err // that of ctx
	}
	answer, err := clientview.Decode(body)
	if err != nil || answer.Client != client {
		return nil, refuse(http.StatusBadGateway, "its answer can't be understood")
	}
	return answer, nil
}

// askedCode is the status for an agent's no.
func askedCode(code uint64) int {
	switch code {
	case reverse.CodeInvalid:
		return http.StatusBadRequest
	case reverse.CodeDenied, wire.CodeUnimplemented:
		return http.StatusConflict
	case reverse.CodeUnavailable:
		return http.StatusServiceUnavailable
	case reverse.CodeDeadline:
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}
