package codecache

import (
	"bytes"
	"errors"
	"io"
	"log/slog"

	"waymark/host/sealed"
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
	// Child compiles; nil means that this process does, without limits.
	Child *Child
	// Rewrite changes modules before they are compiled when there is no Child;
	// a Child has its own.
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
		sweep(opts.TempDir)
	}
	if opts.Dir == "" {
		return c, nil
	}
	store, err := sealed.Open(opts.Dir, sealed.Options{KeyDir: opts.KeyDir, MaxBytes: opts.MaxBytes, Logger: c.log})
	if err != nil {
		return c, err
	}
	c.store = store
	sweep(opts.Dir)
	return c, nil
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
	s, err := newScratch(c.places(), room)
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
