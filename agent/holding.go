package agent

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"waymark/agentapi"
	"waymark/workspace/launch"
	"waymark/workspace/supervisor"
)

// unit is the systemd unit template for supervisors, which packaging/ provides.
const unit = "waymark-supervisor@.service"

// holding is the client of a workspace's supervisor. The first call that needs it connects,
// and starts a supervisor if none runs. Most agents never hold a process, so most start
// none.
type holding struct {
	options supervisor.Options
	// turn serializes connecting.
	turn *semaphore.Weighted
	// helper is the program that holds processes; zero when that is this program itself.
	helper launch.Helper

	mu     sync.Mutex // guards client and options.Limits
	client supervisor.Client
}

var _ supervisor.Client = (*holding)(nil)

func newHolding(d *Agent, limits supervisor.Limits) *holding {
	places := d.workspace.places
	h := &holding{
		turn: semaphore.NewWeighted(1),
		options: supervisor.Options{
			Dir: places.State.In("processes").Path(), Socket: filepath.Join(filepath.Dir(places.Socket), places.ID+"-p.sock"),
			Unit: unit, Logger: d.log, Limits: limits,
		},
	}
	helper, err := launch.FindHelper()
	if errors.Is(err, launch.ErrOtherHelper) {
		d.log.Warn("the agent holds processes itself", slog.Any("error", err))
	}
	h.helper = helper
	if h.options.Program, err = supervisor.Program(d.opts.Self); err != nil {
		d.log.Warn("no process can be started", slog.Any("error", err))
	}
	return h
}

// opened returns the connection, or nil if there is none yet.
func (h *holding) opened() supervisor.Client {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.client
}

// bound sets the limits for the next supervisor to be started.
func (h *holding) bound(limits supervisor.Limits) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.options.Limits = limits
}

// open connects. A failed attempt doesn't prevent later calls from trying again.
func (h *holding) open(ctx context.Context) (supervisor.Client, error) {
	if c := h.opened(); c != nil {
		return c, nil
	}
	if h.turn.Acquire(ctx, 1) != nil {
		return nil, context.Cause(ctx)
	}
	defer h.turn.Release(1)
	if c := h.opened(); c != nil {
		return c, nil
	}
	if err := os.MkdirAll(filepath.Dir(h.options.Socket), 0o700); err != nil {
		return nil, err
	}
	h.mu.Lock()
	options := h.options
	h.mu.Unlock()
	if h.helper.Replaced() { // systemd would start the replaced program
		options.Unit = ""
	}
	c, err := supervisor.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.client = c
	return c, nil
}

// inUse reports whether there is a supervisor to ask: this agent has connected to one, or
// an earlier agent has left one.
func (h *holding) inUse() bool {
	return h.opened() != nil || supervisor.Left(h.options.Dir)
}

// Instance implements supervisor.Client, like the methods that follow.
func (h *holding) Instance(ctx context.Context) (string, error) {
	c, err := h.open(ctx)
	if err != nil {
		return "", err
	}
	return c.Instance(ctx)
}

// Start starts a process.
func (h *holding) Start(ctx context.Context, spec *supervisor.Spec) (supervisor.Info, bool, error) {
	c, err := h.open(ctx)
	if err != nil {
		return supervisor.Info{}, false, err
	}
	return c.Start(ctx, spec)
}

// List lists the processes. It never starts a supervisor.
func (h *holding) List(ctx context.Context) ([]supervisor.Info, error) {
	if !h.inUse() {
		return nil, nil
	}
	c, err := h.open(ctx)
	if err != nil {
		return nil, err
	}
	return c.List(ctx)
}

// Detached never starts a supervisor.
func (h *holding) Detached(ctx context.Context) ([]int, error) {
	if !h.inUse() {
		return nil, nil
	}
	c, err := h.open(ctx)
	if err != nil {
		return nil, err
	}
	return c.Detached(ctx)
}

// Get never starts a supervisor.
func (h *holding) Get(ctx context.Context, id string) (supervisor.Info, error) {
	if !h.inUse() {
		return supervisor.Info{}, supervisor.ErrNotFound
	}
	c, err := h.open(ctx)
	if err != nil {
		return supervisor.Info{}, err
	}
	return c.Get(ctx, id)
}

func (h *holding) Read(ctx context.Context, id string, offset int64, limit int, wait time.Duration) (supervisor.Page, error) {
	c, err := h.open(ctx)
	if err != nil {
		return supervisor.Page{}, err
	}
	return c.Read(ctx, id, offset, limit, wait)
}

func (h *holding) Wait(ctx context.Context, id string) (supervisor.Info, error) {
	c, err := h.open(ctx)
	if err != nil {
		return supervisor.Info{}, err
	}
	return c.Wait(ctx, id)
}

func (h *holding) Signal(ctx context.Context, id string, signal os.Signal) error {
	c, err := h.open(ctx)
	if err != nil {
		return err
	}
	return c.Signal(ctx, id, signal)
}

func (h *holding) WriteStdin(ctx context.Context, id string, data []byte, end bool) error {
	c, err := h.open(ctx)
	if err != nil {
		return err
	}
	return c.WriteStdin(ctx, id, data, end)
}

func (h *holding) Resize(ctx context.Context, id string, size agentapi.TerminalSize) error {
	c, err := h.open(ctx)
	if err != nil {
		return err
	}
	return c.Resize(ctx, id, size)
}

func (h *holding) Token(ctx context.Context, token string) (id string, found, pending bool, age time.Duration, err error) {
	c, err := h.open(ctx)
	if err != nil {
		return "", false, false, 0, err
	}
	return c.Token(ctx, token)
}

func (h *holding) Cancel(ctx context.Context, id string, t supervisor.Tracked, wait time.Duration) (bool, *supervisor.Info, error) {
	c, err := h.open(ctx)
	if err != nil {
		return false, nil, err
	}
	return c.Cancel(ctx, id, t, wait)
}

func (h *holding) StartOwned(ctx context.Context, spec *supervisor.Spec) (supervisor.Owned, error) {
	c, err := h.open(ctx)
	if err != nil {
		return nil, err
	}
	return c.StartOwned(ctx, spec)
}

// Stop ends everything that is held. It never starts a supervisor.
func (h *holding) Stop(ctx context.Context) error {
	if !h.inUse() {
		return nil
	}
	c, err := h.open(ctx)
	if err != nil {
		return err
	}
	return c.Stop(ctx)
}

// Close closes the connection; the processes keep running.
func (h *holding) Close() error {
	c := h.opened()
	if c == nil {
		return nil
	}
	return c.Close()
}
