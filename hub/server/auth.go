package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"waymark/hub/store"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
)

// The errors of Authenticate that callers tell apart.
var (
	// ErrUnauthorized says that a token or a session is missing, unknown,
	// revoked or expired; which of them is nobody's business.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrForbidden says that the token is an agent's.
	ErrForbidden = errors.New("forbidden")
)

// Reader is who makes a request.
type Reader struct {
	// Token is what the reader shows, or what the session belongs to. Its Scope are the
	// agents that it shows now.
	Token store.Token
	// named is the scope as the token has it.
	named []string
	// SessionID names the browser's session; empty for whoever shows a token.
	SessionID string
	// Until is when the token or the session expires; zero: never.
	Until time.Time
}

type readerKey struct{}

// ReaderOf returns the reader whose call ctx is of.
func ReaderOf(ctx context.Context) Reader {
	reader, _ := ctx.Value(readerKey{}).(Reader)
	return reader
}

// admit serves readers, and operators, who read as well.
func (a *API) admit(r *http.Request) (context.Context, error) {
	reader, err := a.Authenticate(r)
	if err != nil {
		return nil, err
	}
	return context.WithValue(r.Context(), readerKey{}, reader), a.checkOrigin(r)
}

// Authenticate returns who makes a request: a bearer of a reader's or operator's token or, if
// there is no Authorization header at all, a browser with a session in the
// cookie. Neither is taken in the place of the other.
//
// # Errors
//
// ErrUnauthorized, ErrForbidden, and what is wrong within the hub.
func (a *API) Authenticate(r *http.Request) (reader Reader, err error) {
	if _, there := r.Header["Authorization"]; there {
		reader.Token, err = a.opts.Lookup(r.Context(), httpapi.BearerToken(r))
		reader.Until = reader.Token.ExpiresAt
	} else {
		reader, err = a.session(r)
	}
	switch {
	case err != nil:
		return Reader{}, err
	case !reader.Token.Valid(a.opts.Now()):
		return Reader{}, ErrUnauthorized
	case reader.Token.Role != store.RoleReader && reader.Token.Role != store.RoleOperator:
		return Reader{}, ErrForbidden
	}
	reader.named = reader.Token.Scope
	reader.Token.Scope, err = a.scopeNow(r.Context(), &reader.Token)
	return reader, err
}

// scopeNow is what a token's scope comes to now: where it is said in labels, the
// agents that have them.
func (a *API) scopeNow(ctx context.Context, token *store.Token) ([]string, error) {
	if token.ScopeLabels == nil {
		return token.Scope, nil
	}
	ids, err := a.store.Labeled(ctx, token.ScopeLabels)
	if err != nil {
		return nil, err
	}
	scope := []string{} // nil would be all
	for _, id := range ids {
		if token.Allows(id) {
			scope = append(scope, id)
		}
	}
	return scope, nil
}

// session returns who has the session in the cookie.
func (a *API) session(r *http.Request) (Reader, error) {
	text := httpapi.Session(r)
	if a.opts.Session == nil || text == "" {
		return Reader{}, ErrUnauthorized
	}
	s, err := a.opts.Session(r.Context(), text)
	if err == nil && !s.Valid(a.opts.Now()) {
		err = ErrUnauthorized
	}
	return Reader{Token: s.Token, SessionID: s.ID, Until: s.Until()}, err
}

// checkOrigin refuses what a page of another origin has a browser send, unless
// it only reads. A bearer token no browser sends by itself, but the rule costs
// nobody anything.
func (a *API) checkOrigin(r *http.Request) error {
	if err := a.guard.Check(r); err != nil {
		return &problem.Error{Code: http.StatusForbidden, Message: "forbidden", Detail: "the request comes from a page of another origin"}
	}
	return nil
}
