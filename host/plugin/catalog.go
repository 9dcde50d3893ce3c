package plugin

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"waymark/host/plugin/approvals"
	"waymark/host/sandbox"
	"waymark/internal/await"
)

// Catalog finds, judges, loads and follows resolver modules. Make one with New; see the
// package comment for its life.
type Catalog struct {
	opts      Options // as given to New
	log       *slog.Logger
	life      context.Context //nolint:containedctx // that of whoever owns the Catalog
	sandbox   *sandbox.Host
	approvals *approvals.Store
	check     await.Wake   // holds a token when the files need a look
	changed   await.Signal // the list, the watched paths or the number of loads

	// turn is held while changing the modules, for as long as compiling them takes. Its
	// holder owns the fields up to mu.
	turn          *await.Turn
	config        Config
	store         store
	builtin       *row             // of the built-in module; nil if there is none
	builtinDigest string           // empty until needed
	loaded        bool             // Load or Prepare has run
	held          map[*handle]bool // used by the holder of turn, besides lists
	unsaved       string           // why approvals couldn't be saved last time

	mu      sync.Mutex      // guards the fields below; not held during I/O or runs
	handles map[*handle]int // the number of lists with the handle, plus one for the holder of turn
	current *List           // replaced only under turn, whose holder may read it without mu
	watched Watched
	loads   int // active calls of Load
}

// New makes a Catalog without modules. Everything that it does ends with life, with its
// cause.
func New(life context.Context, opts Options, config Config) *Catalog {
	opts.setDefaults()
	c := &Catalog{
		opts: opts, log: opts.Logger, life: life, config: config,
		sandbox: sandbox.New(sandbox.Options{
			CacheDir: opts.CacheDir, KeyDir: opts.KeyDir, Compiler: opts.Compiler, Logger: opts.Logger,
			Running: opts.Running.Begin, Output: opts.GuestOutput,
		}),
		approvals: approvals.Open(opts.Approvals, opts.Logger),
		check:     await.NewWake(), turn: await.NewTurn(life),
		held: map[*handle]bool{}, handles: map[*handle]int{},
	}
	c.current = &List{catalog: c, users: 1}
	return c
}

// Changed returns a channel that is closed when the list, or the paths to watch, have
// changed. Call it before reading either.
func (c *Catalog) Changed() <-chan struct{} { return c.changed.Changed() }

// Watched returns the paths to watch. Call Check when something happens there.
func (c *Catalog) Watched() Watched {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watched
}

// Load finds out what the built-in module and every module file can do. An unchanged module
// that an earlier process has loaded isn't loaded again before it is needed. What can't be
// used is logged, and is a row of the list. The error is the context's, that of life, or that
// of Options.Builtin. Acquire waits for Load. Prepare interrupts it, and it then continues
// with the rest.
func (c *Catalog) Load(ctx context.Context) error {
	c.countLoads(1)
	defer c.countLoads(-1)
	return c.turn.Do(ctx, func(ctx context.Context) error {
		defer c.releaseHeld()
		rows, err := c.load(ctx, &c.config, func(v *version) bool { return v.remembered })
		if err != nil {
			return err
		}
		c.publish(rows)
		c.loaded = true
		return nil
	})
}

func (c *Catalog) countLoads(n int) {
	c.mu.Lock()
	c.loads += n
	c.mu.Unlock()
	c.changed.Notify()
}

// load looks at everything anew, without waiting for files to settle, and builds the list.
// Unchanged modules stay as they are. Those for which lazy returns true need not be loaded.
// The caller holds c.turn.
func (c *Catalog) load(ctx context.Context, config *Config, lazy func(*version) bool) ([]*row, error) {
	builtin, err := c.loadBuiltin(ctx, config)
	if err != nil {
		return nil, err
	}
	c.builtin = builtin
	v := c.survey(config, true)
	for _, f := range v.due {
		f.take(v.now, true)
		c.recognize(f.newest)
	}
	if err := c.describeAll(ctx, config); err != nil {
		return nil, err
	}
	return c.arrangeReady(ctx, config, func(p *row) bool { return !lazy(p.version) }, false)
}

// survey looks at all module files. It frees the names of files that no longer exist, and
// records what to watch.
func (c *Catalog) survey(config *Config, atOnce bool) *survey {
	v := newSurvey(&c.store, config, c.opts.Settle, time.Now(), atOnce)
	for _, path := range v.gone {
		c.approvals.Gone(path)
	}
	watched := c.store.watched()
	c.mu.Lock()
	same := slices.Equal(watched.Paths, c.watched.Paths) && slices.Equal(watched.Dirs, c.watched.Dirs)
	c.watched = watched
	c.mu.Unlock()
	if !same {
		c.changed.Notify()
	}
	return v
}

// Change is a configuration that is ready to be committed. Nothing else changes the modules
// until it is closed.
type Change struct {
	catalog *Catalog
	config  Config
	rows    []*row
	leave   func()
}

// Prepare loads what another configuration needs, and interrupts work in progress. It waits
// for modules at most Options.ReloadWithin. Those that aren't loaded by then are shown as
// compiling and, if Run is active, come into use when they are ready.
func (c *Catalog) Prepare(ctx context.Context, config Config) (*Change, error) {
	ctx, leave, err := c.turn.Urgent(ctx)
	if err != nil {
		return nil, err
	}
	change := &Change{catalog: c, config: config, leave: leave}
	if change.rows, err = c.loadSoon(ctx, &config); err != nil {
		change.Close()
		return nil, err
	}
	return change, nil
}

// loadSoon is load without the modules that can't be loaded in time. Run loads those.
func (c *Catalog) loadSoon(ctx context.Context, config *Config) ([]*row, error) {
	c.builtin = c.current.builtin()
	soon, cancel := context.WithTimeout(ctx, c.opts.ReloadWithin)
	defer cancel()
	rows, err := c.load(soon, config, func(*version) bool { return false })
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		c.log.Info("configuration in force before all modules are loaded", slog.Duration("after", c.opts.ReloadWithin))
		return c.arrange(config, false), nil
	}
	return rows, err
}

// Commit puts the configuration into effect.
func (ch *Change) Commit() {
	ch.catalog.config = ch.config
	ch.catalog.publish(ch.rows)
	ch.catalog.loaded = true
}

// Close ends the change, and discards it unless it was committed.
func (ch *Change) Close() {
	ch.catalog.releaseHeld()
	ch.leave()
	ch.catalog.Check()
}

// Close waits for work in progress and closes all modules. Life must have ended before. It
// may be called twice.
func (c *Catalog) Close() {
	c.turn.Close()
	c.mu.Lock()
	handles := c.handles
	c.handles = map[*handle]int{}
	c.mu.Unlock()
	for hd := range handles {
		hd.close()
	}
}
