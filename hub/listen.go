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

	"waymark/hub/store"
	"waymark/hub/transport"
)

// ListenOptions say where a hub keeps its data and where it listens. Nothing
// in it refers to what isn't in a flag of hub serve.
type ListenOptions struct {
	// DB names the database, such as "sqlite:PATH"; empty means DefaultDB.
	DB string
	// Databases open it; the zero value knows SQLite only.
	Databases Databases
	// HTTP is the address of the HTTP API; empty means DefaultHTTP. It must
	// be loopback unless there is TLS, or Insecure is set.
	HTTP string
	// TLSCert and TLSKey are PEM files of a certificate, with its chain, and
	// its key: with them HTTP is HTTPS. They are read again when they change.
	TLSCert, TLSKey string
	// TLSCheck is how often they are read; 0 means every 10 seconds.
	TLSCheck time.Duration
	// Monitor is the address of a port for machines that watch over the hub:
	// /metrics, /healthz and /readyz, without tokens. Empty means none. The
	// rules for HTTP are its rules.
	Monitor string
	// Metrics serves /metrics there; nil: there is none.
	Metrics http.Handler
	// FreePort takes a free port when HTTP is in use.
	FreePort bool
	// DRPC lists where agents connect: "unix:PATH" or "tcp:HOST:PORT". Empty
	// means nowhere: then Hub().ServeConn serves what the caller has.
	DRPC []string
	// Insecure allows addresses that aren't loopback, without TLS.
	Insecure bool
	// DrainTimeout is how long what is under way may take at the end; 0 means
	// DefaultDrain.
	DrainTimeout time.Duration
	// ObserveRequest gets every answer to a request, from the goroutine
	// that serves it; may be nil.
	ObserveRequest func(RequestObserved)
	// AllowHosts, Advertise, Observe, Limits, Logger and Now are those of Options.
	AllowHosts []string
	Advertise  string
	Observe    func(PushObserved)
	Limits     transport.Limits
	Logger     *slog.Logger
	Now        func() time.Time
}

// Server is a hub with its store and its listeners: what hub serve runs, and
// what the agent embeds. The life of one: Listen, Run, Close.
type Server struct {
	hub   *Hub
	store store.Store
	log   *slog.Logger
	http  net.Listener
	drpc  []net.Listener
	// tls and monitor are nil where there is no such thing.
	tls     *certificate
	monitor net.Listener
	metrics http.Handler
	ready   *readiness
	observe func(RequestObserved)
	drain   time.Duration

	closeOnce sync.Once
	closeErr  error
}

// Listen opens everything a hub needs, or nothing: listeners come first, so
// that a port in use leaves no new database behind. Connections wait in the
// listeners' queues until Run.
//
// # Errors
//
// ErrUsage is matched where an option can't be right.
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
	s.hub, err = New(Options{
		Store: st, Logger: opts.Logger, AllowHosts: opts.AllowHosts, Advertise: opts.Advertise, Database: DatabaseName(opts.DB), Limits: opts.Limits, Observe: opts.Observe, Now: opts.Now,
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

// Close releases everything. It may be called twice, and without Run; it must
// not be called while Run runs.
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
