package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"waymark/hub/api"
	"waymark/internal/clientview"
	"waymark/internal/httpapi/problem"
	"waymark/internal/text"
	"waymark/wire"
	"waymark/wire/reverse"
)

const (
	// maxAsks bounds what readers ask of one agent at a time: the rest of its channel is
	// for approvals.
	maxAsks = 2
	// askTimeout is for an agent's answer: it has to look at files.
	askTimeout = 20 * time.Second
)

// clientContext asks an agent what a client would see that is started where it works.
// What it says is taken as its word, within bounds.
func (h *Hub) clientContext(ctx context.Context, agentID, client string) (*api.ClientContext, error) {
	refuse := func(code int, detail string) error {
		return &problem.Error{Code: code, Message: "the agent was not asked what " + text.Cut(text.Printable(client), 64) + " sees", Detail: detail}
	}
	one := h.channels.of(agentID)
	if one == nil {
		if _, connected := h.connected()[agentID]; connected {
			return nil, refuse(http.StatusConflict, "it has no channel on which this hub could ask: it is connected to another hub, has just come, or is too old")
		}
		return nil, refuse(http.StatusServiceUnavailable, "it isn't connected: only a running agent can look at its files")
	}
	if !one.Peer().Knows(reverse.KindClientContext) {
		return nil, refuse(http.StatusConflict, "it is too old to be asked: update the agent")
	}
	select {
	case one.asks <- struct{}{}:
		defer func() { <-one.asks }()
	default:
		return nil, refuse(http.StatusTooManyRequests, fmt.Sprintf("it has %d such questions to answer already: ask again", maxAsks))
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	body, err := one.Call(ctx, reverse.KindClientContext, clientview.EncodeRequest(clientview.Request{Client: client}))
	var no *reverse.Error
	switch {
	case errors.As(err, &no):
		return nil, refuse(askedCode(no.Code), "the agent says: "+text.Printable(no.Text))
	case errors.Is(err, context.DeadlineExceeded):
		return nil, refuse(http.StatusGatewayTimeout, "it hasn't answered in time")
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, refuse(http.StatusServiceUnavailable, "the connection to it was lost: ask again")
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
