package hub

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"waymark/hub/calls"
	"waymark/hub/fleet"
	"waymark/hub/ingest"
	"waymark/hub/page"
	"waymark/hub/server"
	"waymark/hub/store"
	"waymark/hub/transport"
	"waymark/hub/webhook"
	"waymark/internal/httpapi"
)

// Options configure a Hub. Only Store is required.
type Options struct {
	// Store stores everything. The hub doesn't close it.
	Store store.Store
	// Logger receives the hub's log, without payloads and tokens; nil means no log.
	Logger *slog.Logger
	// AllowHosts are additional host names of the HTTP API, for example of a reverse proxy.
	// Ports are ignored.
	AllowHosts []string
	// Limits limit what agents may cost, Consumer what readers may cost.
	Limits   transport.Limits
	Consumer server.Limits
	// Advertise is the address of this hub's HTTP API for other hubs with the same store,
	// such as http://10.0.0.7:7878. They use it to ask agents that are connected here.
	// Empty disables that.
	Advertise string
	// Database is the DatabaseName of the database, which the page shows to readers of all
	// agents; empty hides it.
	Database string
	// Backup writes a copy of the database to a new file, for operators; nil means that
	// there are no backups.
	Backup func(ctx context.Context, file string) error
	// Presence is how often the hub looks after agents that may be connected to several hubs
	// with the same database; 0 means every 2 seconds.
	Presence time.Duration
	// Observe is called for every push, in the goroutine that serves it; it may be nil.
	Observe func(ingest.PushObserved)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Hub is a control plane. Make one with New, serve with Handler, ServeDRPC and ServeConn,
// and end it with Close.
type Hub struct {
	store     store.Store
	log       *slog.Logger
	now       func() time.Time
	hosts     *httpapi.Hosts
	transport *transport.Transport
	page      *page.Page
	consumer  *server.API
	fresh     fresh
	fleet     *fleet.Fleet
	webhooks  webhook.Runner
	calls     *calls.Calls

	ctx    context.Context //nolint:containedctx // of the background work; ends with Close
	cancel context.CancelFunc

	mu      sync.Mutex // guards started, and running against Add after Wait
	started bool
	running sync.WaitGroup
}

// New makes a Hub. It starts nothing.
func New(opts Options) (*Hub, error) {
	if opts.Store == nil {
		return nil, errors.New("hub: a store is needed")
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if opts.Now == nil {
		opts.Now = time.Now
	}
	h := &Hub{
		store: opts.Store, log: opts.Logger, now: opts.Now,
		hosts: httpapi.NewHosts(opts.AllowHosts),
	}
	self, err := present(opts.Advertise)
	if err != nil {
		return nil, err
	}
	services := &services{hub: h}
	h.transport = transport.New(transport.Options{Services: services, Limits: opts.Limits, Logger: opts.Logger})
	h.fleet = fleet.New(fleet.Options{Store: h.store, Log: h.log, Self: self, Transport: h.transport, Presence: opts.Presence})
	h.webhooks = webhook.Runner{Store: h.store, Log: h.log, Now: h.now}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.calls = calls.New(calls.Options{Store: h.store, Log: h.log, Now: h.now, Self: self, Transport: h.transport, Fleet: h.fleet})
	h.page = h.newPage(opts.Database)
	h.consumer = h.newConsumer(opts.Consumer, opts.Backup)
	services.Service, err = ingest.New(ingest.Options{Store: h.store, Fleet: h.fleet, Log: h.log, Observe: opts.Observe, Reverse: h.calls.Serve})
	return h, err
}

// ErrClosed says that the hub was closed before it could serve.
var ErrClosed = transport.ErrClosed

// start starts the background work, once, unless Close was called.
func (h *Hub) start() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.started || h.ctx.Err() != nil {
		return
	}
	h.started = true
	h.running.Go(func() { h.fleet.Run(h.ctx) })
	h.running.Go(func() { h.webhooks.Run(h.ctx) })
}

// ServeDRPC serves the DRPC services on all connections of a listener. It returns nil when
// ctx or the hub ends, and otherwise the listener's error. It then has closed the listener
// and all connections.
func (h *Hub) ServeDRPC(ctx context.Context, listener net.Listener) error {
	h.start()
	return h.transport.ServeDRPC(ctx, listener)
}

// ServeConn serves the DRPC services on a connection, which may be one end of a net.Pipe,
// and closes it. It returns when the peer disconnects, or ctx or the hub ends.
func (h *Hub) ServeConn(ctx context.Context, conn net.Conn) error {
	h.start()
	return h.transport.ServeConn(ctx, conn)
}

// Connected reports whether the agent has an authenticated connection to this hub.
func (h *Hub) Connected(agentID string) bool { return h.transport.Connected(agentID) }

// Drain ends the agents' connections gracefully: it accepts no new ones, answers calls in
// progress, and ends each connection so that its agent reconnects. It returns when none is
// left, or with ctx's error; Close ends the rest. It may be called twice.
func (h *Hub) Drain(ctx context.Context) error { return h.transport.Drain(ctx) }

// Close ends all connections and waits until nothing of the hub runs any more. It may be
// called twice, and before anything was served. It doesn't close the store.
func (h *Hub) Close() error {
	_ = h.consumer.Close() // never fails
	h.transport.Close()
	h.calls.Close()
	h.mu.Lock()
	h.cancel()
	h.mu.Unlock()
	h.running.Wait()
	return nil
}

// Stats are a hub's current figures.
type Stats struct {
	// Connections is the number of agents' connections, Agents that of connected agents.
	Connections, Agents int
	// MaxConnections is how many connections of agents it takes.
	MaxConnections int
	// NotHeard is the number of connections whose agents were told that another one with
	// the same token has taken over.
	NotHeard int
	// Channels is the number of open reverse channels.
	Channels int
	// Large is the number of large messages that are being received or stored.
	Large int
	// Streams is the number of event streams and waiting requests.
	Streams int
	// Draining says that the hub is stopping.
	Draining bool
	// Behind and ClockOff are those of store.Condition, some seconds ago.
	Behind, ClockOff time.Duration
}

// Stats returns the hub's current figures.
func (h *Hub) Stats() Stats {
	notHeard := 0
	for _, n := range h.fleet.Unheard() {
		notHeard += n
	}
	condition := h.fleet.Condition()
	return Stats{
		Behind: condition.Behind, ClockOff: condition.ClockOff,
		Connections: h.transport.Connections(), MaxConnections: h.transport.Limits().Connections, Agents: len(h.transport.Agents()), NotHeard: notHeard, Large: h.transport.LargeMessages(),
		Channels: h.calls.Channels(), Streams: h.consumer.Streams(), Draining: h.transport.Draining(),
	}
}
