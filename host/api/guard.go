package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// guard keeps out who isn't the user.
type guard struct {
	token    [sha256.Size]byte // the hash hides even the token's length
	hasToken bool
	hosts    map[string]bool
}

func newGuard(opts *Options) guard {
	g := guard{token: sha256.Sum256([]byte(opts.Token)), hasToken: opts.Token != "", hosts: map[string]bool{}}
	for _, name := range opts.AllowHosts {
		g.hosts[hostname(name)] = true
	}
	return g
}

// check returns why a request isn't served, nil when it is.
func (g *guard) check(r *http.Request) *Error {
	if fromOtherSite(r) {
		return &Error{Code: http.StatusForbidden, Message: "not for web pages",
			Detail: "this came from a page of another origin; the agent serves programs"}
	}
	if _, ok := r.Context().Value(http.LocalAddrContextKey).(*net.UnixAddr); ok {
		return nil
	}
	if !g.knowsHost(r) {
		return &Error{Code: http.StatusMisdirectedRequest, Message: "this agent is not known under that host name",
			Detail: "use the address it listens on"}
	}
	if r.URL.Path == "/healthz" || g.authorized(r.Header.Get("Authorization")) {
		return nil
	}
	e := &Error{Code: http.StatusUnauthorized, Message: "unauthorized",
		Detail: "send the token of the agent's --listen-token-file as Authorization: Bearer TOKEN"}
	if !g.hasToken {
		e.Detail = "this agent was started without --listen-token-file: use its Unix socket"
	}
	return e
}

func (g *guard) authorized(header string) bool {
	scheme, text, _ := strings.Cut(header, " ")
	if !g.hasToken || !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(text)))
	return subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1
}

// fromOtherSite tells of a browser that speaks for somebody's page. Browsers
// say so in Sec-Fetch-Site, old ones at least in Origin, on everything but
// plain navigation; other programs send neither. http.CrossOriginProtection
// would let all GETs pass, but no page has business here at all.
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

// knowsHost compares the Host header with the address that was connected to.
// The port may differ: it does behind a forwarded one, and a page that has its
// own name point here can't change the name that its browser sends.
func (g *guard) knowsHost(r *http.Request) bool {
	name := hostname(r.Host)
	if g.hosts[name] {
		return true
	}
	tcp, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return false
	}
	local := tcp.AddrPort().Addr().Unmap().WithZone("")
	if name == "localhost" {
		return local.IsLoopback()
	}
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	ip = ip.Unmap().WithZone("")
	return ip == local || local.IsLoopback() && ip.IsLoopback()
}

// hostname takes the port and the brackets off a Host header.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
