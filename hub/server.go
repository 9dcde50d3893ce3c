package hub

import (
	"context"
	"net"
	"time"

	"waymark/hub/store"
)

// Hub returns the hub; it ends with Close.
func (s *Server) Hub() *Hub { return s.hub }

// Store returns the store; it is closed by Close.
func (s *Server) Store() store.Store { return s.store }

// HTTPURL returns where the HTTP API is, such as "http://127.0.0.1:7878".
func (s *Server) HTTPURL() string { return s.url(s.http) }

// MonitorURL returns where /metrics is; empty when it is nowhere.
func (s *Server) MonitorURL() string {
	if s.monitor == nil {
		return ""
	}
	return s.url(s.monitor)
}

func (s *Server) url(l net.Listener) string {
	if s.tls != nil {
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}

// ReloadTLS reads the certificate's files again, now. It logs what came of it.
func (s *Server) ReloadTLS() error {
	if s.tls == nil {
		return nil
	}
	return s.tls.reload(true)
}

// CertificateExpires returns the end of the certificate's validity; zero
// where there is no TLS.
func (s *Server) CertificateExpires() time.Time {
	if s.tls == nil {
		return time.Time{}
	}
	return s.tls.expires()
}

// Stats returns how the hub is doing now.
func (s *Server) Stats() Stats { return s.hub.Stats() }

// Ready returns nil when the store answers and the hub isn't about to stop.
func (s *Server) Ready(ctx context.Context) error { return s.ready.check(ctx) }

// DRPC returns where agents connect, in the form of ListenOptions.DRPC, with
// the ports that were really taken.
func (s *Server) DRPC() []string {
	var list []string
	for _, l := range s.drpc {
		list = append(list, l.Addr().Network()+":"+l.Addr().String())
	}
	return list
}
