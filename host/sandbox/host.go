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

// Options configures a Host. The zero value works: nothing is kept on disk,
// modules are compiled in this process, no logging.
type Options struct {
	// CacheDir holds native code between processes, sealed. It is made with
	// mode 0700; one that is open to others is not used. Empty means that
	// nothing is kept.
	CacheDir string
	// KeyDir holds the key to CacheDir, under the same rules; empty means
	// CacheDir.
	KeyDir string
	// Compiler is this program, which compiles what isn't kept in children of its
	// own, under limits of time and memory; its main names CompileRole. nil means
	// that this process compiles, without limits.
	Compiler *reexec.Program
	// NoImages initializes every instance anew, and is for comparisons: what is seen
	// of a run is the same.
	NoImages bool
	// Running, unless nil, is called before a module is called, with its digest
	// and the time that the call may take; end is called after that.
	Running func(digest string, limit time.Duration) (end func())
	// Output keeps what guests write to their standard output and error, for
	// Result.Output. It is for authors who look at trees of their own: a guest
	// may print what it has read, also of a resolver whose words are withheld.
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

// New makes a Host. A cache directory that can't be used is a warning: modules
// are then compiled anew by every process.
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

// sayFresh says once if memories of instances can't be used again. It isn't called
// before somebody would use one: to find out takes a moment.
func (h *Host) sayFresh() {
	h.fresh.Do(func() {
		if err := memory.Reusable(); err != nil {
			h.log.Warn("each instance gets new memory, which takes longer", slog.Any("error", err))
		}
	})
}

// HasCode reports whether a module would be loaded without being compiled: from
// native code that is embedded in the program, as a reader of it gives it, or
// was kept in the cache, for this machine and under these limits.
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
			// Not close-on-context-done: the meter is the deadline, holds where that
			// doesn't, and costs a tenth of it.
			config := wazero.NewRuntimeConfig().WithCompilationCache(code.Cache()).WithMemoryLimitPages(limits.pages())
			loaded, err = newProgram(ctx, config, code.Wasm)
			return err
		})
	return loaded, code, err
}
