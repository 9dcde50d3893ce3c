package page

import (
	"errors"
	"html"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"waymark/internal/httpapi"
)

// login uses up the code of a link and starts a session.
func (p *Page) login(w http.ResponseWriter, r *http.Request) {
	text := strings.TrimSpace(r.URL.Query().Get("code"))
	switch {
	case r.Method == http.MethodHead: // a preview of the link must not use it up
		w.WriteHeader(http.StatusOK)
		return
	case text == "":
		p.instruct(w, http.StatusUnauthorized, notice{"Sign in", "This page shows what the workspaces of this hub hold, so it asks who is there."})
		return
	}
	owner, err := p.codes.Take(client(r), text)
	if err == nil {
		p.letIn(w, r, owner)
		return
	}
	if errors.Is(err, ErrTooMany) {
		w.Header().Set("Retry-After", "5")
		p.instruct(w, http.StatusTooManyRequests, notice{"Too many tries", "This link does not work, and there were many such tries from here. Get a new one:"})
		return
	}
	p.log.Warn("sign-in refused", slog.String("remote", r.RemoteAddr))
	p.refuseLink(w)
}

func (p *Page) refuseLink(w http.ResponseWriter) {
	p.instruct(w, http.StatusForbidden, notice{"This link does not work", "It has been used, or it is more than ten minutes old, or another hub made it, or its token is no longer valid. Get a new one:"})
}

// letIn gives the browser a new session in place of the current one.
func (p *Page) letIn(w http.ResponseWriter, r *http.Request, owner string) {
	text, expires, err := p.opts.NewSession(r.Context(), owner)
	switch {
	case errors.Is(err, ErrUnauthorized):
		p.log.Warn("sign-in refused: the token of the link is no longer valid", slog.String("remote", r.RemoteAddr))
		p.refuseLink(w)
		return
	case err != nil:
		p.failed(r, "sign-in failed", err)
		p.instruct(w, http.StatusInternalServerError, notice{"Something is wrong", "The hub could not sign this browser in. Its log says why; get a new link and try again:"})
		return
	}
	if err := p.endSession(r); err != nil { // the old session will expire
		p.log.Warn("a browser's older session not ended", slog.Any("error", err))
	}
	http.SetCookie(w, cookie(r, text, expires))
	p.log.Info("browser signed in", slog.String("remote", r.RemoteAddr))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// endSession ends the browser's session, if it has one.
func (p *Page) endSession(r *http.Request) error {
	if session := httpapi.Session(r); session != "" {
		return p.opts.EndSession(r.Context(), session)
	}
	return nil
}

// client returns the origin of a request: the address, or the network of an address where a
// peer can choose from many.
func client(r *http.Request) string {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	ip := from.Addr().Unmap()
	if ip.Is4() {
		return ip.String()
	}
	network, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return ""
	}
	return network.String()
}

// logout ends the browser's session.
func (p *Page) logout(w http.ResponseWriter, r *http.Request) {
	if err := p.guard.Check(r); err != nil {
		p.instruct(w, http.StatusForbidden, notice{"Not done", "The request came from a page of another site."})
		return
	}
	if err := p.endSession(r); err != nil {
		p.failed(r, "sign-out failed", err)
		p.say(w, http.StatusServiceUnavailable, notice{"Not signed out", "The hub could not end this browser’s session. Its log says why; try again later."}, "")
		return
	}
	http.SetCookie(w, cookie(r, "", time.Time{}))
	p.instruct(w, http.StatusOK, notice{"Signed out", "This browser’s session is over. To come back:"})
}

// cookie returns the cookie for a session until it expires; with a zero time it deletes the
// cookie.
func cookie(r *http.Request, session string, expires time.Time) *http.Cookie {
	life := -1
	if !expires.IsZero() {
		life = max(1, int(time.Until(expires)/time.Second))
	}
	name, secure := httpapi.SessionCookie(r)
	return &http.Cookie{ //nolint:gosec // Secure where there is TLS; else a browser would drop it
		Name: name, Value: session, Path: "/", MaxAge: life,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure,
	}
}

// Link makes a code for an owner and returns the one-time URL with it. base is the address
// of the hub, such as "http://127.0.0.1:7878".
func (p *Page) Link(base, owner string) (link string, expires time.Time) {
	code, expires := p.codes.Give(owner)
	return strings.TrimSuffix(base, "/") + "/login?" + url.Values{"code": {code}}.Encode(), expires
}

// LinkFor is Link with the address by which the request has reached the hub.
func (p *Page) LinkFor(r *http.Request, owner string) (link string, expires time.Time) {
	scheme := "http"
	if _, secure := httpapi.SessionCookie(r); secure {
		scheme = "https"
	}
	return p.Link(scheme+"://"+r.Host, owner)
}

// notice is a message in place of the page.
type notice struct{ Title, Text string }

// instruct says something, and how one signs in.
func (p *Page) instruct(w http.ResponseWriter, status int, n notice) {
	p.say(w, status, n, string(p.files["signin.html"].data))
}

// say says something, and below it what is already HTML.
func (p *Page) say(w http.ResponseWriter, status int, n notice, below string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	page := strings.NewReplacer("{{.Title}}", html.EscapeString(n.Title), "{{.Text}}", html.EscapeString(n.Text), "{{.Below}}", below)
	if _, err := page.WriteString(w, string(p.files["login.html"].data)); err != nil {
		p.log.Debug("page not written", slog.Any("error", err))
	}
}
