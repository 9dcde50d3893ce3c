package codecache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"

	"github.com/tetratelabs/wazero"

	"waymark/host/sealed"
	"waymark/internal/reexec"
)

// ErrMiss says that there is no code for a key that can be trusted.
var ErrMiss = sealed.ErrMiss

// Options configures a Cache. The zero value works: nothing is kept and
// modules are compiled in this process, as they are.
type Options struct {
	// Dir is the directory of the sealed store; empty keeps nothing.
	Dir string
	// KeyDir holds the key; empty means Dir. See sealed.Options.
	KeyDir string
	// TempDir is where native code lies while it is loaded. Empty means Dir,
	// or the system's directory for temporary files. Those are also tried when
	// TempDir has no room.
	TempDir string
	// MaxBytes bounds the store; 0 means 512 MiB.
	MaxBytes int64
	// Program compiles modules in children of its own, in the role of Role; nil
	// means that this process compiles, without limits.
	Program *reexec.Program
	// Rewrite changes modules before they are compiled when there is no Program;
	// its children have their own.
	Rewrite Rewriter
	// Limits bounds the compilation of a module in a child.
	Limits Limits
	Logger *slog.Logger
}

// Rewriter changes a module before it is compiled. Meta is kept with the code.
// An error is taken as the module's fault.
type Rewriter func(wasm, options []byte) (rewritten, meta []byte, err error)

// Cache hands out code. Safe for concurrent use.
type Cache struct {
	opts  Options
	log   *slog.Logger
	store *sealed.Store // nil when nothing is kept
}

// Open makes a Cache. It always gives one that works: with an error, which the
// caller should report, it keeps nothing.
func Open(opts Options) (*Cache, error) {
	c := &Cache{opts: opts, log: opts.Logger}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.opts.Limits = opts.Limits.withDefaults()
	if opts.TempDir != "" {
		removeStale(opts.TempDir)
	}
	if opts.Dir == "" {
		return c, nil
	}
	store, err := sealed.Open(opts.Dir, sealed.Options{KeyDir: opts.KeyDir, MaxBytes: opts.MaxBytes, Logger: c.log})
	if err != nil {
		return c, err
	}
	c.store = store
	removeStale(opts.Dir)
	return c, nil
}

// Request asks for the code of a module.
type Request struct {
	// Wasm is the module before rewriting, which was admitted.
	Wasm   []byte
	Recipe Recipe
	// Embedded is packed code that may fit, read at most once; nil when there
	// is none.
	Embedded io.Reader
}

// Load gets the code of a module and has it loaded. It calls use, which
// compiles code.Wasm with code.Cache() in the runtime that will run it, and
// leaves Loaded to Load. When that fails with code that wasn't compiled just
// now, use is called again with code that is; only code that could be used is
// kept. The caller closes the code after that runtime.
//
// # Errors
//
// *LimitError and *ModuleError when the module is at fault, what use returned,
// the context's, and the system's.
func (c *Cache) Load(ctx context.Context, req Request, use func(context.Context, *Code) error) (*Code, error) {
	key, err := KeyOf(sha256.Sum256(req.Wasm), req.Recipe)
	if err != nil {
		return nil, err
	}
	for _, get := range []func() (*Code, error){
		func() (*Code, error) { return c.Embedded(req.Embedded, key) },
		func() (*Code, error) { return c.Get(key) },
	} {
		code, err := get()
		if err != nil {
			continue
		}
		if err = use(ctx, code); err == nil {
			code.Loaded()
			return code, nil
		}
		_ = code.Close()
		if ctx.Err() != nil {
			return nil, err
		}
		c.log.Warn("native code can't be loaded and is compiled anew",
			slog.String("from", string(code.Source)), slog.String("key", key.String()), slog.Any("error", err))
		c.Delete(key)
	}
	code, err := c.compile(ctx, key, req.Wasm, req.Recipe)
	if err != nil {
		return nil, err
	}
	if err := use(ctx, code); err != nil {
		_ = code.Close()
		return nil, err
	}
	c.Put(code)
	code.Loaded()
	return code, nil
}

// Get returns code that an earlier process has kept. The error is always
// ErrMiss.
func (c *Cache) Get(key Key) (*Code, error) {
	if c.store == nil {
		return nil, ErrMiss
	}
	blob, err := c.store.Get(key.String())
	if err != nil {
		return nil, err
	}
	defer blob.Release()
	code, err := c.unpack(bytes.NewReader(blob.Bytes()), int64(len(blob.Bytes())), key)
	if err != nil {
		c.log.Warn("kept code is not used", slog.String("key", key.String()), slog.Any("error", err))
		return nil, ErrMiss
	}
	code.Source = Kept
	return code, nil
}

// Embedded returns packed code, as Ahead writes it, if it is for this key. The
// error is always ErrMiss. What it reads is trusted: it has to be part of the
// binary.
func (c *Cache) Embedded(packed io.Reader, key Key) (*Code, error) {
	if packed == nil {
		return nil, ErrMiss
	}
	code, err := c.unpack(packed, roomToUnpack, key)
	switch {
	case errors.Is(err, errOther):
		c.log.Debug("embedded code doesn't fit", slog.Any("error", err))
		return nil, ErrMiss
	case err != nil:
		c.log.Warn("embedded code is not used", slog.Any("error", err))
		return nil, ErrMiss
	}
	code.Source = Embedded
	return code, nil
}

// roomToUnpack is the room for code of unknown size: twice what the built-in
// module takes.
const roomToUnpack = 32 << 20

func (c *Cache) unpack(r io.Reader, room int64, key Key) (*Code, error) {
	s, err := newScratch(c.scratchDirs(), room)
	if err != nil {
		return nil, err
	}
	code, err := unpack(r, key, s)
	if err != nil {
		s.discard()
		return nil, err
	}
	return code, nil
}

// Put keeps code that wasn't yet declared Loaded. What goes wrong is a warning.
func (c *Cache) Put(code *Code) {
	if c.store == nil {
		return
	}
	size, err := code.packedSize()
	if err == nil {
		err = c.store.Put(code.Key.String(), size, code.Pack)
	}
	if err != nil {
		c.log.Warn("compiled code can't be kept: the module is compiled again next time", slog.Any("error", err))
	}
}

// Delete removes kept code.
func (c *Cache) Delete(key Key) {
	if c.store == nil {
		return
	}
	if err := c.store.Delete(key.String()); err != nil {
		c.log.Warn("kept code can't be removed", slog.String("key", key.String()), slog.Any("error", err))
	}
}

// Source says where code came from.
type Source string

// The sources of code.
const (
	Embedded Source = "embedded"
	Kept     Source = "kept"
	Compiled Source = "compiled"
)

// Code is a module with its native code, ready to be loaded by one runtime.
type Code struct {
	Key Key
	// Wasm is the module to load, rewritten if there is a rewriter. Loaded lets
	// go of it.
	Wasm []byte
	// Meta is what the rewriter said about it.
	Meta   []byte
	Source Source

	scratch *scratch
}

// Cache makes a runtime find the native code:
//
//	config.WithCompilationCache(code.Cache())
//
// It is for this one module and the one runtime that runs it: a cache shared
// between runtimes is where wazero 1.12.0 has a bug (#2511). What else is
// compiled with it after Loaded fails.
func (c *Code) Cache() wazero.CompilationCache { return c.scratch.cache }

// Loaded says that the runtime has compiled, which here means loaded, the
// module: the files are removed, and the text of the module, which can be
// megabytes, is let go of. The code in memory stays. Safe to call twice.
func (c *Code) Loaded() {
	c.Wasm = nil
	c.scratch.discard()
}

// Close frees wazero's cache. Close the runtime first. Safe to call twice.
func (c *Code) Close() error {
	c.Loaded()
	return c.scratch.cache.Close(context.Background())
}
