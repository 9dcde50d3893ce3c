package httpapi

import (
	"net/http"
	"strings"
)

// SessionName is the name of the session cookie of a browser that shows the hub's page,
// without TLS.
const SessionName = "waymark_reader"

// SessionCookie returns the name of the cookie in answer to a request, and whether the
// browser uses TLS. With TLS the name has the prefix that binds a cookie to this host (RFC
// 6265bis, section 4.1.3). A proxy that terminates TLS says so in a header; a client that
// forges it only loses its own cookie.
func SessionCookie(r *http.Request) (name string, secure bool) {
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		return "__Host-" + SessionName, true
	}
	return SessionName, false
}

// Session returns the session of a request; "" if there is none, or several.
func Session(r *http.Request) string {
	name, _ := SessionCookie(r)
	if cookies := r.CookiesNamed(name); len(cookies) == 1 {
		return cookies[0].Value
	}
	return ""
}
