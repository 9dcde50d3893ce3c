package hub

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"waymark/hub/api"
	"waymark/hub/page"
	"waymark/hub/server"
	"waymark/hub/store"
	"waymark/internal/credential"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/internal/text"
)

// PageToken is the name of the tokens, one of a reader and one of an operator, for sessions
// from links that the hub itself prints. Nobody has their texts.
const PageToken = "page"

// newPage makes the page for people; see package page.
func (h *Hub) newPage(database string) *page.Page {
	return page.New(page.Options{
		Authenticate: func(r *http.Request) error {
			_, err := h.consumer.Authenticate(r)
			if errors.Is(err, errUnauthorized) || errors.Is(err, server.ErrForbidden) {
				err = page.ErrUnauthorized
			}
			return err
		},
		Rights: func(r *http.Request) (string, bool) {
			reader, err := h.consumer.Authenticate(r)
			operator := err == nil && reader.Token.Role == store.RoleOperator
			if err != nil || database == "" || reader.Token.Scope != nil || reader.Token.ScopeLabels != nil {
				return "", operator
			}
			return text.ShellWord(database), operator
		},
		NewSession: h.newPageSession, EndSession: h.endPageSession,
		Codes: page.NewCodes(page.CodesOptions{Now: h.now}), Logger: h.log,
	})
}

// loginService has the route that makes links to the page.
func (h *Hub) loginService() httpapi.Service {
	return httpapi.Service{About: server.About("page"), Routes: []httpapi.Route{{
		Method: http.MethodPost, Pattern: api.Root + "/login", Handle: h.makeLink, Operation: &httpapi.Operation{
			ID: "login", Summary: "A link that opens the page in a browser",
			Answers: []httpapi.Answer{{Code: http.StatusCreated, Text: "The link works once, and begins a session in a browser. Whoever has it can read what the token shows: it is a secret.", Body: api.Login{}}},
			Errors:  []int{http.StatusUnauthorized, http.StatusForbidden},
		},
	}}}
}

// makeLink answers POST /api/v0/login with a one-time URL of the page.
func (h *Hub) makeLink(c *httpapi.Call) error {
	reader := server.ReaderOf(c.Context())
	if reader.SessionID != "" {
		return &problem.Error{Code: http.StatusForbidden, Message: "forbidden",
			Detail: "a browser that is signed in makes no further links; whoever has the token does, with hub login"}
	}
	link, expires := h.page.LinkFor(c.Request, reader.Token.ID)
	return c.JSON(http.StatusCreated, api.Login{URL: link, ExpiresAt: expires.UTC()})
}

// newPageSession starts a session with the rights of a token. Links that the hub prints are for
// a role in its place, and the session has the rights of the hub's own token of that role.
func (h *Hub) newPageSession(ctx context.Context, tokenID string) (text string, expires time.Time, err error) {
	if role := store.Role(tokenID); role == store.RoleReader || role == store.RoleOperator {
		if tokenID, err = h.ownToken(ctx, role); err != nil {
			return "", time.Time{}, err
		}
	}
	text = credential.Session.New()
	session, err := h.store.CreateSession(ctx, store.NewSession{
		Hash: credential.HashOf(text), TokenID: tokenID, ExpiresAt: h.now().Add(credential.Session.Life),
	})
	if errors.Is(err, store.ErrNotFound) {
		err = page.ErrUnauthorized
	}
	return text, session.Until(), err
}

// ownToken returns the id of the token for links of a role that the hub prints.
func (h *Hub) ownToken(ctx context.Context, role store.Role) (string, error) {
	tokens, err := h.store.Tokens(ctx)
	if err != nil {
		return "", err
	}
	for i := range tokens {
		t := &tokens[i]
		if t.Role == role && t.Name == PageToken && !t.Provisioned && t.Scope == nil && t.ScopeLabels == nil && t.Valid(h.now()) {
			return t.ID, nil
		}
	}
	_, made, err := CreateToken(ctx, h.store, store.NewToken{Role: role, Name: PageToken})
	return made.ID, err
}

// endPageSession ends a browser's session.
func (h *Hub) endPageSession(ctx context.Context, text string) error {
	session, err := h.lookupSession(ctx, text)
	switch {
	case errors.Is(err, errUnauthorized):
		return nil
	case err != nil:
		return err
	}
	return h.store.EndSession(ctx, session.ID)
}

// LoginURL returns a one-time URL that opens the hub's page in a browser, with the rights of a
// reader or an operator. It is a secret until it is used, or for ten minutes.
func (s *Server) LoginURL(role store.Role) string {
	link, _ := s.hub.page.Link(s.pageURL(), string(role))
	return link
}

// pageURL returns the address of the page for a browser on this machine: localhost for a
// hub that listens on all addresses.
func (s *Server) pageURL() string {
	scheme, address, _ := strings.Cut(s.HTTPURL(), "://")
	host, port, err := net.SplitHostPort(address)
	if ip, ipErr := netip.ParseAddr(host); err != nil || ipErr != nil || !ip.IsUnspecified() {
		return s.HTTPURL()
	}
	return scheme + "://" + net.JoinHostPort("localhost", port)
}
