package codecache

import (
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
)

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
