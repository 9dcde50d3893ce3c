package codecache

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"math"
	"os"
	"sync"

	"waymark/internal/reexec"
	"waymark/internal/sealedstore"
)

// ErrMiss says that there is no code for a key that can be trusted.
var ErrMiss = sealedstore.ErrMiss

// Options configures a Cache. The zero value works: nothing is kept and
// modules are compiled in this process, as they are.
type Options struct {
	// Dir is the directory of the sealed store; empty keeps nothing.
	Dir string
	// KeyDir holds the key; empty means Dir. See sealedstore.Options.
	KeyDir string
	// TempDir is where native code lies while it is compiled, and loaded where
	// there are no memory files. What lies there is executed as it is, so nobody who
	// isn't trusted may write there. Empty means KeyDir, which no profile of package
	// launch gives to a process; where nothing is kept, and so nothing is started under
	// a profile, the system's directories for temporary files.
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
	store *sealedstore.Store // nil when nothing is kept
	once  sync.Once          // for private
	seal  func(*native) (*native, error)
}

// Open makes a Cache. It always gives one that works: with an error, which the
// caller should report, it keeps nothing.
func Open(opts Options) (*Cache, error) {
	c := &Cache{opts: opts, log: opts.Logger, seal: newSealed}
	c.log = cmp.Or(c.log, slog.New(slog.DiscardHandler))
	c.opts.Limits = opts.Limits.withDefaults()
	c.opts.KeyDir = cmp.Or(opts.KeyDir, opts.Dir)
	if opts.Dir == "" {
		return c, nil
	}
	store, err := sealedstore.Open(opts.Dir, sealedstore.Options{KeyDir: opts.KeyDir, MaxBytes: opts.MaxBytes, Logger: c.log})
	if err != nil {
		return c, err
	}
	c.store = store
	removeStale(c.opts.KeyDir)
	return c, nil
}

// Request asks for the code of a module.
type Request struct {
	// Wasm is the module before rewriting, which was admitted.
	Wasm []byte
	// Read, where Wasm is nil, returns it when it has to be compiled. Digest is known
	// then.
	Read func() ([]byte, error)
	// Digest is its SHA-256, if that is known already; zero if not.
	Digest [sha256.Size]byte
	Recipe Recipe
	// Embedded is packed code that may fit; nil when there is none.
	Embedded io.ReaderAt
	// Own says that the module is part of the program: compiling it may take longer.
	Own bool
}

// Module returns the module before rewriting. It is read, and of the digest, which has to be
// known, where it isn't at hand.
func (r *Request) Module() ([]byte, error) {
	if r.Wasm != nil || r.Read == nil {
		return r.Wasm, nil
	}
	wasm, err := r.Read()
	if err == nil && sha256.Sum256(wasm) != r.Digest {
		err = errOtherModule
	}
	return wasm, err
}

var errOtherModule = errors.New("the module isn't the one of its digest")

// Load gets the code of a module and has it loaded. It calls use, which
// compiles code.Wasm with code.Cache() in the runtime that will run it, and
// leaves Loaded to Load: until Load has returned nothing of the module may be called,
// since its code needn't be there yet. When that fails, use is called again, with a copy
// of the same code, or with code that was compiled just now; only code that could be
// used is kept. The caller closes the code after that runtime.
//
// # Errors
//
// *LimitError and *ModuleError when the module is at fault, *BusyError when the machine
// is, what use returned, the context's, and the system's.
func (c *Cache) Load(ctx context.Context, req Request, use func(context.Context, *Code) error) (*Code, error) {
	if req.Digest == ([sha256.Size]byte{}) {
		req.Digest = sha256.Sum256(req.Wasm)
	}
	key, err := KeyOf(req.Digest, req.Recipe)
	if err != nil {
		return nil, err
	}
	for _, get := range []func(bool) (*Code, error){
		func(plain bool) (*Code, error) { return c.embedded(req.Embedded, key, plain) },
		func(plain bool) (*Code, error) { return c.kept(key, plain) },
	} {
		code, err := c.with(ctx, get, use)
		switch {
		case err == nil:
			return code, nil
		case code == nil:
			continue // there was none
		case ctx.Err() != nil:
			return nil, err
		}
		c.log.Warn("native code can't be loaded and is compiled anew",
			slog.String("from", string(code.Source)), slog.String("key", key.String()), slog.Any("error", err))
		c.Delete(key)
	}
	wasm, err := req.Module()
	if err != nil {
		return nil, err
	}
	limits := c.opts.Limits
	if req.Own {
		limits = limits.own()
	}
	code, err := c.with(ctx, func(plain bool) (*Code, error) { return c.compile(ctx, key, wasm, req.Recipe, limits, plain) }, use)
	if err != nil {
		return nil, err
	}
	return code, nil
}

// with has code loaded, and once more with a copy of it where it can't be mapped. With
// an error the code that it returns, if it returns any, is closed.
func (c *Cache) with(ctx context.Context, get func(plain bool) (*Code, error), use func(context.Context, *Code) error) (*Code, error) {
	for plain := false; ; plain = true {
		code, err := get(plain)
		if err != nil {
			return nil, err
		}
		err = use(ctx, code)
		if err == nil && code.Source == Compiled {
			c.Put(code)
		}
		if err == nil {
			err = code.Loaded()
		}
		if err == nil {
			return code, nil
		}
		_ = code.Close()
		var unshared unsharedError
		if plain || !errors.As(err, &unshared) {
			return code, err
		}
		c.private(err)
	}
}

// Get returns code that an earlier process has kept. The error is always
// ErrMiss.
func (c *Cache) Get(key Key) (*Code, error) { return c.kept(key, false) }

// kept is Get; plain code isn't mapped from a file.
func (c *Cache) kept(key Key, plain bool) (*Code, error) {
	if c.store == nil {
		return nil, ErrMiss
	}
	blob, err := c.store.Get(key.String())
	if err != nil {
		return nil, err
	}
	defer blob.Release()
	code, err := c.unpack(bytes.NewReader(blob.Bytes()), key, plain)
	if err != nil {
		c.log.Warn("kept code is not used", slog.String("key", key.String()), slog.Any("error", err))
		return nil, ErrMiss
	}
	code.Source, code.extra = Kept, extra{} // what is kept has none, and where it was read is given back
	return code, nil
}

// Embedded returns packed code, as Ahead writes it, if it is for this key. The
// error is always ErrMiss. What it reads is trusted: it has to be part of the
// binary. Code that was placed (see Place) is executed from the binary's file.
func (c *Cache) Embedded(packed io.ReaderAt, key Key) (*Code, error) {
	return c.embedded(packed, key, false)
}

// embedded is Embedded; plain code isn't mapped from a file.
func (c *Cache) embedded(packed io.ReaderAt, key Key, plain bool) (*Code, error) {
	if packed == nil {
		return nil, ErrMiss
	}
	code, err := c.unpack(packed, key, plain)
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

// unpack makes code of packed code for a key.
func (c *Cache) unpack(r io.ReaderAt, key Key, plain bool) (*Code, error) {
	p, err := readHead(r, key)
	if err != nil {
		return nil, err
	}
	file := c.placed(p)
	if file != nil {
		p.ReaderAt, p.base = file, int64(p.At) //nolint:gosec // placed has read there
	}
	code, err := c.codeOf(p)
	if err != nil {
		return nil, errors.Join(err, closeFile(file))
	}
	code.plain = plain
	n, err := newNative(p, p.base+int64(p.Native), int64(p.Size), file) //nolint:gosec // bounded
	if err == nil {
		code.native = n
		var frame [sha256.Size]byte
		if frame, err = n.frame(code.Meta); err == nil && frame != p.Frame {
			err = errDamaged
		}
	}
	if err == nil {
		n.constant = file != nil && (n.at+n.code)%int64(os.Getpagesize()) == 0
		err = code.hold(n)
	}
	if err != nil {
		return nil, errors.Join(err, code.Close())
	}
	if code.extra.packed = p; code.native == n && n.constant {
		code.extra.file = file
	} else { // which may be closed by now
		p.ReaderAt, p.base = r, 0
	}
	return code, nil
}

// codeOf is all but the native code of a pack.
func (c *Cache) codeOf(p *packed) (*Code, error) {
	meta, err := p.meta()
	if err != nil {
		return nil, err
	}
	stub, err := p.stub()
	if err != nil {
		return nil, err
	}
	return c.newCode(p.Key, stub, meta, hex.EncodeToString(p.Name[:]))
}

func closeFile(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// placed opens the program's own file if the pack is in it, where it says, with
// the code at the beginning of a page. It is nil if not, as in tests.
func (c *Cache) placed(p *packed) *os.File {
	if p.At == 0 || p.At > math.MaxInt64/2 {
		return nil
	}
	file, err := executable()
	if err != nil {
		c.private(err)
		return nil
	}
	head := make([]byte, len(p.head))
	if _, err := file.ReadAt(head, int64(p.At)); err != nil || !bytes.Equal(head, p.head) {
		_ = file.Close()
		return nil
	}
	return file
}

// private tells, once, why native code takes memory of this process alone.
// Nothing else comes of it.
func (c *Cache) private(why error) {
	if errors.Is(why, errors.ErrUnsupported) {
		return
	}
	c.once.Do(func() {
		c.log.Warn("native code is not shared with other processes, and takes memory that the system can't have back", slog.Any("error", why))
	})
}

// Put keeps code that wasn't yet declared Loaded. What goes wrong is a warning.
func (c *Cache) Put(code *Code) {
	if c.store == nil {
		return
	}
	if err := c.store.Put(code.Key.String(), code.packedSize(), code.Pack); err != nil {
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
