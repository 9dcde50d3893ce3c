package host

import (
	"cmp"
	"encoding/json"
	"io"
	"log/slog"
	"time"

	"waymark/abi"
	"waymark/host/config"
	"waymark/host/places"
	"waymark/host/plugin"
	"waymark/host/push"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/host/watch"
	"waymark/internal/reexec"
	"waymark/snapshot"
)

// Options configures a Host. The zero value works and finds nothing: it has
// neither modules nor roots.
type Options struct {
	// Builtin returns the built-in resolver module, always the same; nil means
	// that there is none. It is called when the bytes are needed, so that they
	// need not be kept.
	Builtin func() ([]byte, error)
	// BuiltinDigest returns its SHA-256; see plugin.Options.
	BuiltinDigest func() (string, error)
	// BuiltinNative gives the built-in module's native code, compiled ahead of
	// time; see sandbox.Ahead. It may be nil, and may return nil.
	BuiltinNative func() io.ReaderAt
	// Home is the user's home directory, for advice and for imports that begin with it;
	// empty when there is none.
	Home string
	// ClientVariables are the environment variables of clients.Variables that are set: they
	// say where coding agents look, in the place of a directory in Home.
	ClientVariables map[string]string
	// Once says that the Host is there for a look or two, and nobody calls Run:
	// advice is then about what to call it with.
	Once bool

	// DisableBuiltin names built-in resolvers that are not run.
	DisableBuiltin []string
	// BuiltinConfig holds a JSON object per built-in resolver.
	BuiltinConfig map[string][]byte
	// BuiltinNames gives files that a built-in resolver looks for another
	// name, old to new, in the patterns of what it may read.
	BuiltinNames map[string]map[string]string

	// PluginFiles are module files that are used as if they lay in a directory
	// before PluginDirs, in order. Whoever may write to them is not looked at:
	// an operator who names a file means it.
	PluginFiles []string
	// Own are the agent's own places, by absolute paths: no resolver sees them.
	Own []string
	// PluginDirs are searched for *.wasm files, in order. A directory that
	// doesn't exist holds none; Run waits for it.
	PluginDirs []string
	// RefusePlugins says why no module of one of PluginDirs, or none that a link in one
	// leads to, is loaded; nil refuses none.
	RefusePlugins func(path string) error
	// PluginSettle is how long a plugin file must have stayed the same before
	// Run takes it; 0 means plugin.DefaultSettle.
	PluginSettle time.Duration
	// ReloadWithin is how long Reconfigure waits for modules to be loaded; 0
	// means plugin.DefaultReloadWithin.
	ReloadWithin time.Duration
	// Approvals is the file that remembers which modules were let run; see
	// host/plugin/approvals. Run and Approve write it. Empty remembers within this
	// Host.
	Approvals string
	// Plugins narrows and configures modules by the name they give
	// themselves; a module without an entry runs with the defaults.
	Plugins []plugin.Entry

	// Only names the resolvers that are run, of whatever module; empty runs all.
	// It is for trying one of them, as the harness does.
	Only []string

	// Roots is what to look at, in order of precedence.
	Roots []RootSpec
	// Exclude holds patterns, relative to each root, of what doesn't exist
	// for any resolver.
	Exclude []string

	// Children says what becomes of projects in the roots that have Children set: one of
	// the words of config.Conventions.Children. Empty means config.ChildrenListed.
	Children string

	// Conventions are where the built-in resolvers look, beside what they know
	// themselves.
	Conventions plugin.Conventions

	// CacheDir keeps compiled modules between processes, sealed with a key in
	// KeyDir; empty keeps nothing.
	CacheDir string
	KeyDir   string
	// Compiler compiles modules in processes of their own; nil means in this
	// one. See sandbox.CompileRole.
	Compiler *reexec.Program
	// Running records which modules run, and knows which ones earlier processes
	// died of: those aren't run until RetryPlugins. It stays the caller's, who
	// closes it after the Host. Nil records nothing.
	Running plugin.Running
	// Limits and FileLimits bound every run; Caps bounds the snapshot.
	Limits     sandbox.Limits
	FileLimits vfs.Limits
	Caps       snapshot.Caps

	// GuestOutput keeps what modules write to their standard output and error, for
	// the Output of an outcome. It is for authors, on trees of their own.
	GuestOutput bool

	// NoMemo runs every resolver at every refresh, to try or measure them.
	NoMemo bool
	// WaitForAll has every refresh wait for all modules, however slow.
	WaitForAll bool
	// MemoDir keeps memos between processes, sealed with the same key as
	// CacheDir; empty keeps none.
	MemoDir string
	// Providers make resources that no resolver may make. They stay the caller's,
	// who ends them after the Host. What they make comes after all that resolvers
	// find where there isn't room for everything.
	Providers []Provider
	// Watch says how Run watches the roots; the zero value works. Its Logger
	// is the one below unless it is set.
	Watch watch.Options
	// Hold holds the first snapshot back until Ready, at most 10 minutes.
	Hold bool
	// NoUser leaves the user's files alone where ClientContext would look at them.
	NoUser bool

	// Push configures where Run pushes to; nil pushes nowhere.
	Push *push.Options

	// Progress is called with one line when something takes long, for example
	// compiling a module for the first time. It may be nil.
	Progress func(line string)
	// Settled is called when Run has loaded every module after its first
	// refresh: what only the start needs can be given back. It may be nil.
	Settled func()
	// Observe is called after every refresh, ObserveWatch for every batch of
	// file events: for metrics, and to show what each edit changes. They
	// may be nil and must not block.
	Observe func(*Report)
	// Amended is called with a snapshot that is new although no refresh made it: a
	// provider or the state of a module has changed. The same holds for it.
	Amended      func(*snapshot.Snapshot)
	ObserveWatch func(watch.Batch)
	Logger       *slog.Logger
}

// RootSpec names a root to look at.
type RootSpec struct {
	Path string
	Role abi.Role
	// Source marks a root that the user added; its resources carry the path.
	Source bool
	// Optional roots may be missing, or closed to this user: they are looked at
	// as soon as they can be. A root that isn't optional makes New fail.
	Optional bool
	// Scope says whose the finds are; empty means snapshot.ScopeProject. With
	// snapshot.ScopeUser the root is a home directory, in which the built-in resolvers
	// alone see the places that the table of conventions has for users.
	Scope snapshot.Scope
	// Children has directories at the top that are repositories of their own looked into
	// as if they were roots, too.
	Children bool
	// Within are directories whose content others write, such as the working
	// directory: a link that lies in one of them neither leads the root out of
	// it nor over what is secret or excluded. Absolute; empty ones don't count.
	Within []string
	// Check, if set, is asked whenever the path has been opened, with the
	// link-free path of what it leads to now; on an error it counts as missing.
	Check func(target string) error

	// moved are directories of agents that lie elsewhere in a home directory; see
	// installed.Home.
	moved map[string]string
}

func (o *Options) setDefaults() {
	if o.Settled == nil {
		o.Settled = func() {}
	}
	if o.Observe == nil {
		o.Observe = func(*Report) {}
	}
	if o.Amended == nil {
		o.Amended = func(*snapshot.Snapshot) {}
	}
	if o.ObserveWatch == nil {
		o.ObserveWatch = func(watch.Batch) {}
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Watch.Logger = cmp.Or(o.Watch.Logger, o.Logger)
}

// own is where the agent's own places lead.
func (o *Options) own() (list []string) {
	for _, path := range o.Own {
		list = append(list, places.Real(path))
	}
	return list
}

// engineConfig is what Reconfigure can change, beside modules and the paces of
// watching.
type engineConfig struct {
	only, exclude, settings, own []string
	children                     string
	conventions                  plugin.Conventions
	fileLimits                   vfs.Limits
	caps                         snapshot.Caps
}

func (o *Options) config() engineConfig {
	return engineConfig{only: o.Only, exclude: o.Exclude, own: o.own(), settings: o.settings(), children: o.Children, conventions: o.Conventions, fileLimits: o.FileLimits, caps: o.Caps}
}

// settings are the patterns of the settings files that only the operator knows.
func (o *Options) settings() (patterns []string) {
	for i := range o.Conventions.Own {
		if c := &o.Conventions.Own[i]; vfs.HoldsSettings(c) {
			patterns = append(patterns, c.Places...)
		}
	}
	return patterns
}

// catalogConfig is what the catalog needs of what Reconfigure can change.
func (o *Options) catalogConfig() plugin.Config {
	return plugin.Config{
		DisableBuiltin: o.DisableBuiltin, BuiltinConfig: o.BuiltinConfig, Conventions: o.Conventions,
		Files: o.PluginFiles, Dirs: o.PluginDirs, Refuse: o.RefusePlugins, Entries: o.Plugins, Limits: o.Limits, FileLimits: o.FileLimits,
	}
}

// Configure takes over what a configuration says of resolvers, limits, caps and
// watching. Where modules are looked for, and where to push, is for the caller.
func (o *Options) Configure(c *config.Config) {
	o.DisableBuiltin, o.BuiltinConfig = c.Builtin.Disable, objects(c.Builtin.Config)
	o.Conventions = plugin.Conventions{
		Own: c.OwnConventions(), Disabled: c.DisabledConventions(), Strict: c.Conventions.Strict, Grants: c.Conventions.Grants,
	}
	o.Children, o.NoUser = c.Conventions.Children, c.Conventions.User == config.UserOff
	o.Exclude = c.Exclude
	o.Watch = watch.Options{Quiet: c.Watch.Quiet, MaxWait: c.Watch.MaxWait, Recheck: c.Watch.Recheck}
	o.Limits, o.FileLimits = runLimits(c.Limits), fileLimits(c.Limits)
	o.Caps = snapshot.Caps{
		MaxResourceBytes: int64(c.Snapshot.MaxResourceBytes), MaxBytes: int64(c.Snapshot.MaxBytes),
		MaxResources: c.Snapshot.MaxResources,
	}
	o.Plugins = nil
	for _, p := range c.Entries {
		o.Plugins = append(o.Plugins, plugin.Entry{
			Name: p.Name, SHA256: p.SHA256, Reads: p.Reads, GrantSecrets: p.GrantSecrets, Rank: p.Rank,
			Config: objects(p.Config), Limits: runLimits(p.Limits), FileLimits: fileLimits(p.Limits),
		})
	}
}

func objects(in map[string]json.RawMessage) map[string][]byte {
	out := make(map[string][]byte, len(in))
	for name, object := range in {
		out[name] = object
	}
	return out
}

func runLimits(l config.Limits) sandbox.Limits {
	return sandbox.Limits{Time: l.Time, Fuel: int64(l.Fuel), Memory: int64(l.Memory), Response: int(l.Response), Logs: int(l.Logs)}
}

func fileLimits(l config.Limits) vfs.Limits {
	return vfs.Limits{Opens: l.Opens, ReadBytes: int64(l.ReadBytes), Entries: l.Entries}
}
