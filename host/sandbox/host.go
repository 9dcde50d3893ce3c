package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
)

// Options configures a Host. The zero value works: no cache on disk, one spare
// instance per module, no logging.
type Options struct {
	// CacheDir holds compiled native code between processes. It is made with
	// mode 0700; one that is open to others is not used. Empty means that
	// nothing is kept.
	CacheDir string
	// Spares is the number of prepared instances that a module keeps ready;
	// 0 means one for each of its resolvers, at most 4.
	Spares int
	// CompileWorkers is the number of goroutines that compile one module;
	// 0 means 2.
	CompileWorkers int
	Logger         *slog.Logger
}

// Host loads modules. It is safe for concurrent use.
type Host struct {
	opts  Options
	log   *slog.Logger
	cache wazero.CompilationCache // shared by the runtimes of all modules
}

// extismLogLevel opens extism's process-wide log gate once: without it no
// guest log line ever reaches the per-instance logger.
var extismLogLevel = sync.OnceFunc(func() { extism.SetLogLevel(extism.LogLevelInfo) })

// New makes a Host. A cache directory that can't be used is a warning: modules
// are then compiled anew by every process.
func New(opts Options) *Host {
	extismLogLevel()
	h := &Host{opts: opts, log: opts.Logger}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	if h.opts.CompileWorkers <= 0 {
		h.opts.CompileWorkers = 2
	}
	if opts.CacheDir != "" {
		cache, err := openCache(opts.CacheDir)
		if err != nil {
			h.log.Warn("compile cache not used", slog.Any("error", err))
		} else {
			h.cache = cache
		}
	}
	if h.cache == nil {
		h.cache = wazero.NewCompilationCache()
	}
	return h
}

// Close releases the compile cache. Close the modules first.
func (h *Host) Close() error { return h.cache.Close(context.Background()) }

// compile compiles a module that was admitted and metered. A failure that goes
// away without the cache is the cache's: its directory is emptied and the
// module stays compiled in memory.
func (h *Host) compile(ctx context.Context, wasm []byte, limits Limits) (*extism.CompiledPlugin, error) {
	plugin, err := h.compileWith(ctx, h.cache, wasm, limits)
	if err == nil || ctx.Err() != nil || h.opts.CacheDir == "" {
		return plugin, err
	}
	plugin, err2 := h.compileWith(ctx, wazero.NewCompilationCache(), wasm, limits)
	if err2 != nil {
		return nil, err2
	}
	h.log.Warn("compile cache was damaged and has been emptied", slog.Any("error", err))
	if err := dropCache(h.opts.CacheDir); err != nil {
		h.log.Warn("compile cache can't be emptied", slog.Any("error", err))
	}
	return plugin, nil
}

func (h *Host) compileWith(ctx context.Context, cache wazero.CompilationCache, wasm []byte, limits Limits) (_ *extism.CompiledPlugin, err error) {
	defer func() { // wazero's compiler panics on some shapes it can't handle
		if r := recover(); r != nil {
			err = fmt.Errorf("the compiler panicked: %v", r)
		}
	}()
	ctx = experimental.WithCompilationWorkers(ctx, h.opts.CompileWorkers)
	// Not close-on-context-done: the meter is the deadline, holds where that
	// doesn't, and costs a tenth of it.
	config := extism.PluginConfig{
		RuntimeConfig: wazero.NewRuntimeConfig().WithCompilationCache(cache),
		EnableWasi:    true,
	}
	manifest := extism.Manifest{
		Wasm:   []extism.Wasm{extism.WasmData{Data: wasm}},
		Memory: &extism.ManifestMemory{MaxPages: limits.pages()},
	}
	functions := slices.Concat(fsFunctions(), kernelFunctions(), meterFunctions())
	return extism.NewCompiledPlugin(ctx, manifest, config, functions)
}

// asReject turns a compile error into one actionable line.
func asReject(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return reject("rebuild it with a current toolchain; core WebAssembly 2.0 and WASI preview 1 are supported",
		"it doesn't compile: %s", oneLine(err.Error(), guestTextMax))
}
