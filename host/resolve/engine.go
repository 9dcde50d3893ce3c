package resolve

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/internal/defaults"
	"waymark/snapshot"
)

// Options configures an Engine. The zero value works.
type Options struct {
	// Parallel is the number of concurrent runs; 0 means GOMAXPROCS.
	Parallel int
	// MaxResourceBytes and MaxResources are part of each request, so that resolvers need not
	// do more. 0 means 256 KiB and 4000.
	MaxResourceBytes int64
	MaxResources     int
	// Limits bounds the file accesses of one run.
	Limits vfs.Limits
	// NoMemo makes every call run everything, for tests and benchmarks.
	NoMemo bool
	// Store keeps memos between processes; see Engine.Save. Nil keeps none.
	Store Store
	// Salt decides, besides the documented keys, whether a stored memo may be used; for
	// example the identity of the program.
	Salt string
	// Home is the user's home directory, which an import may begin with; empty if there is
	// none.
	Home string
	// TimeShare is how long a dropped-in module may run within two minutes, for all its
	// resolvers in all roots together; 0 means 30 s.
	TimeShare time.Duration
	// Now returns the time, for quarantines; nil means time.Now.
	Now func() time.Time
}

// Module is the module that resolvers belong to. It need not be loaded while memos have the
// answers.
type Module struct {
	Name, Version string
	// Digest is the SHA-256 of its file, in hexadecimal.
	Digest string
	// Get waits for the module to load, and returns it. An error counts as a failure of the
	// resolver.
	Get func(context.Context) (*sandbox.Module, error)
}

// Resolver is one resolver of a module, as the operator configured it.
type Resolver struct {
	Module Module
	Info   abi.Resolver
	// Config is the operator's table, a JSON object; nil means {}.
	Config []byte
	// Narrow and GrantSecrets are the operator's; see vfs.View.
	Narrow       []string
	GrantSecrets []string
	// Rank is the precedence; 0 is the highest.
	Rank int
	// DropIn is true unless the module is built in.
	DropIn bool
	// Places are patterns that the resolver sees besides its reads: those of the operator's
	// own conventions.
	Places []string
	// Manifests lets it see the manifests of bundles; see vfs.View.
	Manifests bool
	// Bundles says that it looks into the plugins that a root is or lists, and sees more of
	// such a root.
	Bundles bool
	// Conventions are those that rows may name.
	Conventions *Table
	// Limits replaces the fields of Options.Limits that aren't zero.
	Limits vfs.Limits
	// Children are directories at the top of a root that are projects of their own, in which
	// it sees what it sees in the root. Finds there are marked as theirs. Unless
	// ChildrenAlways is set, they are also marked as applying only to files there; see
	// snapshot.Resource.PutBelow.
	Children       []string
	ChildrenAlways bool
	// Nested are instruction files below the top of a root or of a child, which it sees. They
	// are marked as applying to the files of their directories.
	Nested []string
	// Off makes the resolver find nothing, without a run. Its outcomes have no Filter, which
	// would take longer to compile than the rest takes.
	Off bool
}

// ID is "module/resolver".
func (r *Resolver) ID() string { return r.Module.Name + "/" + r.Info.Name }

// by returns the value of Resource.Resolver.
func (r *Resolver) by() string { return r.ID() + "@" + r.Module.Version }

// Root is one root to resolve.
type Root struct {
	FS   *vfs.Root
	Role abi.Role
	// SourcePath is the user's source that led here; empty for other roots.
	SourcePath string
	// Scope says whose the finds are; empty means snapshot.ScopeProject.
	Scope snapshot.Scope
	// Resolvers, unless nil, replace the given resolvers for this root: as many, with the
	// same IDs.
	Resolvers []Resolver
	// Position is the value of Root in candidates from this root.
	Position int
	// Near, unless nil, holds link-free paths relative to the root where something has
	// happened. Only the parts of memos near these paths are rechecked; the rest counts as
	// unchanged. The caller must resolve the root without Near soon after.
	Near []string
}

// Outcome is what one resolver returned for one root.
type Outcome struct {
	Resolver string // "module/resolver"
	Root     string // the root's link-resolved path
	// Reused says that the result is a rechecked memo. Otherwise Changed is the path that
	// made a memo stale, relative to the root; empty if there was no memo.
	Reused  bool
	Changed string
	// Rewritten says that files of a memo were reread without running the resolver, which
	// would have seen the same. Reused is then set, too, and Changed is the path of one file.
	Rewritten bool
	// Err is why the run failed, or why there was none. The candidates are then the last good
	// ones whose files still exist, marked stale.
	Err error
	// Quarantined says that the resolver has failed too often in this root to be run again
	// soon. Err then holds numbers that change with each try.
	Quarantined bool
	// Rests says that it wasn't run because its module has run for too long lately, and
	// Postponed that nobody waited for it; see Patience. Err is then the error of its last
	// run, if any.
	Rests, Postponed bool
	// Failure is Err for observers that want only news: the error of the first in a sequence
	// of failures since a change of what the resolver had looked at. Further tries,
	// quarantines and variations of the error don't change it. It is nil if Err is.
	Failure error
	// Candidates may be shared with the previous outcome and with others: don't change them.
	Candidates []snapshot.Candidate
	// Uncounted is how many finds there are beyond the candidates, because the answer had
	// more rows than are decoded. Nothing else is known of them.
	Uncounted int
	Warnings  []string
	// Denied lists what the resolver asked for and may not see.
	Denied []vfs.Denial
	Logs   []sandbox.LogLine
	// Output is what the run wrote to its standard output and error; see sandbox.Result. It
	// is empty for a memo.
	Output   string `json:"-"`
	Duration time.Duration
	// Fuel is what the run used; see sandbox.Result.
	Fuel int64
	// LogsDropped counts log lines that were withheld or beyond the limit. Memory is the
	// run's peak in bytes, Used what it took of its file limits. Like Duration and Fuel they
	// are 0 for a memo.
	LogsDropped int
	Memory      int64
	Used        vfs.Usage

	// View is what the resolver may see of the root, Filter its compiled form; nil for a
	// resolver that is off.
	View   vfs.View    `json:"-"`
	Filter *vfs.Filter `json:"-"`
	// Trace is what the result depends on: the trace of the run, or of the memo. After a
	// failure it is the trace of the failed run, if any, and of the last good rows. Don't
	// show it: a resolver of MCP configurations could put a token into a path that it asks
	// for.
	Trace []vfs.Dep `json:"-"`
	// Shape is the same pointer as long as Trace names the same places, seen through the same
	// Filter. It is nil after a failure.
	Shape *Shape `json:"-"`

	units *vfs.Units // units of the last run that still hold
	// showable are the paths that may be shown; nil means all. See Observed.
	showable []string
}

// Shape stands for the places that a trace names.
type Shape struct{ _ byte }

// Engine runs resolvers and remembers their results.
type Engine struct {
	opts    Options
	filters filters
	setups  setups

	mu      sync.Mutex // guards what follows and the fields of entries; no file is read under it
	entries map[key]*entry
	good    map[lineage]*memo    // the last good answers, for versions that have none yet
	empty   map[key][]*memo      // see share
	kept    map[string]*keptRoot // by Root signature
	usage   map[string]*usage    // of dropped-in modules, by digest
}

// New makes an Engine.
func New(opts Options) *Engine {
	opts = defaults.Or(opts, Options{
		Parallel: runtime.GOMAXPROCS(0), MaxResourceBytes: snapshot.DefaultMaxResourceBytes, MaxResources: snapshot.DefaultMaxResources,
		TimeShare: timeShare, Now: time.Now,
	})
	opts.Limits.KeepBytes = opts.MaxResourceBytes
	return &Engine{opts: opts, entries: map[key]*entry{}, good: map[lineage]*memo{}, empty: map[key][]*memo{}, kept: map[string]*keptRoot{}, usage: map[string]*usage{}}
}

// Resolve runs every resolver on every root, unless a memo has the answer. It returns the
// outcomes ordered by root, then resolver. The only error is the context's: a failed run is
// an outcome.
func (e *Engine) Resolve(ctx context.Context, resolvers []Resolver, roots []Root) ([]Outcome, error) {
	outcomes := make([]Outcome, len(roots)*len(resolvers))
	var g errgroup.Group
	g.SetLimit(e.opts.Parallel)
	for i, root := range roots {
		for j := range resolvers {
			r := root.resolver(resolvers, j)
			g.Go(func() error {
				o := &outcomes[i*len(resolvers)+j]
				*o = e.resolveOne(ctx, r, root, nil)
				return nil
			})
		}
	}
	_ = g.Wait() // the goroutines return nil
	return outcomes, ctx.Err()
}

// At returns a copy of outcomes with another position of their root.
func At(position int, outcomes []Outcome) []Outcome {
	given := outcomes
	for i := range given {
		if c := given[i].Candidates; len(c) == 0 || c[0].Root == position {
			continue
		}
		if &outcomes[0] == &given[0] {
			outcomes = slices.Clone(given)
		}
		moved := slices.Clone(given[i].Candidates)
		for c := range moved {
			moved[c].Root = position
		}
		outcomes[i].Candidates = moved
	}
	return outcomes
}

// resolver returns the i-th given resolver, or the root's own in its place.
func (root *Root) resolver(given []Resolver, i int) *Resolver {
	if root.Resolvers != nil {
		return &root.Resolvers[i]
	}
	return &given[i]
}

// maxRows bounds the rows of one answer whose content is read: as many as a snapshot lists.
func (e *Engine) maxRows() int { return max(snapshot.DefaultMaxListed, e.opts.MaxResources) }

func (e *Engine) limits(r *Resolver) vfs.Limits {
	return r.Limits.Or(e.opts.Limits)
}

func (e *Engine) request(r *Resolver, root Root) *abi.Request {
	most := e.opts.MaxResources
	if r.DropIn { // no need to open thousands of files for rows that are dropped later
		most = min(most, snapshot.CoderMaxResources)
	}
	name := root.FS.Name()
	if r.ignoresName(root) {
		name = ""
	}
	return &abi.Request{
		ABI: abi.Version, Resolver: r.Info.Name,
		Root:   abi.Root{Name: name, File: root.FS.File(), Role: root.Role},
		Config: r.Config,
		Limits: abi.Limits{MaxResourceBytes: e.opts.MaxResourceBytes, MaxResources: most},
	}
}
