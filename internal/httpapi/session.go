package httpapi

import (
	"net/http"
	"strings"
)

// SessionName is the name of the cookie in which a browser that shows the hub's page sends
// its session, without TLS.
const SessionName = "waymark_reader"

// SessionCookie returns what it is called in answer to a request, and whether the browser
// speaks TLS: then it has the prefix by which browsers take it from this very host alone
// (RFC 6265bis, section 4.1.3). A proxy that ends TLS says so in a header; whoever forges
// that keeps the cookie from themselves alone.
func SessionCookie(r *http.Request) (name string, secure bool) {
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		return "__Host-" + SessionName, true
	}
	return SessionName, false
}

// Session returns the text of the session that a request shows; "" where it shows none, or
// several.
func Session(r *http.Request) string {
	name, _ := SessionCookie(r)
	if cookies := r.CookiesNamed(name); len(cookies) == 1 {
		return cookies[0].Value
	}
	return ""
}
