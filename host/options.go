package host

import (
	"io"
	"log/slog"
	"time"

	"waymark/abi"
	"waymark/host/push"
	"waymark/host/running"
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
	// BuiltinNative gives the built-in module's native code, compiled ahead of
	// time; see sandbox.Recipe. It may be nil, and may return nil.
	BuiltinNative func() io.Reader
	// DisableBuiltin names built-in resolvers that are not run.
	DisableBuiltin []string
	// BuiltinConfig holds a JSON object per built-in resolver.
	BuiltinConfig map[string][]byte
	// BuiltinNames gives files that a built-in resolver looks for another
	// name, old to new, in the patterns of what it may read.
	BuiltinNames map[string]map[string]string

	// PluginFiles are module files that are used as if they lay in a directory
	// before PluginDirs, in order. Whoever may write to them is not looked at:
	// who names a file means it.
	PluginFiles []string
	// PluginDirs are searched for *.wasm files, in order. A directory that
	// doesn't exist holds none; Run waits for it.
	PluginDirs []string
	// PluginSettle is how long a plugin file must have stayed the same before
	// Run takes it; 0 means DefaultPluginSettle.
	PluginSettle time.Duration
	// ReloadWithin is how long Reconfigure waits for modules to be loaded; 0
	// means DefaultReloadWithin.
	ReloadWithin time.Duration
	// Approvals is the file that remembers which modules were let run; see
	// host/plugin/approvals. Run and Approve write it. Empty remembers within this
	// Host.
	Approvals string
	// Plugins narrows and configures modules by the name they give
	// themselves; a module without an entry runs with the defaults.
	Plugins []PluginOptions

	// Only names the resolvers that are run, of whatever module; empty runs all.
	// It is for trying one of them.
	Only []string

	// Roots is what to look at, in order of precedence.
	Roots []RootSpec
	// Exclude holds patterns, relative to each root, of what doesn't exist
	// for any resolver.
	Exclude []string

	// CacheDir keeps compiled modules between processes, sealed with a key in
	// KeyDir; empty keeps nothing.
	CacheDir string
	KeyDir   string
	// Compiler compiles modules in processes of their own; nil means in this
	// one. See sandbox.CompileRole.
	Compiler *reexec.Program
	// Running notes which modules run, and knows which ones earlier processes
	// died of: those aren't run until RetryPlugins. It stays the caller's, who
	// closes it after the Host. Nil notes nothing.
	Running Running
	// Limits and FileLimits bound every run; Caps bounds the snapshot.
	Limits     sandbox.Limits
	FileLimits vfs.Limits
	Caps       snapshot.Caps

	// NoMemo runs every resolver at every refresh, for measurements.
	NoMemo bool
	// MemoDir keeps memos between processes, sealed with the same key as
	// CacheDir; empty keeps none.
	MemoDir string
	// Watch says how Run watches the roots; the zero value works. Its Logger
	// is the one below unless it is set.
	Watch watch.Options
	// Hold holds the first snapshot back until Ready, at most 10 minutes.
	Hold bool
	// Push configures where Run pushes to; nil pushes nowhere.
	Push *push.Options

	// Progress is called with one line when something takes long, for example
	// compiling a module for the first time. It may be nil.
	Progress func(line string)
	// Settled is called when Run has loaded every module after its first
	// refresh: what only the start needs can be given back. It may be nil.
	Settled func()
	// Observe is called after every refresh, ObserveWatch for every batch of
	// file events; they may be nil and must not block.
	Observe      func(*Report)
	ObserveWatch func(watch.Batch)
	Logger       *slog.Logger
}

// PluginOptions is the operator's word on one dropped-in module.
type PluginOptions struct {
	// Name is the module's own name.
	Name string
	// SHA256 pins the file, in hexadecimal; empty accepts any.
	SHA256 string
	// Reads narrows what its resolvers see; empty doesn't.
	Reads []string
	// GrantSecrets names entries of the secret list that they may see.
	GrantSecrets []string
	// Rank orders plugins; lower comes first, equal ranks in the order of
	// Options.Plugins. Built-in resolvers come before all. 0 means
	// DefaultRank.
	Rank int
	// Config holds a JSON object per resolver.
	Config map[string][]byte
	// Limits and FileLimits replace the fields of those in Options; zero
	// fields don't.
	Limits     sandbox.Limits
	FileLimits vfs.Limits
}

// Running is what a running.Record does for a Host.
type Running interface {
	// Begin notes that a module is called; end, that the call is over.
	Begin(digest string, limit time.Duration) (end func())
	// Quarantined returns why a module is not to be run, or "".
	Quarantined(digest string) string
	// Release ends all quarantines.
	Release() error
}

// RootSpec names a root to look at.
type RootSpec struct {
	Path string
	Role abi.Role
	// Source marks a root that the user added; its resources carry the path.
	Source bool
	// Optional roots may be missing: they are looked at as soon as they
	// exist. A root that isn't optional makes New fail.
	Optional bool
	// Within are directories whose content others write, such as the working
	// directory: a link that lies in one of them neither leads the root out of
	// it nor over what is secret or excluded. Absolute; empty ones don't count.
	Within []string
	// Check, if set, is asked whenever the path has been opened, with the
	// link-free path of what it leads to now; on an error it counts as missing.
	Check func(target string) error
}

func (o *Options) setDefaults() {
	if o.PluginSettle <= 0 {
		o.PluginSettle = DefaultPluginSettle
	}
	if o.ReloadWithin <= 0 {
		o.ReloadWithin = DefaultReloadWithin
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.Settled == nil {
		o.Settled = func() {}
	}
	if o.Observe == nil {
		o.Observe = func(*Report) {}
	}
	if o.ObserveWatch == nil {
		o.ObserveWatch = func(watch.Batch) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Running == nil {
		o.Running = (*running.Record)(nil)
	}
	if o.Watch.Logger == nil {
		o.Watch.Logger = o.Logger
	}
}
