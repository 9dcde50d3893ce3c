package hub

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"storj.io/drpc/drpcmux"

	"waymark/hub/page"
	"waymark/hub/server"
	"waymark/hub/store"
	"waymark/hub/transport"
	"waymark/internal/httpapi"
	"waymark/wire/coder"
	"waymark/wire/waymark"
)

// Options configure a Hub. Only Store must be set.
type Options struct {
	// Store keeps everything. The hub doesn't close it.
	Store store.Store
	// Logger gets what happens, without payloads and tokens; nil means none.
	Logger *slog.Logger
	// AllowHosts are further names under which the HTTP API may be called:
	// those of a reverse proxy, for example. A port is ignored.
	AllowHosts []string
	// Limits bound what agents may cost, Consumer what readers may.
	Limits   transport.Limits
	Consumer server.Limits
	// Advertise is where other hubs over the same store reach the HTTP API of this one,
	// such as http://10.0.0.7:7878: they have agents asked that are connected here. Empty
	// means that they don't.
	Advertise string
	// Database is what DatabaseName says of the database, which the page shows to
	// readers of all agents; empty means that nobody is told.
	Database string
	// Presence is how often hubs over one database tell each other which agents
	// are connected to them; 0 means every 2 seconds.
	Presence time.Duration
	// Observe gets every call for a push, from the goroutine that serves it; may be
	// nil.
	Observe func(PushObserved)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Hub is a control plane. New makes one, Handler, ServeDRPC and ServeConn put
// it to work, Close ends it.
type Hub struct {
	store     store.Store
	log       *slog.Logger
	now       func() time.Time
	hosts     *httpapi.Hosts
	mux       *drpcmux.Mux
	transport *transport.Transport
	page      *page.Page
	consumer  *server.API
	observe   func(PushObserved)
	uses      uses
	replicas  replicas
	presence  presence
	seen      lastSeen
	webhooks  webhooks
	fleet     fleet
	writers   writers
	approvals approvals
	channels  channels
}

// New makes a hub. It doesn't start anything.
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
		hosts:   httpapi.NewHosts(opts.AllowHosts),
		mux:     drpcmux.New(),
		observe: opts.Observe,
	}
	if err := h.replicas.init(h, opts.Advertise); err != nil {
		return nil, err
	}
	h.transport = transport.New(transport.Options{Services: &services{h}, Limits: opts.Limits, Logger: opts.Logger})
	h.presence.init(h, opts.Presence)
	h.seen.init(h)
	h.webhooks.init(h)
	h.writers.init(opts.Logger)
	h.approvals.init(h)
	h.page = h.newPage(opts.Database)
	h.consumer = h.newConsumer(opts.Consumer)
	if err := waymark.DRPCRegisterContext(h.mux, &contextService{hub: h}); err != nil {
		return nil, err
	}
	if err := coder.DRPCRegisterAgent(h.mux, &agentService{hub: h}); err != nil {
		return nil, err
	}
	return h, nil
}

// ErrClosed says that the hub was closed before it was asked to serve.
var ErrClosed = transport.ErrClosed

// start begins what goes on beside the serving, unless it has begun.
func (h *Hub) start() {
	h.presence.start()
	h.seen.start()
	h.webhooks.start()
}

// ServeDRPC serves the DRPC services to all connections of the listener. It
// returns nil when ctx or the hub ends, and the listener's error otherwise;
// the listener is closed then, and no connection is left.
func (h *Hub) ServeDRPC(ctx context.Context, listener net.Listener) error {
	h.start()
	return h.transport.ServeDRPC(ctx, listener)
}

// ServeConn serves the DRPC services to one connection, which may be one end
// of a net.Pipe, and closes it. It returns when the peer hangs up, or ctx or
// the hub ends.
func (h *Hub) ServeConn(ctx context.Context, conn net.Conn) error {
	h.start()
	return h.transport.ServeConn(ctx, conn)
}

// Connected reports whether the agent has a live connection to this hub: one on
// which it has shown its token.
func (h *Hub) Connected(agentID string) bool { return h.transport.Connected(agentID) }

// Drain ends the agents' connections in good order: no new ones are taken,
// calls that are under way are answered, and then each connection is ended,
// which tells its agent to connect again. It returns when none is left, or
// with ctx's error; Close ends what is left then. It may be called twice.
func (h *Hub) Drain(ctx context.Context) error { return h.transport.Drain(ctx) }

// Close ends all connections and waits until nothing of the hub runs any
// more. It may be called twice, and before anything was served. The store
// stays open.
func (h *Hub) Close() error {
	h.presence.close()
	h.seen.close()
	h.webhooks.close()
	h.approvals.close()
	_ = h.consumer.Close() // never fails
	h.transport.Close()
	h.presence.wait()
	h.approvals.wait()
	h.seen.wait()
	h.webhooks.wait()
	h.seen.flush(context.Background())
	h.uses.flush(h)
	h.replicas.close()
	return nil
}

// Stats is how a hub is doing now.
type Stats struct {
	// Connections of agents, and agents that have one.
	Connections, Agents int
	// NotHeard counts connections whose agents have been told that another one
	// with the same token has taken over.
	NotHeard int
	// Channels is the number of reverse channels that are open.
	Channels int
	// Large is the number of large messages that are being received or stored.
	Large int
	// Streams is the number of streams of events, and of requests that wait
	// for news.
	Streams int
	// Draining says that the hub is about to stop.
	Draining bool
}

// Stats returns how the hub is doing now.
func (h *Hub) Stats() Stats {
	return Stats{
		Connections: h.transport.Connections(), Agents: len(h.transport.Agents()), NotHeard: h.writers.allNotHeard(), Large: h.transport.LargeMessages(),
		Channels: h.channels.count(), Streams: h.consumer.Streams(), Draining: h.transport.Draining(),
	}
}
