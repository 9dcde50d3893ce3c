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

// Errors of Authenticate that callers distinguish.
var (
	// ErrUnauthorized says that a token or session is missing, unknown, revoked or expired,
	// without saying which.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrForbidden says that the token is an agent's.
	ErrForbidden = errors.New("forbidden")
)

// Reader is who makes a request.
type Reader struct {
	// Token is the reader's token, or the token of the session. Its Scope has the agents
	// that it shows now.
	Token store.Token
	// named is the scope as stored in the token.
	named []string
	// SessionID is the id of the browser's session; empty with a token.
	SessionID string
	// Until is when the token or session expires; zero means never.
	Until time.Time
}

type readerKey struct{}

// ReaderOf returns the reader of the call in ctx.
func ReaderOf(ctx context.Context) Reader {
	reader, _ := ctx.Value(readerKey{}).(Reader)
	return reader
}

// admit admits readers and operators.
func (a *API) admit(r *http.Request) (context.Context, error) {
	reader, err := a.Authenticate(r)
	if err != nil {
		return nil, err
	}
	a.back()
	return context.WithValue(r.Context(), readerKey{}, reader), a.checkOrigin(r)
}

// Authenticate returns who makes a request: the owner of a reader's or operator's token in
// the Authorization header or, without that header, a browser with a session cookie. Tokens
// aren't accepted in the cookie, nor sessions in the header.
//
// # Errors
//
// ErrUnauthorized, ErrForbidden, and internal errors.
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

// scopeNow returns a token's current scope. Labels in the scope are replaced by the agents
// that have them.
func (a *API) scopeNow(ctx context.Context, token *store.Token) ([]string, error) {
	if token.ScopeLabels == nil {
		return token.Scope, nil
	}
	ids, err := a.store.Labeled(ctx, token.ScopeLabels)
	if err != nil {
		return nil, err
	}
	scope := []string{} // nil would mean all
	for _, id := range ids {
		if token.Allows(id) {
			scope = append(scope, id)
		}
	}
	return scope, nil
}

// session returns the reader with the session in the cookie.
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

// checkOrigin refuses requests from pages of another origin, except for reading. Browsers
// don't send bearer tokens by themselves, but the rule does no harm.
func (a *API) checkOrigin(r *http.Request) error {
	if err := a.guard.Check(r); err != nil {
		return &problem.Error{Code: http.StatusForbidden, Message: "forbidden", Detail: "the request comes from a page of another origin"}
	}
	return nil
}
