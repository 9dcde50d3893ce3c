package page

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// cookieLife is how long a browser stays signed in. See hub token list for
// those that do.
const cookieLife = 30 * 24 * time.Hour

// login uses up the code of a link and lets the browser in.
func (p *Page) login(w http.ResponseWriter, r *http.Request) {
	text := strings.TrimSpace(r.URL.Query().Get("code"))
	switch {
	case r.Method == http.MethodHead: // of a link's preview, for example, which mustn't use it up
		w.WriteHeader(http.StatusOK)
		return
	case text == "":
		p.instruct(w, http.StatusUnauthorized, notice{"Sign in", "This page shows what the workspaces of this hub hold, so it asks who is there."})
		return
	}
	switch err := p.codes.Take(text); {
	case errors.Is(err, ErrTooMany):
		w.Header().Set("Retry-After", "5")
		p.instruct(w, http.StatusTooManyRequests, notice{"Too many tries", "Wait some seconds and open the link again. It still works if it hasn’t been used."})
		return
	case err != nil:
		p.log.Warn("sign-in refused", slog.String("remote", r.RemoteAddr))
		p.instruct(w, http.StatusForbidden, notice{"This link does not work", "It has been used, or it is more than ten minutes old, or another hub made it. Get a new one:"})
		return
	}
	// Who is signed in already needs no second token.
	if p.opts.Authenticate(r) != nil {
		token, err := p.opts.NewToken(r.Context())
		if err != nil {
			p.log.Error("sign-in failed", slog.Any("error", err))
			p.instruct(w, http.StatusInternalServerError, notice{"Something is wrong", "The hub could not make a token for this browser. Its log says why; get a new link and try again:"})
			return
		}
		http.SetCookie(w, cookie(r, token, cookieLife))
		p.log.Info("browser signed in", slog.String("remote", r.RemoteAddr))
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// logout revokes the browser's token.
func (p *Page) logout(w http.ResponseWriter, r *http.Request) {
	if err := p.guard.Check(r); err != nil {
		p.instruct(w, http.StatusForbidden, notice{"Not done", "The request came from a page of another site."})
		return
	}
	if cookies := r.CookiesNamed(CookieName); len(cookies) == 1 {
		if err := p.opts.RevokeToken(r.Context(), cookies[0].Value); err != nil {
			p.log.Error("sign-out failed", slog.Any("error", err))
			p.instruct(w, http.StatusInternalServerError, notice{"Not signed out", "The hub could not revoke this browser’s token. Its log says why; try again later."})
			return
		}
	}
	http.SetCookie(w, cookie(r, "", -time.Second))
	p.instruct(w, http.StatusOK, notice{"Signed out", "This browser’s token is revoked. To come back:"})
}

// cookie holds a token. A proxy that ends TLS says so in a header; whoever
// forges that keeps the cookie from themselves alone.
func cookie(r *http.Request, token string, life time.Duration) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure where there is TLS; else a browser would drop it
		Name: CookieName, Value: token, Path: "/", MaxAge: int(life / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: underTLS(r),
	}
}

func underTLS(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// Link gives out a code and returns the one-time URL with it. Base is where
// the hub is, such as "http://127.0.0.1:7878".
func (p *Page) Link(base string) (link string, expires time.Time) {
	code, expires := p.codes.Give()
	return strings.TrimSuffix(base, "/") + "/login?" + url.Values{"code": {code}}.Encode(), expires
}

// LinkFor is Link for the hub as the request reaches it.
func (p *Page) LinkFor(r *http.Request) (link string, expires time.Time) {
	scheme := "http"
	if underTLS(r) {
		scheme = "https"
	}
	return p.Link(scheme + "://" + r.Host)
}

// notice is what the page says instead of showing anything.
type notice struct{ Title, Text string }

func (p *Page) instruct(w http.ResponseWriter, status int, n notice) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if err := p.instructions.Execute(w, n); err != nil {
		p.log.Debug("page not written", slog.Any("error", err))
	}
}
