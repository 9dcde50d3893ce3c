package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Hosts are the names under which an API may be called. Any web page can make its own name
// resolve to 127.0.0.1 and call an API from the user's browser, but it can't change the name
// that the browser sends.
type Hosts struct{ allowed map[string]bool }

// NewHosts returns the names that follow from a listener's addresses, and those in names,
// whose ports are ignored.
func NewHosts(names []string) *Hosts {
	h := &Hosts{allowed: make(map[string]bool)}
	for _, name := range names {
		h.allowed[hostname(name)] = true
	}
	return h
}

// Allow reports whether a request with that Host header may come to the local address: the
// header has the address, localhost for a loopback address, or one of the names. The port may
// differ, for example if it is forwarded.
func (h *Hosts) Allow(host string, local netip.Addr) bool {
	name := hostname(host)
	if h.allowed[name] {
		return true
	}
	local = local.Unmap().WithZone("")
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

// hostname removes the port and the brackets from a Host header.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// LocalAddr returns the TCP address that a request came to; ok is false if it didn't come
// over TCP.
func LocalAddr(r *http.Request) (addr netip.Addr, ok bool) {
	tcp, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}
	return tcp.AddrPort().Addr(), true
}

// IsLoopback reports whether a host, as in an address to listen on, can be reached only from
// this machine.
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// BearerToken returns the token of the request's "Authorization: Bearer"; "" if there is
// none, or more than one.
func BearerToken(r *http.Request) string {
	header := r.Header["Authorization"]
	if len(header) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(header[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
