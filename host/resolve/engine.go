package resolve

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/snapshot"
	"waymark/host/vfs"
)

// Options configures an Engine. The zero value works.
type Options struct {
	// Parallel is the number of runs at a time; 0 means GOMAXPROCS.
	Parallel int
	// MaxResourceBytes and MaxResources are told to resolvers, so that they
	// need not do more. 0 means 64 KiB and 500.
	MaxResourceBytes int64
	MaxResources     int
	// Limits bounds the file accesses of one run.
	Limits vfs.Limits
	// NoMemo makes every call run everything, for tests and benchmarks.
	NoMemo bool
}

// Resolver is one resolver of a loaded module, as the operator set it up.
type Resolver struct {
	Module *sandbox.Module
	Info   abi.Resolver
	// Config is the operator's table, a JSON object; nil means {}.
	Config []byte
	// Narrow and GrantSecrets are the operator's; see vfs.View.
	Narrow       []string
	GrantSecrets []string
	// Rank is the precedence; 0 is the highest.
	Rank int
	// DropIn is true for what isn't built in.
	DropIn bool
	// Limits replaces the fields of Options.Limits that aren't zero.
	Limits vfs.Limits
}

// ID is "module/resolver".
func (r *Resolver) ID() string { return r.Module.Description().Name + "/" + r.Info.Name }

// by is what Resource.Resolver holds.
func (r *Resolver) by() string { return r.ID() + "@" + r.Module.Description().Version }

// Root is one root to look at.
type Root struct {
	FS   *vfs.Root
	Role abi.Role
	// SourcePath is the user's source that led here; empty for the others.
	SourcePath string
}

// Outcome is what one resolver gave for one root.
type Outcome struct {
	Resolver string // "module/resolver"
	Root     string // the root's link-resolved path
	// Reused says that the result is a memo, re-checked. Otherwise Changed is
	// the path that made a memo stale, relative to the root; empty when there
	// was none.
	Reused  bool
	Changed string
	// Err is why the run failed; the outcome then has no candidates.
	Err        error
	Candidates []snapshot.Candidate
	Warnings   []string
	// Denied lists what the resolver asked for and may not see.
	Denied   []vfs.Denial
	Logs     []sandbox.LogLine
	Duration time.Duration
}

// Engine runs resolvers and remembers their results.
type Engine struct {
	opts Options

	mu    sync.Mutex // guards memos; no file is read under it
	memos map[key]*memo
}

// New makes an Engine.
func New(opts Options) *Engine {
	if opts.Parallel <= 0 {
		opts.Parallel = runtime.GOMAXPROCS(0)
	}
	if opts.MaxResourceBytes <= 0 {
		opts.MaxResourceBytes = 64 << 10
	}
	if opts.MaxResources <= 0 {
		opts.MaxResources = 500
	}
	opts.Limits.KeepBytes = opts.MaxResourceBytes
	return &Engine{opts: opts, memos: map[key]*memo{}}
}

// Resolve runs every resolver on every root, as far as memos don't answer, and
// returns the outcomes in order of roots, then resolvers. The error is the
// context's alone: a run that fails is an outcome.
func (e *Engine) Resolve(ctx context.Context, resolvers []Resolver, roots []Root) ([]Outcome, error) {
	outcomes := make([]Outcome, len(roots)*len(resolvers))
	var g errgroup.Group
	g.SetLimit(e.opts.Parallel)
	for i, root := range roots {
		for j := range resolvers {
			g.Go(func() error {
				o := &outcomes[i*len(resolvers)+j]
				*o = e.one(ctx, &resolvers[j], root)
				for c := range o.Candidates {
					o.Candidates[c].Root = i
				}
				return nil
			})
		}
	}
	_ = g.Wait() // the goroutines return nil
	return outcomes, ctx.Err()
}

// one answers for one (resolver, root), from the memo when it is fresh.
func (e *Engine) one(ctx context.Context, r *Resolver, root Root) Outcome {
	o := Outcome{Resolver: r.ID(), Root: root.FS.Path()}
	k := keyOf(r, root)
	m := e.recall(k)
	if m != nil {
		f := root.FS.Check(m.filter, m.trace)
		if f.Fresh {
			e.remember(k, m.renewed(f.Deps))
			m.fill(&o)
			o.Reused = true
			return o
		}
		o.Changed = f.Changed
	}
	filter, err := e.filter(m, r, root)
	if err == nil {
		m, err = e.run(ctx, r, root, filter, &o)
	}
	if err != nil {
		o.Err = err
		e.forget(k)
		return o
	}
	e.remember(k, m)
	m.fill(&o)
	return o
}

// filter compiles what a resolver may see, or takes it over from its memo.
func (e *Engine) filter(m *memo, r *Resolver, root Root) (*vfs.Filter, error) {
	if m != nil {
		return m.filter, nil
	}
	return viewOf(r, root).Compile()
}

// run runs a resolver and makes a memo of the result.
func (e *Engine) run(ctx context.Context, r *Resolver, root Root, filter *vfs.Filter, o *Outcome) (*memo, error) {
	run := root.FS.Begin(filter, e.limits(r))
	defer func() { _ = run.Close() }()
	res, err := r.Module.Resolve(ctx, e.request(r, root), run)
	o.Logs, o.Duration = res.Logs, res.Duration
	if err != nil {
		o.Denied = deniedTo(r, run)
		return nil, err
	}
	rows := rowReader{resolver: r, by: r.by(), root: root, run: run, maxInline: e.opts.MaxResourceBytes}
	candidates := rows.read(res.Response)
	// A limit that only the host's own reading exceeded ends the run as well:
	// what was read until then is not the whole answer.
	if err := run.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", r.ID(), err)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if n := run.HiddenNames(); n > 0 {
		rows.warn(plural(n, "name is", "names are") + " not valid UTF-8 and not shown to the resolver")
	}
	return &memo{
		filter: filter, trace: run.Trace(), candidates: candidates,
		warnings: rows.warnings, denied: deniedTo(r, run),
	}, nil
}

// deniedTo lists what was refused. Of a resolver that reads MCP configurations
// only what it declared by name is told: any other path could be made of a
// token.
func deniedTo(r *Resolver, run *vfs.Run) []vfs.Denial {
	denied := run.Denied()
	if withholds(r) {
		denied = slices.DeleteFunc(denied, func(d vfs.Denial) bool { return !slices.Contains(r.Info.Reads, d.Path) })
	}
	return denied
}

func (e *Engine) limits(r *Resolver) vfs.Limits {
	l := e.opts.Limits
	l.Opens = cmp.Or(r.Limits.Opens, l.Opens)
	l.ReadBytes = cmp.Or(r.Limits.ReadBytes, l.ReadBytes)
	l.Entries = cmp.Or(r.Limits.Entries, l.Entries)
	return l
}

func (e *Engine) request(r *Resolver, root Root) *abi.Request {
	return &abi.Request{
		ABI: abi.Version, Resolver: r.Info.Name,
		Root:   abi.Root{Name: root.FS.Name(), File: root.FS.File(), Role: root.Role},
		Config: r.Config,
		Limits: abi.Limits{MaxResourceBytes: e.opts.MaxResourceBytes, MaxResources: e.opts.MaxResources},
	}
}
