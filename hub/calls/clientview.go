package calls

import (
	"context"
	"errors"
	"net/http"

	"waymark/hub/api"
	"waymark/internal/errtext"
	"waymark/internal/httpapi/problem"
	"waymark/internal/text"
	"waymark/wire"
	"waymark/wire/reverse"
)

// ClientContext asks an agent what a client would see if it were started in the agent's
// working directory.
func (c *Calls) ClientContext(ctx context.Context, agentID, client string) (*api.ClientContext, error) {
	request := api.EncodeClientRequest(api.ClientRequest{Client: client})
	return lookAt(ctx, c, agentID, reverse.KindClientContext, request, "what "+text.Cut(text.Printable(client), 64)+" sees", func(body []byte) (*api.ClientContext, error) {
		answer, err := api.DecodeClientContext(body)
		if err == nil && answer.Client != client {
			err = api.ErrFormat
		}
		return answer, err
	})
}

// Coverage asks an agent which files in places that agents read aren't used.
func (c *Calls) Coverage(ctx context.Context, agentID string) (*api.Coverage, error) {
	return lookAt(ctx, c, agentID, reverse.KindContextCoverage, nil, "what isn't used", api.DecodeCoverage)
}

// lookAt asks an agent about its files; what describes the question. The answer is trusted
// within the limits of decode.
func lookAt[T any](ctx context.Context, c *Calls, agentID, kind string, request []byte, what string, decode func(body []byte) (*T, error)) (*T, error) {
	refuse := func(code int, detail string) error {
		return &problem.Error{Code: code, Message: "the agent was not asked " + what, Detail: detail}
	}
	body, err := c.ask(ctx, agentID, kind, request, 0)
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
		return nil, err // the context's
	}
	answer, err := decode(body)
	if err != nil {
		return nil, refuse(http.StatusBadGateway, "its answer can't be understood")
	}
	return answer, nil
}

// askedCode returns the HTTP status for an agent's refusal.
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
