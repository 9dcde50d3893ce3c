package hub

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"waymark/hub/ingest"
	"waymark/hub/store"
	"waymark/hub/transport"
)

// ListenOptions say where a hub stores its data and where it listens. They correspond to
// flags of hub serve.
type ListenOptions struct {
	// DB names the database, such as "sqlite:PATH"; empty means DefaultDB.
	DB string
	// Databases open it; the zero value supports only SQLite.
	Databases Databases
	// HTTP is the address of the HTTP API; empty means DefaultHTTP. It must be loopback
	// unless there is TLS, or Insecure is set.
	HTTP string
	// TLSCert and TLSKey are PEM files of a certificate chain and its key, for HTTPS. They
	// are read again when they change.
	TLSCert, TLSKey string
	// TLSCheck is how often they are read; 0 means every 10 seconds.
	TLSCheck time.Duration
	// Monitor is the address of a port for monitoring: /metrics, /healthz and /readyz,
	// without tokens. Empty means none. The same rules as for HTTP apply.
	Monitor string
	// Metrics serves /metrics there; nil means none.
	Metrics http.Handler
	// FreePort takes a free port when HTTP is in use.
	FreePort bool
	// DRPC lists addresses for agents: "unix:PATH" or "tcp:HOST:PORT". If it is empty,
	// Hub().ServeConn can serve connections of the caller.
	DRPC []string
	// Insecure allows non-loopback addresses without TLS.
	Insecure bool
	// DrainTimeout limits the time for stopping; 0 means DefaultDrain.
	DrainTimeout time.Duration
	// ObserveRequest is called for every answered request, in the goroutine that serves it;
	// it may be nil.
	ObserveRequest func(RequestObserved)
	// AllowHosts, Advertise, Observe, Limits, Logger and Now are those of Options.
	AllowHosts []string
	Advertise  string
	Observe    func(ingest.PushObserved)
	Limits     transport.Limits
	Logger     *slog.Logger
	Now        func() time.Time
}

// Server is a hub with its store and listeners: what hub serve runs and the agent embeds.
// Call Listen, Run and Close in this order.
type Server struct {
	hub   *Hub
	store store.Store
	log   *slog.Logger
	http  net.Listener
	drpc  []net.Listener
	// tls and monitor are nil if they aren't configured.
	tls     *certificate
	monitor net.Listener
	metrics http.Handler
	ready   *readiness
	counts  answer[store.AgentCounts]
	observe func(RequestObserved)
	drain   time.Duration

	closeOnce sync.Once
	closeErr  error
}

// Listen opens everything that a hub needs, or nothing. It opens listeners first, so that a
// port in use leaves no new database behind. Connections wait in the listeners' queues
// until Run.
//
// # Errors
//
// The error matches ErrUsage if an option can never be valid.
func Listen(ctx context.Context, opts ListenOptions) (*Server, error) {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	opts.HTTP = cmp.Or(opts.HTTP, DefaultHTTP)
	if opts.DB == "" {
		db, err := DefaultDB()
		if err != nil {
			return nil, err
		}
		opts.DB = db
	}
	opts.Databases.setDefaults()
	if err := opts.Databases.Check(opts.DB); err != nil {
		return nil, err
	}
	s := &Server{
		log: opts.Logger, metrics: opts.Metrics, observe: opts.ObserveRequest, drain: cmp.Or(opts.DrainTimeout, DefaultDrain),
	}
	if err := s.open(ctx, &opts); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) open(ctx context.Context, opts *ListenOptions) (err error) {
	if err := s.openTLS(opts); err != nil {
		return err
	}
	trusted := opts.Insecure || s.tls != nil
	if s.http, err = listenHTTP(ctx, "--http", opts.HTTP, trusted, opts.FreePort); err != nil {
		return err
	}
	if opts.Monitor != "" {
		if s.monitor, err = listenHTTP(ctx, "--monitor", opts.Monitor, trusted, false); err != nil {
			return err
		}
	}
	for _, spec := range opts.DRPC {
		listener, err := listenDRPC(ctx, spec, opts.Insecure)
		if err != nil {
			return err
		}
		s.drpc = append(s.drpc, listener)
	}
	st, err := opts.Databases.Open(ctx, opts.DB, StoreOptions{Now: opts.Now, Logger: opts.Logger})
	if err != nil {
		return err
	}
	s.store = st
	var backup func(context.Context, string) error
	if opts.Databases.Backup != nil {
		backup = func(ctx context.Context, file string) error { return opts.Databases.Backup(ctx, opts.DB, file) }
	}
	s.hub, err = New(Options{
		Store: st, Backup: backup, Logger: opts.Logger, AllowHosts: opts.AllowHosts, Advertise: opts.Advertise, Database: DatabaseName(opts.DB), Limits: opts.Limits, Observe: opts.Observe, Now: opts.Now,
	})
	if err != nil {
		return err
	}
	s.ready = &readiness{hub: s.hub}
	limits := s.hub.transport.Limits()
	s.http = s.hub.transport.NewDoor("http", limits.Unauthenticated, limits.Connections+extraHTTP).Listen(s.http)
	if s.monitor != nil {
		s.monitor = s.hub.transport.NewDoor("monitor", monitorConns, 0).Listen(s.monitor)
	}
	return nil
}

// openTLS reads the certificate, if there is one.
func (s *Server) openTLS(opts *ListenOptions) (err error) {
	switch {
	case opts.TLSCert == "" && opts.TLSKey == "":
		return nil
	case opts.TLSCert == "":
		return usagef("--tls-key needs --tls-cert, the file of the certificate")
	case opts.TLSKey == "":
		return usagef("--tls-cert needs --tls-key, the file of the certificate's key")
	}
	s.tls, err = openCertificate(opts.TLSCert, opts.TLSKey, cmp.Or(opts.TLSCheck, certificateCheck), opts.Logger)
	return err
}

// Close releases everything. It may be called twice, and without Run, but not during Run.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		var errs []error
		for _, l := range []net.Listener{s.http, s.monitor} {
			if l != nil {
				errs = append(errs, l.Close())
			}
		}
		for _, l := range s.drpc {
			errs = append(errs, l.Close())
		}
		for i, err := range errs { // Run has closed them already
			if errors.Is(err, net.ErrClosed) {
				errs[i] = nil
			}
		}
		if s.hub != nil {
			errs = append(errs, s.hub.Close())
		}
		if s.store != nil {
			errs = append(errs, s.store.Close())
		}
		s.closeErr = errors.Join(errs...)
	})
	return s.closeErr
}

// Hub returns the hub. Close ends it.
func (s *Server) Hub() *Hub { return s.hub }

// Store returns the store. Close closes it.
func (s *Server) Store() store.Store { return s.store }

// HTTPURL returns the address of the HTTP API, such as "http://127.0.0.1:7878".
func (s *Server) HTTPURL() string { return s.url(s.http) }

// MonitorURL returns the address of the monitoring port; empty if there is none.
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

// ReloadTLS reads the certificate's files again at once, and logs the result.
func (s *Server) ReloadTLS() error {
	if s.tls == nil {
		return nil
	}
	return s.tls.reload(true)
}

// CertificateExpires returns when the certificate expires; zero without TLS.
func (s *Server) CertificateExpires() time.Time {
	if s.tls == nil {
		return time.Time{}
	}
	return s.tls.expires()
}

// Stats returns the hub's current figures.
func (s *Server) Stats() Stats { return s.hub.Stats() }

// Fleet counts all agents, whichever hub they are connected to. The counts may be five seconds old.
func (s *Server) Fleet(ctx context.Context) (store.AgentCounts, error) {
	return s.counts.get(ctx, fleetFor, s.store.CountAgents)
}

// Ready returns nil if the hub can take agents: its store can write, it has a place, and it
// isn't stopping.
func (s *Server) Ready(ctx context.Context) error { return s.ready.check(ctx) }

// DRPC returns the addresses for agents, in the form of ListenOptions.DRPC, with the actual
// ports.
func (s *Server) DRPC() []string {
	var list []string
	for _, l := range s.drpc {
		list = append(list, l.Addr().Network()+":"+l.Addr().String())
	}
	return list
}
