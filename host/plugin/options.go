package plugin

import (
	"cmp"
	"io"
	"log/slog"
	"time"

	"waymark/host/resolve"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/internal/reexec"
)

// Options configures a Catalog for its whole life. The zero value works.
type Options struct {
	// Builtin returns the built-in module, always the same bytes; nil means that there is
	// none. It is called on demand.
	Builtin func() ([]byte, error)
	// BuiltinDigest returns its SHA-256, in hexadecimal, if the module is part of the
	// program, so that Salt identifies it. The bytes then aren't needed while there is native
	// code. If nil, the digest is computed from the bytes.
	BuiltinDigest func() (string, error)
	// BuiltinNative returns the built-in module's native code; see sandbox.Ahead. It may be
	// nil, and may return nil.
	BuiltinNative func() io.ReaderAt
	// Shared keeps the built-in module beyond the Catalog, for others; nil means that the
	// Catalog loads its own.
	Shared *Shared
	// BuiltinNames renames files that a built-in resolver looks for, old to new, in the
	// patterns of what it may read.
	BuiltinNames map[string]map[string]string
	// Settle is how long a module file must stay unchanged before Run takes it; 0 means
	// DefaultSettle.
	Settle time.Duration
	// ReloadWithin is how long Prepare waits for modules; 0 means DefaultReloadWithin.
	ReloadWithin time.Duration
	// Approvals is the file that records which modules may run. If empty, approvals last as
	// long as this Catalog.
	Approvals string
	// Store keeps the modules' descriptions for programs with the same Salt; nil keeps
	// nothing.
	Store resolve.Store
	Salt  string
	// CacheDir, KeyDir and Compiler are the sandbox's; see sandbox.Options.
	CacheDir, KeyDir string
	Compiler         *reexec.Program
	// GuestOutput is the sandbox's Output.
	GuestOutput bool
	// Running records which modules run; nil records nothing.
	Running Running
	// Progress is called with one line when something takes long. It may be nil.
	Progress func(line string)
	Logger   *slog.Logger
}

// Running is implemented by Crashes.
type Running interface {
	// Begin records the start of a call into a module, and end its end.
	Begin(digest string, limit time.Duration) (end func())
	// Quarantined returns why a module must not run, or "".
	Quarantined(digest string) string
	// Release ends all quarantines.
	Release() error
}

// Config is what Prepare can change. The zero value has no module files.
type Config struct {
	// DisableBuiltin names built-in resolvers that don't run.
	DisableBuiltin []string
	// BuiltinConfig holds a JSON object per built-in resolver.
	BuiltinConfig map[string][]byte
	// Conventions are where the built-in resolvers look.
	Conventions Conventions
	// Files are module files that are used as if they lay in a directory before Dirs, in
	// order. Their permissions aren't checked.
	Files []string
	// Dirs are searched for *.wasm files, in order. A missing directory counts as empty.
	Dirs []string
	// Refuse returns an error if no module may be loaded from path, which is one of Dirs or
	// the target of a link in one; nil refuses none.
	Refuse func(path string) error
	// Entries restrict and configure modules by the name that they declare. A module without
	// an entry runs with the defaults.
	Entries []Entry
	// Limits and FileLimits bound every run. The built-in resolvers get more where these are
	// the defaults.
	Limits     sandbox.Limits
	FileLimits vfs.Limits
}

// Entry is the operator's configuration of one dropped-in module.
type Entry struct {
	// Name is the module's own name.
	Name string
	// SHA256 pins the file, in hexadecimal; empty accepts any.
	SHA256 string
	// Reads restricts what its resolvers see; empty doesn't.
	Reads []string
	// GrantSecrets names entries of the secret list that they may see.
	GrantSecrets []string
	// Rank orders modules: lower comes first, equal ranks in the order of Config.Entries.
	// Built-in resolvers come before all others. 0 means defaults.Rank.
	Rank int
	// Config holds a JSON object per resolver.
	Config map[string][]byte
	// Limits and FileLimits override the general ones, except for zero fields.
	Limits     sandbox.Limits
	FileLimits vfs.Limits
}

const (
	// DefaultSettle is how long a module file must stay unchanged before it is taken. The
	// writes of a copy or a linker are closer together, and a person hardly notices the
	// delay.
	DefaultSettle = 250 * time.Millisecond
	// DefaultReloadWithin is how long a reload waits for modules. Most load in less time;
	// some take half a minute to compile.
	DefaultReloadWithin = 3 * time.Second
)

func (o *Options) setDefaults() {
	o.Settle = cmp.Or(max(o.Settle, 0), DefaultSettle)
	o.ReloadWithin = cmp.Or(max(o.ReloadWithin, 0), DefaultReloadWithin)
	if o.Running == nil {
		o.Running = (*Crashes)(nil)
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
}

// entry finds the operator's entry of a module and its position in the configuration; modules
// without one come after all others.
func (c *Config) entry(name string) (Entry, int) {
	for i, e := range c.Entries {
		if e.Name == name {
			return e, i
		}
	}
	return Entry{}, len(c.Entries)
}
