package hub

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"storj.io/drpc/drpcmux"

	"waymark/hub/store"
	"waymark/wire/coder"
	"waymark/wire/waymark"
)

// DefaultMaxConnections is enough for thousands of agents at some 100 KiB
// each, and below the usual limits of open files.
const DefaultMaxConnections = 4096

// Options configure a Hub. Only Store must be set.
type Options struct {
	// Store keeps everything. The hub doesn't close it.
	Store store.Store
	// Logger gets what happens, without payloads and tokens; nil means none.
	Logger *slog.Logger
	// AllowHosts are further names under which the HTTP API may be called:
	// those of a reverse proxy, for example. A port is ignored.
	AllowHosts []string
	// MaxConnections bounds the DRPC connections; 0 means
	// DefaultMaxConnections.
	MaxConnections int
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Hub is a control plane. New makes one, Handler and ServeDRPC put it to
// work, Close ends it.
type Hub struct {
	store      store.Store
	log        *slog.Logger
	now        func() time.Time
	allowHosts map[string]bool
	mux        *drpcmux.Mux
	live       live

	// ctx ends when Close is called.
	ctx    context.Context
	cancel context.CancelFunc
	// slots holds one element for each connection that is open.
	slots chan struct{}

	mu     sync.Mutex // guards closed, and running against Add after Wait
	closed bool
	// running counts the calls of ServeDRPC and ServeConn.
	running sync.WaitGroup
}

// New makes a hub. It doesn't start anything.
func New(opts Options) (*Hub, error) {
	if opts.Store == nil {
		return nil, errors.New("hub: a store is needed")
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.MaxConnections <= 0 {
		opts.MaxConnections = DefaultMaxConnections
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	h := &Hub{
		store: opts.Store, log: opts.Logger, now: opts.Now,
		allowHosts: make(map[string]bool),
		mux:        drpcmux.New(),
		live:       live{count: make(map[string]int)},
		slots:      make(chan struct{}, opts.MaxConnections),
	}
	for _, name := range opts.AllowHosts {
		h.allowHosts[hostname(name)] = true
	}
	if err := waymark.DRPCRegisterContext(h.mux, &contextService{hub: h}); err != nil {
		return nil, err
	}
	if err := coder.DRPCRegisterAgent(h.mux, &agentService{hub: h}); err != nil {
		return nil, err
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h, nil
}

// ErrClosed says that the hub was closed before it was asked to serve.
var ErrClosed = errors.New("hub is closed")

// begin registers a call that Close has to wait for. The context ends with
// the caller's and with the hub; end must be called.
func (h *Hub) begin(ctx context.Context) (_ context.Context, end func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, nil, ErrClosed
	}
	h.running.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.ctx, cancel)
	return ctx, func() { stop(); cancel(); h.running.Done() }, nil
}

// Close ends all connections and waits until nothing of the hub runs any
// more. It may be called twice, and before anything was served. The store
// stays open.
func (h *Hub) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.cancel()
	h.running.Wait()
	return nil
}
