package consumer

import (
	"errors"
	"net/http"
	"strings"

	"waymark/hub/store"
)

// CookieName is the cookie in which a browser that shows the hub's page sends
// its reader token.
const CookieName = "waymark_reader"

// The errors of Authenticate that callers tell apart.
var (
	// ErrUnauthorized says that a token is missing, unknown or revoked; which
	// of them is nobody's business.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrForbidden says that the token is an agent's.
	ErrForbidden = errors.New("forbidden")
)

// Authenticate returns the reader's token that a request shows, as bearer or,
// if it has no Authorization header at all, in the cookie.
//
// # Errors
//
// ErrUnauthorized, ErrForbidden, and what is wrong within the hub.
func (a *API) Authenticate(r *http.Request) (store.Token, error) {
	token, err := a.opts.Lookup(r.Context(), tokenText(r))
	if err != nil {
		return store.Token{}, err
	}
	if token.Role != store.RoleReader {
		return store.Token{}, ErrForbidden
	}
	return token, nil
}

func tokenText(r *http.Request) string {
	if header, there := r.Header["Authorization"]; there {
		scheme, text, _ := strings.Cut(header[0], " ")
		if len(header) == 1 && strings.EqualFold(scheme, "Bearer") {
			return strings.TrimSpace(text)
		}
		return ""
	}
	if cookies := r.CookiesNamed(CookieName); len(cookies) == 1 {
		return cookies[0].Value
	}
	return ""
}

// checkOrigin refuses what a page of another origin has a browser send, unless
// it only reads. A bearer token no browser sends by itself, but the rule costs
// nobody anything.
func (a *API) checkOrigin(r *http.Request) error {
	if err := a.guard.Check(r); err != nil {
		return &apiError{http.StatusForbidden, "forbidden", "the request comes from a page of another origin"}
	}
	return nil
}
