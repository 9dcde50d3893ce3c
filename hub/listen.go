package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"waymark/hub/store"
)

// ListenOptions say where a hub keeps its data and where it listens. Nothing
// in it refers to what isn't in a flag of hub serve.
type ListenOptions struct {
	// DB names the database, such as "sqlite:PATH"; empty means DefaultDB.
	DB string
	// Databases open it; the zero value knows SQLite only.
	Databases Databases
	// HTTP is the address of the HTTP API; empty means DefaultHTTP. It must
	// be loopback unless Insecure is set, since there is no TLS here.
	HTTP string
	// FreePort takes a free port when HTTP is in use.
	FreePort bool
	// DRPC lists where agents connect: "unix:PATH" or "tcp:HOST:PORT". Empty
	// means nowhere: then Hub().ServeConn serves what the caller has.
	DRPC []string
	// Insecure allows addresses that aren't loopback.
	Insecure bool
	// AllowHosts, Limits, Logger and Now are those of Options.
	AllowHosts []string
	Limits     Limits
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
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.HTTP == "" {
		opts.HTTP = DefaultHTTP
	}
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
	s := &Server{log: opts.Logger}
	if err := s.open(ctx, &opts); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) open(ctx context.Context, opts *ListenOptions) (err error) {
	if s.http, err = listenHTTP(ctx, opts.HTTP, opts.Insecure, opts.FreePort); err != nil {
		return err
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
	s.hub, err = New(Options{Store: st, Logger: opts.Logger, AllowHosts: opts.AllowHosts, Limits: opts.Limits, Now: opts.Now})
	if err != nil {
		return err
	}
	s.http = newLimitListener(s.http, s.hub.limits.Connections+extraHTTP)
	return nil
}

// Hub returns the hub; it ends with Close.
func (s *Server) Hub() *Hub { return s.hub }

// Store returns the store; it is closed by Close.
func (s *Server) Store() store.Store { return s.store }

// HTTPURL returns where the HTTP API is, such as "http://127.0.0.1:7878".
func (s *Server) HTTPURL() string { return "http://" + s.http.Addr().String() }

// DRPC returns where agents connect, in the form of ListenOptions.DRPC, with
// the ports that were really taken.
func (s *Server) DRPC() []string {
	var list []string
	for _, l := range s.drpc {
		list = append(list, l.Addr().Network()+":"+l.Addr().String())
	}
	return list
}

const (
	writeTimeout = time.Minute
	idleTimeout  = 2 * time.Minute
	// maxHeader leaves room for the longest resource id, URL-encoded.
	maxHeader = 32 << 10
	// maxBody is for requests, none of which has one.
	maxBody = 4 << 10
	// extraHTTP is how many HTTP connections there may be beside the agents'.
	extraHTTP = 1024
	// stopTimeout is how long answers that are under way may take at the end.
	stopTimeout = 5 * time.Second
)

// Run serves until ctx ends, then stops in good order: it answers the
// requests that are under way, ends the connections, and returns nil. When a
// listener fails it stops everything and returns that error. Call it once.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &http.Server{
		Handler: http.MaxBytesHandler(s.hub.Handler(), maxBody),
		// A request is a few lines: that is time for a bad line, not for a
		// peer that dribbles bytes to hold a connection.
		ReadHeaderTimeout: s.hub.limits.Handshake, ReadTimeout: s.hub.limits.Handshake,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	// The agents' connections are no longer the server's own; it waits for
	// the others.
	server.RegisterOnShutdown(func() { _ = s.hub.Close() })
	results := make(chan error, 1+len(s.drpc))
	go func() {
		err := server.Serve(s.http)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		results <- err
	}()
	for _, listener := range s.drpc {
		go func() { results <- s.hub.ServeDRPC(ctx, listener) }()
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		stopCtx, stop := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer stop()
		if server.Shutdown(stopCtx) != nil {
			_ = server.Close()
		}
	}()
	var first error
	for range cap(results) {
		if err := <-results; err != nil && first == nil {
			first = fmt.Errorf("serve: %w", err)
		}
		cancel() // one that ends ends all
	}
	<-stopped // Serve returns before the last answers are written
	return first
}

// Close releases everything. It may be called twice, and without Run; it must
// not be called while Run runs.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		var errs []error
		if s.http != nil {
			errs = append(errs, s.http.Close())
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
