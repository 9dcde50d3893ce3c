package hub

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"waymark/hub/consumer"
	"waymark/hub/page"
	"waymark/hub/store"
)

// pageToken is the name of the tokens that browsers get.
const pageToken = "page"

// pageTokenUnused is how long after its last use a browser's token is revoked
// when another browser signs in: its cookie is gone by then.
const pageTokenUnused = 31 * 24 * time.Hour

// newPage makes the page for people; see package page.
func (h *Hub) newPage() *page.Page {
	return page.New(page.Options{
		Authenticate: func(r *http.Request) error {
			_, err := h.consumer.Authenticate(r)
			if errors.Is(err, errUnauthorized) || errors.Is(err, consumer.ErrForbidden) {
				err = page.ErrUnauthorized
			}
			return err
		},
		NewToken: h.newPageToken, RevokeToken: h.revokePageToken,
		Codes: page.NewCodes(page.CodesOptions{Now: h.now}), Logger: h.log,
	})
}

// addPage adds the routes of the page, and the one that makes links to it.
func (h *Hub) addPage(root *http.ServeMux) {
	for _, path := range page.Paths() {
		root.Handle(path, h.checkHost(h.page))
	}
	root.Handle(loginPath, h.checkHost(http.HandlerFunc(h.serveLogin)))
}

// serveLogin makes a one-time URL for the page: POST /api/v0/login.
func (h *Hub) serveLogin(w http.ResponseWriter, r *http.Request) {
	switch _, err := h.consumer.Authenticate(r); {
	case errors.Is(err, errUnauthorized):
		w.Header().Set("WWW-Authenticate", `Bearer realm="waymark"`)
		writeError(w, http.StatusUnauthorized, "unauthorized",
			"send a reader token as Authorization: Bearer TOKEN; hub token create --role reader makes one")
		return
	case errors.Is(err, consumer.ErrForbidden):
		writeError(w, http.StatusForbidden, "forbidden", "this is an agent's token; reading needs a reader token")
		return
	case err != nil:
		writeError(w, http.StatusInternalServerError, "internal error", "see the hub's log")
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		writeError(w, http.StatusMethodNotAllowed, "method not allowed", "POST makes a one-time URL")
		return
	}
	// The cookie comes by itself, whoever made the browser ask.
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		writeError(w, http.StatusForbidden, "forbidden", "the request comes from a page of another origin")
		return
	}
	link, expires := h.page.LinkFor(r)
	writeJSON(w, http.StatusCreated, struct {
		URL       string    `json:"url"`
		ExpiresAt time.Time `json:"expires_at"`
	}{link, expires.UTC()})
}

// newPageToken makes a browser's token, and revokes those that no browser has
// any more.
func (h *Hub) newPageToken(ctx context.Context) (string, error) {
	tokens, err := h.store.Tokens(ctx)
	if err != nil {
		return "", err
	}
	for i := range tokens {
		t := &tokens[i]
		seen := t.CreatedAt
		if t.LastUsedAt.After(seen) {
			seen = t.LastUsedAt
		}
		if t.Role != store.RoleReader || t.Name != pageToken || t.Provisioned || t.Revoked() || h.now().Sub(seen) < pageTokenUnused {
			continue
		}
		if err := h.store.RevokeToken(ctx, t.ID); err != nil {
			h.log.Warn("unused token of the page not revoked", slog.String("token", t.ID), slog.Any("error", err))
		}
	}
	text, _, err := CreateToken(ctx, h.store, store.NewToken{Role: store.RoleReader, Name: pageToken})
	return text, err
}

// revokePageToken ends a browser's token. Others that were put into a cookie
// stay as they are: revoking is for whoever made them.
func (h *Hub) revokePageToken(ctx context.Context, text string) error {
	token, err := h.lookup(ctx, text)
	if errors.Is(err, errUnauthorized) || err == nil && (token.Role != store.RoleReader || token.Name != pageToken || token.Provisioned) {
		return nil
	}
	if err != nil {
		return err
	}
	return h.store.RevokeToken(ctx, token.ID)
}

// LoginURL gives out a one-time URL that opens the hub's page in a browser. It
// is a secret until it is used, or ten minutes old.
func (s *Server) LoginURL() string {
	link, _ := s.hub.page.Link(s.pageURL())
	return link
}

// pageURL is where the page is for a browser on this machine: a hub that
// listens everywhere is at localhost, too.
func (s *Server) pageURL() string {
	scheme, address, _ := strings.Cut(s.HTTPURL(), "://")
	host, port, err := net.SplitHostPort(address)
	if ip, ipErr := netip.ParseAddr(host); err != nil || ipErr != nil || !ip.IsUnspecified() {
		return s.HTTPURL()
	}
	return scheme + "://" + net.JoinHostPort("localhost", port)
}
