package hub

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"storj.io/drpc/drpcmux"

	"waymark/hub/consumer"
	"waymark/hub/page"
	"waymark/hub/store"
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
	Limits   Limits
	Consumer consumer.Limits
	// Observe is told of every call for a push, by the goroutine that serves it.
	// Nil means nobody is.
	Observe func(PushObserved)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Hub is a control plane. New makes one, Handler, ServeDRPC and ServeConn put
// it to work, Close ends it.
type Hub struct {
	store      store.Store
	log        *slog.Logger
	now        func() time.Time
	allowHosts map[string]bool
	mux        *drpcmux.Mux
	limits     Limits
	live       live
	seed       maphash.Seed // for the ids in a base
	// elsewhere are the agents connected to other hubs; nil where there are none.
	elsewhere atomic.Pointer[[]string]
	page      *page.Page
	consumer  *consumer.API

	observe func(PushObserved)
	drain   drain

	// ctx ends when Close is called.
	ctx    context.Context
	cancel context.CancelFunc
	// What there is a bounded number of, an element for each that is taken:
	// connections, large calls, and those that take much to decode.
	places, large, heavy chan struct{}
	// door is that of connections that come from the caller of ServeConn.
	door *door
	// These keep lines about connections few.
	refused, notAccepted, dismissed rarely
	// uses is when tokens were used last.
	uses uses
	// rate bounds the calls and connections of all together; strangers stands
	// for whoever hasn't shown a token.
	rate      *rate.Limiter
	strangers *holder

	mu         sync.Mutex // guards closed, rechecking and sharing, and running against Add after Wait
	closed     bool
	rechecking bool
	sharing    bool
	// running counts the connections, and what looks after them.
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
	opts.Limits.setDefaults()
	if opts.Now == nil {
		opts.Now = time.Now
	}
	h := &Hub{
		store: opts.Store, log: opts.Logger, now: opts.Now,
		allowHosts: make(map[string]bool),
		mux:        drpcmux.New(),
		limits:     opts.Limits,
		seed:       maphash.MakeSeed(),
		places:     make(chan struct{}, opts.Limits.Connections),
		large:      make(chan struct{}, opts.Limits.Large),
		heavy:      make(chan struct{}, heavyCalls),
		rate:       rate.NewLimiter(rate.Limit(opts.Limits.TotalRate), opts.Limits.TotalBurst),
	}
	h.observe = opts.Observe
	h.drain.init()
	h.live.init(&h.limits)
	h.strangers = h.live.newHolder("")
	h.door = h.plainDoor("inside")
	h.page = h.newPage()
	h.consumer = h.newConsumer(opts.Consumer)
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
	if h.closed || h.drain.begun() {
		return nil, nil, ErrClosed
	}
	if !h.rechecking {
		h.rechecking = true
		h.running.Go(h.recheckTokens)
	}
	h.startPresence()
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
	_ = h.consumer.Close() // never fails
	h.running.Wait()
	h.uses.flush(h)
	return nil
}
