package plugin

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"waymark/host/plugin/approvals"
	"waymark/host/sandbox"
	"waymark/internal/notify"
	"waymark/internal/priolock"
)

// Catalog finds, judges, loads and follows resolver modules. Make one with New;
// see the package comment for its life.
type Catalog struct {
	opts      Options // as they were given to New
	log       *slog.Logger
	life      context.Context //nolint:containedctx // that of whoever owns the Catalog
	sandbox   *sandbox.Host
	approvals *approvals.Store
	check     notify.Wake   // holds a token while the files are to be looked at
	changed   notify.Signal // the list, what is to be watched, or the number of loads

	// Whoever changes the modules takes the turn and owns the fields up to mu.
	// It may be held for as long as modules are compiled.
	turn          *priolock.Turn
	config        Config
	store         store
	builtin       *row             // of the built-in module; nil when there is none
	builtinDigest string           // empty until it is needed
	loaded        bool             // Load or Prepare has been there
	held          map[*handle]bool // what the turn uses, beside lists
	unsaved       string           // why approvals weren't kept when it was tried last

	mu      sync.Mutex      // guards the fields below; nothing is read or run under it
	handles map[*handle]int // the number of lists that have one, and one more for the turn
	current *List           // replaced under the turn, so that whoever has it may read it without mu
	watched Watched
	loads   int // calls of Load that are going on
}

// New makes a Catalog without modules. Everything that it does ends with life,
// with its cause.
func New(life context.Context, opts Options, config Config) *Catalog {
	opts.setDefaults()
	c := &Catalog{
		opts: opts, log: opts.Logger, life: life, config: config,
		sandbox: sandbox.New(sandbox.Options{
			CacheDir: opts.CacheDir, KeyDir: opts.KeyDir, Compiler: opts.Compiler, Logger: opts.Logger,
			Running: opts.Running.Begin, Output: opts.GuestOutput,
		}),
		approvals: approvals.Open(opts.Approvals, opts.Logger),
		check:     notify.NewWake(), turn: priolock.New(life),
		held: map[*handle]bool{}, handles: map[*handle]int{},
	}
	c.current = &List{catalog: c, users: 1}
	return c
}

// Changed returns a channel that is closed when there is another list, or
// something else to watch. Take it before you ask for either.
func (c *Catalog) Changed() <-chan struct{} { return c.changed.Changed() }

// Watched returns what has to be watched; whoever does so calls Check when
// something happens there.
func (c *Catalog) Watched() Watched {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watched
}

// Load finds out what the built-in module and every module file can do. A
// module that was loaded by an earlier process, and hasn't changed, isn't loaded
// again before it is needed. What can't be used is a row of the list and logged;
// the error is the context's, that of life, or that of Options.Builtin. Acquire
// waits for it. Prepare interrupts it; it goes on after that with what is left
// to do.
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

// load looks at everything anew, at once, and puts the list together. Modules
// that are the same as before stay as they are; those for which lazy
// is true need not be loaded. The caller has the turn.
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

// survey looks at all module files. It lets the names of those that exist no
// more be used anew, and keeps what is to be watched.
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

// Change is a configuration that is ready to be put in force. Nothing else
// changes the modules until it is closed.
type Change struct {
	catalog *Catalog
	config  Config
	rows    []*row
	leave   func()
}

// Prepare loads what another configuration needs, and interrupts what is going
// on. It waits no longer than Options.ReloadWithin for modules: those that aren't
// loaded by then are shown as being compiled, and come into use when they are
// ready, if Run is there to do it.
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

// loadSoon is load, but for modules that can't be loaded in time. They are left
// to Run.
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

// Commit puts the configuration in force.
func (ch *Change) Commit() {
	ch.catalog.config = ch.config
	ch.catalog.publish(ch.rows)
	ch.catalog.loaded = true
}

// Close ends the change, which counts for nothing unless it was committed.
func (ch *Change) Close() {
	ch.catalog.releaseHeld()
	ch.leave()
	ch.catalog.Check()
}

// Close waits for what is going on and closes all modules. Life has to end
// before. It may come twice.
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
