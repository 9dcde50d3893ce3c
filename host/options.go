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

// Options configures a Host. The zero value works and finds nothing: it has neither modules
// nor roots.
type Options struct {
	// Builtin returns the built-in resolver module, always the same bytes; nil means that
	// there is none. It is called on demand, so that the bytes need not stay in memory.
	Builtin func() ([]byte, error)
	// BuiltinDigest returns its SHA-256; see plugin.Options.
	BuiltinDigest func() (string, error)
	// BuiltinNative returns the built-in module's native code, compiled ahead of time; see
	// sandbox.Ahead. It may be nil, and may return nil.
	BuiltinNative func() io.ReaderAt
	// Shared has the built-in module loaded for Hosts with the same one; nil means that the
	// Host shares it with what it looks at for clients only.
	Shared *plugin.Shared
	// Home is the user's home directory, for advice and for imports relative to it; empty if
	// there is none.
	Home string
	// ClientVariables holds the environment variables of clients.Variables that are set. They
	// replace directories in Home as the places where coding agents look.
	ClientVariables map[string]string
	// Once says that the Host serves only a look or two and nobody calls Run. Advice then
	// says which options to pass.
	Once bool

	// DisableBuiltin names built-in resolvers that don't run.
	DisableBuiltin []string
	// BuiltinConfig holds a JSON object per built-in resolver.
	BuiltinConfig map[string][]byte
	// BuiltinNames renames files that a built-in resolver looks for, old to new, in the
	// patterns of what it may read.
	BuiltinNames map[string]map[string]string

	// PluginFiles are module files that are used as if they lay in a directory before
	// PluginDirs, in order. Their permissions aren't checked: an operator who names a file
	// means it.
	PluginFiles []string
	// Own lists the agent's own places as absolute paths. No resolver sees them.
	Own []string
	// PluginDirs are searched for *.wasm files, in order. A missing directory counts as
	// empty; Run waits for it.
	PluginDirs []string
	// RefusePlugins returns an error if no module may be loaded from path, which is one of
	// PluginDirs or the target of a link in one. Nil refuses none.
	RefusePlugins func(path string) error
	// PluginSettle is how long a plugin file must stay unchanged before Run takes it; 0 means
	// plugin.DefaultSettle.
	PluginSettle time.Duration
	// ReloadWithin is how long Reconfigure waits for modules to load; 0 means
	// plugin.DefaultReloadWithin.
	ReloadWithin time.Duration
	// Approvals is the file that records which modules may run; see host/plugin/approvals.
	// Run and Approve write it. If empty, approvals last as long as this Host.
	Approvals string
	// Plugins restricts and configures modules by the name that they declare. A module
	// without an entry runs with the defaults.
	Plugins []plugin.Entry

	// Only names the resolvers that run, of whatever module; empty runs all. The harness uses
	// it to try one of them.
	Only []string

	// Roots are the roots to look at, in order of precedence.
	Roots []RootSpec
	// Exclude holds patterns, relative to each root, of files that are hidden from every
	// resolver.
	Exclude []string

	// Children says how projects are handled in roots that have Children set. It is one of
	// the values of config.Conventions.Children; empty means config.ChildrenListed.
	Children string

	// Conventions are places where the built-in resolvers look besides those they know.
	Conventions plugin.Conventions

	// CacheDir holds compiled modules between processes, sealed with a key in KeyDir; empty
	// keeps nothing.
	CacheDir string
	KeyDir   string
	// Compiler compiles modules in child processes; nil compiles in this process. See
	// sandbox.CompileRole.
	Compiler *reexec.Program
	// Running records which modules run, and knows which ones earlier processes died of.
	// Those don't run until RetryPlugins. The caller owns it and closes it after the Host.
	// Nil records nothing.
	Running plugin.Running
	// Limits and FileLimits bound every run; Caps bounds the snapshot.
	Limits     sandbox.Limits
	FileLimits vfs.Limits
	Caps       snapshot.Caps

	// GuestOutput keeps what modules write to standard output and standard error, for the
	// Output of an outcome. It is for authors, on trees of their own.
	GuestOutput bool

	// NoMemo runs every resolver at every refresh, to try or measure them.
	NoMemo bool
	// WaitForAll makes every refresh wait for all modules, however slow.
	WaitForAll bool
	// MemoDir holds memos between processes, sealed with the same key as CacheDir; empty
	// keeps none.
	MemoDir string
	// Providers make resources that resolvers can't. The caller owns them and ends them after
	// the Host. When not everything fits, their resources are dropped before those of
	// resolvers.
	Providers []Provider
	// Watch says how Run watches the roots; the zero value works. Its Logger defaults to the
	// one below.
	Watch watch.Options
	// Hold holds the first snapshot back until Ready, for at most 10 minutes.
	Hold bool
	// NoUser makes ClientContext ignore the user's files.
	NoUser bool

	// Push configures where Run pushes to; nil pushes nowhere.
	Push *push.Options

	// Progress is called with one line when something takes long, such as compiling a module
	// for the first time. It may be nil.
	Progress func(line string)
	// Settled is called when Run has loaded every module after its first refresh, and some time
	// after the last run of a resolver. What only these need can then be freed. It may be nil.
	Settled func()
	// Observe is called after every refresh, and ObserveWatch for every batch of file events:
	// for metrics, and to show what each edit changes. They may be nil and must not block.
	Observe func(*Report)
	// Amended is called with a snapshot that is new although no refresh made it, because a
	// provider or the state of a module has changed. It may be nil and must not block.
	Amended      func(*snapshot.Snapshot)
	ObserveWatch func(watch.Batch)
	Logger       *slog.Logger
}

// RootSpec names a root to look at.
type RootSpec struct {
	Path string
	Role abi.Role
	// Source marks a root that the user added. Its resources carry the path.
	Source bool
	// Optional roots may be missing or unreadable for this user. They are looked at as soon
	// as possible. A missing root that isn't optional makes New fail.
	Optional bool
	// Scope says whose the finds are; empty means snapshot.ScopeProject. With
	// snapshot.ScopeUser the root is a home directory: only the built-in resolvers see it,
	// and of it only the places that the table of conventions has for users.
	Scope snapshot.Scope
	// Children treats top-level directories that are repositories of their own as roots, too.
	Children bool
	// Within lists directories whose content others write, such as the working directory. A
	// link in one of them leads the root neither out of that directory nor to secret or
	// excluded files. Paths are absolute; empty ones are ignored.
	Within []string
	// Check, if set, is called each time the path has been opened, with its current link-free
	// target. On an error the root counts as missing.
	Check func(target string) error

	// moved maps directories of agents that lie elsewhere in a home directory; see
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

// own returns the link-free targets of the agent's own places.
func (o *Options) own() (list []string) {
	for _, path := range o.Own {
		list = append(list, places.Real(path))
	}
	return list
}

// engineConfig holds what Reconfigure can change, apart from modules and the intervals of
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

// settings returns the patterns of settings files that only the operator knows.
func (o *Options) settings() (patterns []string) {
	for i := range o.Conventions.Own {
		if c := &o.Conventions.Own[i]; vfs.HoldsSettings(c) {
			patterns = append(patterns, c.Places...)
		}
	}
	return patterns
}

// catalogConfig returns the part of the configuration that the catalog needs.
func (o *Options) catalogConfig() plugin.Config {
	return plugin.Config{
		DisableBuiltin: o.DisableBuiltin, BuiltinConfig: o.BuiltinConfig, Conventions: o.Conventions,
		Files: o.PluginFiles, Dirs: o.PluginDirs, Refuse: o.RefusePlugins, Entries: o.Plugins, Limits: o.Limits, FileLimits: o.FileLimits,
	}
}

// Configure applies what a configuration says of resolvers, limits, caps and watching. The
// caller sets where modules are looked for and where to push.
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
