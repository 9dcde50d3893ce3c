package shared

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/store/sqlite"
	"waymark/internal/await"
	"waymark/internal/httpapi"
)

// Options configure a Hub. State and Socket are required.
type Options struct {
	// State is the user's existing state directory. It has hub.db, the reader's token and
	// files for coordination.
	State string
	// Socket is the path of the socket for agents if this process holds the hub.
	Socket string
	// DrainTimeout is that of hub.ListenOptions.
	DrainTimeout time.Duration
	// Every is the interval at which a client tries to take the hub, in addition to when it
	// can't reach it; 0 means every 2 seconds.
	Every time.Duration
	// Logger receives the hub's log; nil means no log.
	Logger *slog.Logger
}

const (
	defaultEvery = 2 * time.Second
	// socketFreeWithin is how long the socket of a killed process may still exist. The
	// kernel releases its lock a moment earlier or later.
	socketFreeWithin = 5 * time.Second
	socketFreeEvery  = 10 * time.Millisecond
	// A client that has the lock but can't open the hub tries again after a second, then
	// less often. Usually the disk is the reason.
	openAgain, openAgainLongest = time.Second, 30 * time.Second
)

// Hub is a process's part of the user's hub.
type Hub struct {
	opts Options
	log  *slog.Logger
	lock *flock.Flock // for Open, Run and Close
	lost await.Signal // signals that the hub wasn't reached, or a connection to it has ended

	mu     sync.Mutex  // guards the fields below
	server *hub.Server // nil while this process doesn't hold the hub
	last   string      // the last known URL of the hub
}

// New makes a Hub. It accesses nothing.
func New(opts Options) *Hub {
	opts.Every = cmp.Or(opts.Every, defaultEvery)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	return &Hub{opts: opts, log: opts.Logger, lock: flock.New(filepath.Join(opts.State, "hub.lock"), flock.SetPermissions(0o600),
		flock.SetFlag(os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK))}
}

// Open takes the hub if nobody holds it. An error says why there can be no hub.
func (h *Hub) Open(ctx context.Context) error {
	held, err := h.lock.TryLock()
	if err != nil {
		return fmt.Errorf("%s: %w", h.lock.Path(), err)
	}
	if !held {
		return nil
	}
	if err := h.open(ctx, hub.DefaultHTTP); err != nil {
		return errors.Join(err, h.lock.Unlock())
	}
	return nil
}

// Run serves the hub while this process holds it, and otherwise waits for it, until ctx
// ends.
func (h *Hub) Run(ctx context.Context) {
	pause := await.Backoff{Shortest: openAgain, Longest: openAgainLongest, Jitter: true}
	for ctx.Err() == nil {
		err := h.takeOver(ctx)
		if err == nil {
			pause.Worked()
			err = h.serve(ctx)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		wait := pause.Next()
		h.log.Error("the hub of your agents doesn't run here; another agent may take it over", slog.Any("error", err), slog.Duration("again_in", wait))
		_ = await.Sleep(ctx, wait) // the loop checks ctx
	}
	h.report(h.Close())
}

// takeOver waits until this process holds the hub.
func (h *Hub) takeOver(ctx context.Context) error {
	if h.Holds() {
		return nil
	}
	h.remember()
	if err := h.waitForLock(ctx); err != nil {
		return err
	}
	h.remember()
	h.mu.Lock()
	last := h.last
	h.mu.Unlock()
	if err := h.open(ctx, cmp.Or(strings.TrimPrefix(last, "http://"), hub.DefaultHTTP)); err != nil {
		return errors.Join(err, h.lock.Unlock())
	}
	return nil
}

// waitForLock returns when this process has the lock.
func (h *Hub) waitForLock(ctx context.Context) error {
	ticker := time.NewTicker(h.opts.Every)
	defer ticker.Stop()
	for {
		lost := h.lost.Changed()
		if held, err := h.lock.TryLock(); held || err != nil {
			return err
		}
		select {
		case <-lost:
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// remember records the hub's address, so that the next holder can use the same one.
func (h *Hub) remember() {
	if place, err := readPlace(placeFile(h.opts.State)); err == nil {
		h.saw(place)
	}
}

func (h *Hub) saw(place *Place) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = place.URL
}

// open makes the server. The caller has the lock.
func (h *Hub) open(ctx context.Context, address string) error {
	server, err := h.listen(ctx, address)
	if err != nil {
		return err
	}
	reader := store.NewToken{Role: store.RoleReader, Name: "local"}
	_, _, err = hub.EnsureToken(ctx, server.Store(), reader, ReaderFile(h.opts.State))
	place := Place{URL: server.HTTPURL(), Socket: h.opts.Socket, PID: os.Getpid(), DB: "sqlite:" + database(h.opts.State)}
	if err == nil {
		err = place.write(h.opts.State)
	}
	if err != nil {
		return errors.Join(err, server.Close())
	}
	h.mu.Lock()
	h.server, h.last = server, place.URL
	h.mu.Unlock()
	h.log.Info("this agent runs the hub", slog.String("http", place.URL), slog.String("socket", place.Socket))
	return nil
}

// listen opens port, socket and database. The socket of the last holder may still exist a
// moment after its lock was released.
func (h *Hub) listen(ctx context.Context, address string) (*hub.Server, error) {
	late := time.Now().Add(socketFreeWithin)
	for {
		server, err := hub.Listen(ctx, hub.ListenOptions{
			DB: "sqlite:" + database(h.opts.State), HTTP: address, FreePort: true, DRPC: []string{"unix:" + h.opts.Socket},
			Logger: h.log, DrainTimeout: h.opts.DrainTimeout,
		})
		if !errors.Is(err, httpapi.ErrInUse) {
			return server, err
		}
		if time.Now().After(late) {
			return nil, fmt.Errorf("socket %s: %w by something that isn't a hub of your agents: end that", h.opts.Socket, httpapi.ErrInUse)
		}
		if err := await.Sleep(ctx, socketFreeEvery); err != nil {
			return nil, err
		}
	}
}

// serve runs the server, and releases the hub afterwards.
func (h *Hub) serve(ctx context.Context) error {
	h.mu.Lock()
	server := h.server
	h.mu.Unlock()
	return errors.Join(server.Run(ctx), h.Close())
}

// Close releases the hub if this process holds it. Everything is closed, and another
// process can take over at once.
func (h *Hub) Close() error {
	h.mu.Lock()
	server := h.server
	h.server = nil
	h.mu.Unlock()
	if server == nil {
		return h.lock.Close()
	}
	err := os.Remove(placeFile(h.opts.State))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(server.Close(), err, h.lock.Close())
}

func (h *Hub) report(err error) {
	if err != nil {
		h.log.Warn("the hub didn't end well", slog.Any("error", err))
	}
}

// Holds reports whether this process holds the hub.
func (h *Hub) Holds() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.server != nil
}

// URL returns the current or last known address of the HTTP API; empty if it is unknown.
func (h *Hub) URL() string {
	h.remember()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// Dial connects to the hub for plain DRPC, whoever holds it. Readers of the connection
// notice the end of the holder, and so does Run.
func (h *Hub) Dial(ctx context.Context) (conn net.Conn, err error) {
	place, err := readPlace(placeFile(h.opts.State))
	if err == nil {
		h.saw(place)
		conn, err = place.dial(ctx)
	}
	if err != nil {
		h.lost.Notify()
		return nil, err
	}
	return &noticed{conn, &h.lost}, nil
}

// noticed is a connection that reports its end.
type noticed struct {
	net.Conn
	lost *await.Signal
}

// Read implements net.Conn.
func (c *noticed) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.lost.Notify()
	}
	return n, err
}

// Token is hub.EnsureToken for this hub. If another process holds it, the database is
// opened for a moment in addition.
func (h *Hub) Token(ctx context.Context, token store.NewToken, file string) (text string, _ store.Token, err error) {
	h.mu.Lock()
	server := h.server
	h.mu.Unlock()
	if server != nil {
		return hub.EnsureToken(ctx, server.Store(), token, file)
	}
	db, err := sqlite.Open(ctx, database(h.opts.State), sqlite.Options{Logger: h.log})
	if err != nil {
		return "", store.Token{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return hub.EnsureToken(ctx, db, token, file)
}

func database(state string) string { return filepath.Join(state, "hub.db") }

// ReaderFile returns the path of the token with which the user reads from the hub. It
// exists as soon as there was a holder.
func ReaderFile(state string) string { return filepath.Join(state, "reader.token") }
