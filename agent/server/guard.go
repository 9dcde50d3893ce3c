package server

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"

	"waymark/internal/credential"
	"waymark/internal/httpapi"
)

// guard admits only the user's own requests.
type guard struct {
	token string // "" admits nobody
	hosts *httpapi.Hosts
	// authenticate is Options.Authenticate.
	authenticate func(r *http.Request, token string) (context.Context, bool)
}

func newGuard(opts *Options) guard {
	return guard{token: opts.Token, hosts: httpapi.NewHosts(opts.AllowHosts), authenticate: opts.Authenticate}
}

// check returns the context for a request, or an *Error that says why it is refused.
func (g *guard) check(r *http.Request) (context.Context, error) {
	if fromOtherSite(r) {
		return nil, &Error{Code: http.StatusForbidden, Message: "not for web pages",
			Detail: "this came from a page of another origin; the agent serves programs"}
	}
	_, overSocket := r.Context().Value(http.LocalAddrContextKey).(*net.UnixAddr)
	if local, ok := httpapi.LocalAddr(r); !overSocket && (!ok || !g.hosts.Allow(r.Host, local)) {
		return nil, &Error{Code: http.StatusMisdirectedRequest, Message: "this agent is not known under that host name",
			Detail: "use the address it listens on"}
	}
	if r.URL.Path == "/healthz" {
		return r.Context(), nil
	}
	token, shown := httpapi.BearerToken(r), r.Header["Authorization"] != nil
	if overSocket && !shown {
		return r.Context(), nil
	}
	ctx, valid := r.Context(), false
	if token != "" {
		ctx, valid = g.authenticate(r, token)
	}
	if valid || credential.Same(token, g.token) {
		return ctx, nil
	}
	return nil, g.unauthorized(overSocket, shown)
}

// unauthorized tells a client without a valid token what to do.
func (g *guard) unauthorized(overSocket, shown bool) *Error {
	e := &Error{Code: http.StatusUnauthorized, Message: "unauthorized",
		Detail: "send the token of the agent's --listen-token-file as Authorization: Bearer TOKEN"}
	switch {
	case overSocket:
		e.Detail = "this token is not known, has expired or was revoked: make one with 'agent token create', or send none to read only"
	case shown && g.token != "":
		e.Detail = "this token is not known, has expired or was revoked: " + e.Detail
	case g.token == "":
		e.Detail = "this agent was started without --listen-token-file: use its Unix socket"
	}
	return e
}

// fromOtherSite reports whether a browser sent the request on behalf of a page. Browsers
// say so in Sec-Fetch-Site; old ones send at least Origin, except for plain navigation.
// Other programs send neither. http.CrossOriginProtection would allow all GETs, but no page
// may read anything here.
func fromOtherSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		return true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host)
}
