package hub

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// checkHost refuses requests that were meant for another name; see Handler.
func (h *Hub) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.hostAllowed(r) {
			writeError(w, http.StatusMisdirectedRequest, "this hub is not known under that host name",
				"use the address it listens on, or start it with --allow-host NAME")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (h *Hub) hostAllowed(r *http.Request) bool {
	name := hostname(r.Host)
	if h.allowHosts[name] {
		return true
	}
	local, loopback := localAddr(r)
	if name == "localhost" {
		return loopback
	}
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	ip = ip.Unmap()
	return ip == local || loopback && ip.IsLoopback()
}

// localAddr returns the address that the request came to. Where there is no
// connection (in a test, or behind another handler) that is loopback.
func localAddr(r *http.Request) (addr netip.Addr, loopback bool) {
	tcp, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, true
	}
	addr = tcp.AddrPort().Addr().Unmap().WithZone("")
	return addr, addr.IsLoopback()
}

// hostname takes the port and the brackets off a Host header.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
