package plugin

import (
	"cmp"
	"io"
	"log/slog"
	"time"

	"waymark/host/crashlog"
	"waymark/host/resolve"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/internal/reexec"
)

// Options configures a Catalog for its whole life. The zero value works.
type Options struct {
	// Builtin returns the built-in module, always the same; nil means that
	// there is none. It is called when the bytes are needed.
	Builtin func() ([]byte, error)
	// BuiltinDigest returns its SHA-256, in hexadecimal, of a module that is part of the
	// program, so that Salt tells it from any other; the bytes aren't asked for then
	// as long as there is native code. nil finds it out from the bytes.
	BuiltinDigest func() (string, error)
	// BuiltinNative gives the built-in module's native code; see
	// sandbox.Ahead. It may be nil, and may return nil.
	BuiltinNative func() io.ReaderAt
	// BuiltinNames gives files that a built-in resolver looks for another
	// name, old to new, in the patterns of what it may read.
	BuiltinNames map[string]map[string]string
	// Settle is how long a module file must have stayed the same before Run
	// takes it; 0 means DefaultSettle.
	Settle time.Duration
	// ReloadWithin is how long Prepare waits for modules; 0 means
	// DefaultReloadWithin.
	ReloadWithin time.Duration
	// Approvals is the file that remembers which modules were let run; empty
	// remembers within this Catalog.
	Approvals string
	// Store keeps what modules say of themselves, where Salt is the same; nil
	// keeps nothing.
	Store resolve.Store
	Salt  string
	// CacheDir, KeyDir and Compiler are the sandbox's; see sandbox.Options.
	CacheDir, KeyDir string
	Compiler         *reexec.Program
	// GuestOutput is the sandbox's Output.
	GuestOutput bool
	// Running records which modules run; nil records nothing.
	Running Running
	// Progress is called with one line when something takes long. It may be
	// nil.
	Progress func(line string)
	Logger   *slog.Logger
}

// Running is what a crashlog.Record does for a Catalog.
type Running interface {
	// Begin records that a module is called; end, that the call is over.
	Begin(digest string, limit time.Duration) (end func())
	// Quarantined returns why a module is not to be run, or "".
	Quarantined(digest string) string
	// Release ends all quarantines.
	Release() error
}

// Config is what Prepare can change. The zero value has no module files.
type Config struct {
	// DisableBuiltin names built-in resolvers that are not run.
	DisableBuiltin []string
	// BuiltinConfig holds a JSON object per built-in resolver.
	BuiltinConfig map[string][]byte
	// Conventions are where the built-in resolvers look.
	Conventions Conventions
	// Files are module files that are used as if they lay in a directory before
	// Dirs, in order. Whoever may write to them is not looked at.
	Files []string
	// Dirs are searched for *.wasm files, in order. One that doesn't exist holds
	// none.
	Dirs []string
	// Refuse says why no module of one of Dirs, or none that a link in one leads to, is
	// loaded; nil refuses none.
	Refuse func(path string) error
	// Entries narrow and configure modules by the name they give themselves; a
	// module without one runs with the defaults.
	Entries []Entry
	// Limits and FileLimits bound every run. The built-in resolvers have more where
	// these are the defaults.
	Limits     sandbox.Limits
	FileLimits vfs.Limits
}

// Entry is the operator's word on one dropped-in module.
type Entry struct {
	// Name is the module's own name.
	Name string
	// SHA256 pins the file, in hexadecimal; empty accepts any.
	SHA256 string
	// Reads narrows what its resolvers see; empty doesn't.
	Reads []string
	// GrantSecrets names entries of the secret list that they may see.
	GrantSecrets []string
	// Rank orders modules; lower comes first, equal ranks in the order of
	// Config.Entries. Built-in resolvers come before all. 0 means
	// defaults.Rank.
	Rank int
	// Config holds a JSON object per resolver.
	Config map[string][]byte
	// Limits and FileLimits replace the fields of those that hold for all; zero
	// fields don't.
	Limits     sandbox.Limits
	FileLimits vfs.Limits
}

const (
	// DefaultSettle is how long a module file must have stayed the same before
	// it is taken: the writes of a copy or a linker are closer together, and a
	// person hardly notices it.
	DefaultSettle = 250 * time.Millisecond
	// DefaultReloadWithin is how long a reload waits for modules: most are
	// loaded in less, and some are compiled for half a minute.
	DefaultReloadWithin = 3 * time.Second
)

func (o *Options) setDefaults() {
	o.Settle = cmp.Or(max(o.Settle, 0), DefaultSettle)
	o.ReloadWithin = cmp.Or(max(o.ReloadWithin, 0), DefaultReloadWithin)
	if o.Running == nil {
		o.Running = (*crashlog.Record)(nil)
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
}

// entry finds the operator's entry of a module and its place in the
// configuration; modules without one come after all others.
func (c *Config) entry(name string) (Entry, int) {
	for i, e := range c.Entries {
		if e.Name == name {
			return e, i
		}
	}
	return Entry{}, len(c.Entries)
}
