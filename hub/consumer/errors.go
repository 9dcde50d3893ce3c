package consumer

import (
	"errors"
	"log/slog"
	"net/http"

	"waymark/hub/store"
)

// apiError is an answer that says no.
type apiError struct {
	code    int
	Message string `json:"message"`
	Detail  string `json:"detail"`
}

func (e *apiError) Error() string { return e.Message + ": " + e.Detail }

func badQuery(detail string) error {
	return &apiError{http.StatusBadRequest, "the query is not what it should be", detail}
}

// refuse answers with an error.
func (a *API) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody is there to read an answer
	}
	e := a.classify(r, err)
	switch e.code {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="waymark"`)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "5")
	}
	w.Header().Del("ETag")
	_ = answer(w, e.code, e) // two strings can always be encoded
}

func (a *API) classify(r *http.Request, err error) *apiError {
	var said *apiError
	var missing *store.NotFoundError
	switch {
	case errors.As(err, &said):
		return said
	case errors.As(err, &missing):
		return &apiError{http.StatusNotFound, "not found", missing.Error()}
	case errors.Is(err, ErrUnauthorized):
		return &apiError{http.StatusUnauthorized, "unauthorized",
			"send a reader token as Authorization: Bearer TOKEN; hub token create --role reader makes one"}
	case errors.Is(err, ErrForbidden):
		return &apiError{http.StatusForbidden, "forbidden", "this is an agent's token; reading needs a reader token"}
	case errors.Is(err, store.ErrInvalid):
		return &apiError{http.StatusBadRequest, "the request is not what it should be", err.Error()}
	case errors.Is(err, store.ErrTooManyPins):
		return &apiError{http.StatusConflict, "the pin was not made", store.ErrTooManyPins.Error()}
	case a.ctx.Err() != nil:
		return &apiError{http.StatusServiceUnavailable, "the hub is stopping", "ask again, or ask another hub of the same database"}
	}
	a.log.Error("request failed", slog.String("path", r.URL.Path), slog.Any("error", err))
	return &apiError{http.StatusInternalServerError, "internal error", "see the hub's log"}
}
