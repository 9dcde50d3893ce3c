package sandbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"waymark/host/sandbox/codecache"
	"waymark/host/sandbox/memory"
	"waymark/internal/reexec"
)

// Options configures a Host. With the zero value nothing is kept on disk, modules are
// compiled in this process, and nothing is logged.
type Options struct {
	// CacheDir holds native code between processes, sealed. It is created with mode 0700; a
	// directory that is open to others is not used. Empty means that nothing is kept.
	CacheDir string
	// KeyDir holds the key to CacheDir, under the same rules; empty means CacheDir.
	KeyDir string
	// Compiler is this program, which compiles uncached modules in child processes under
	// limits of time and memory; its main names CompileRole. Nil compiles in this process,
	// without limits.
	Compiler *reexec.Program
	// NoImages initializes every instance anew. It is for comparisons: the visible results
	// are the same.
	NoImages bool
	// Running, unless nil, is called before each call into a module, with the module's digest
	// and the call's time limit; end is called afterwards.
	Running func(digest string, limit time.Duration) (end func())
	// Output keeps what guests write to standard output and standard error, for
	// Result.Output. It is for authors with trees of their own: a guest may print what it has
	// read, even a resolver whose own words are withheld.
	Output bool
	Logger *slog.Logger
}

// Host loads modules. It is safe for concurrent use.
type Host struct {
	opts Options
	log  *slog.Logger
	code *codecache.Cache

	fresh sync.Once // see sayFresh
}

// New makes a Host. If it can't use the cache directory, it logs a warning, and every process
// compiles the modules anew.
func New(opts Options) *Host {
	h := &Host{opts: opts, log: opts.Logger}
	if h.opts.Running == nil {
		h.opts.Running = func(string, time.Duration) func() { return func() {} }
	}
	h.log = cmp.Or(h.log, slog.New(slog.DiscardHandler))
	code, err := codecache.Open(codecache.Options{
		Dir: opts.CacheDir, KeyDir: opts.KeyDir, Program: opts.Compiler, Rewrite: rewrite, Logger: h.log,
	})
	if err != nil {
		h.log.Warn("compile cache not used", slog.Any("error", err))
	}
	h.code = code
	return h
}

// sayFresh logs once if memories of instances can't be reused. It is called on first use,
// because finding out takes a moment.
func (h *Host) sayFresh() {
	h.fresh.Do(func() {
		if err := memory.Reusable(); err != nil {
			h.log.Warn("each instance gets new memory, which takes longer", slog.Any("error", err))
		}
	})
}

// HasCode reports whether a module can be loaded without being compiled, for this machine and
// these limits: from native code that is embedded in the program and read from native, or
// from the cache.
func (h *Host) HasCode(wasm []byte, native io.ReaderAt, limits Limits) (bool, error) {
	r, err := recipe(limits.WithDefaults())
	if err != nil {
		return false, err
	}
	key, err := codecache.KeyOf(sha256.Sum256(wasm), r)
	if err != nil {
		return false, err
	}
	code, err := h.code.Embedded(native, key)
	if err != nil {
		code, err = h.code.Get(key)
	}
	if err != nil {
		return false, nil //nolint:nilerr // a miss is the only error
	}
	return true, code.Close()
}

// compile gets the native code of a module and loads it.
func (h *Host) compile(ctx context.Context, req codecache.Request, limits Limits) (_ *program, _ *codecache.Code, err error) {
	if req.Recipe, err = recipe(limits); err != nil {
		return nil, nil, err
	}
	var loaded *program
	code, err := h.code.Load(ctx, req,
		func(ctx context.Context, code *codecache.Code) (err error) {
			// Not close-on-context-done: the meter enforces the deadline even where that
			// doesn't, at a tenth of the cost.
			config := wazero.NewRuntimeConfig().WithCompilationCache(code.Cache()).WithMemoryLimitPages(limits.pages())
			loaded, err = newProgram(ctx, config, code.Wasm)
			return err
		})
	return loaded, code, err
}
