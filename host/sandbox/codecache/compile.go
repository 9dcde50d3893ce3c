package codecache

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"

	"waymark/internal/text"
)

// roomToCompile is the room that native code may need: the largest real module
// makes 10 MiB of it.
const roomToCompile = 64 << 20

// compile makes code for a module, in a child if there is one.
func (c *Cache) compile(ctx context.Context, key Key, wasm []byte, recipe Recipe, limits Limits, plain bool) (*Code, error) {
	s, err := newScratch(c.scratchDirs(), roomToCompile)
	if err != nil {
		return nil, err
	}
	var stub, meta []byte
	if c.opts.Program != nil {
		stub, meta, err = compileInChild(ctx, c.opts.Program, s, wasm, recipe, limits)
	} else {
		stub, meta, err = compileIn(ctx, s.path, wasm, recipe, c.opts.Rewrite, limits.Workers)
	}
	if err != nil {
		s.discard()
		return nil, errors.Join(err, s.cache.Close(ctx))
	}
	name := nativeName(stub, recipe.CloseOnDone)
	code, err := c.newCode(key, stub, meta, name)
	if err != nil {
		s.discard()
		return nil, errors.Join(err, s.cache.Close(ctx))
	}
	code.Source, code.scratch, code.plain = Compiled, s, plain
	f, size, err := s.open(filepath.Join(s.native, name))
	if err == nil {
		var n *native
		if n, err = newNative(f, 0, size, f); err == nil {
			n.laid = true
			err = code.hold(n)
		}
	}
	if err != nil {
		return nil, errors.Join(err, code.Close())
	}
	return code, nil
}

// compileIn rewrites a module and leaves its native code below dir, in the place
// of that of the stub, which it returns.
//
// The runtime and the cache that are used here are thrown away: the stub is
// loaded with the files by the runtime that runs it.
func compileIn(ctx context.Context, dir string, wasm []byte, recipe Recipe, rewrite Rewriter, workers int) (_, meta []byte, err error) {
	if rewrite != nil {
		if wasm, meta, err = rewriteSafely(rewrite, wasm, recipe.RewriteOptions); err != nil {
			return nil, nil, &ModuleError{Stage: "rewrite", Text: text.Line(err.Error(), maxErrorText)}
		}
	}
	cache, native, err := wazeroCache(dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, cache.Close(context.WithoutCancel(ctx))) }()
	if err := compileSafely(ctx, cache, wasm, recipe, workers); err != nil {
		var file *fs.PathError
		if errors.As(err, &file) || errors.Is(err, unix.ENOMEM) || ctx.Err() != nil {
			return nil, nil, err
		}
		return nil, nil, &ModuleError{Stage: "compile", Text: text.Line(err.Error(), maxErrorText)}
	}
	stub, err := stubOf(wasm)
	if err != nil {
		return nil, nil, err
	}
	place := func(wasm []byte) string { return filepath.Join(dir, native, nativeName(wasm, recipe.CloseOnDone)) }
	if err := os.Rename(place(wasm), place(stub)); err != nil {
		return nil, nil, errors.New("the compiler names native code in a way unknown here")
	}
	return stub, meta, nil
}

func rewriteSafely(rewrite Rewriter, wasm, options []byte) (_, _ []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the rewriter panicked: %v", r)
		}
	}()
	return rewrite(wasm, options)
}

func compileSafely(ctx context.Context, cache wazero.CompilationCache, wasm []byte, recipe Recipe, workers int) (err error) {
	defer func() { // wazero's compiler panics on some shapes it can't handle
		if r := recover(); r != nil {
			cause, ok := r.(error) // ENOMEM, for one
			if !ok {
				cause = fmt.Errorf("%v", r)
			}
			err = fmt.Errorf("the compiler panicked: %w", cause)
		}
	}()
	ctx = experimental.WithCompilationWorkers(ctx, workers)
	config := wazero.NewRuntimeConfig().WithCompilationCache(cache).WithCloseOnContextDone(recipe.CloseOnDone)
	r := wazero.NewRuntimeWithConfig(ctx, config)
	_, err = r.CompileModule(ctx, wasm)
	return errors.Join(err, r.Close(context.WithoutCancel(ctx)))
}

// Ahead compiles a module in this process and writes packed code for machines
// like this one. It is for build tools; the agent embeds what they write.
func Ahead(ctx context.Context, w io.Writer, wasm []byte, recipe Recipe, rewrite Rewriter) error {
	c, err := Open(Options{Rewrite: rewrite})
	if err != nil {
		return err
	}
	key, err := KeyOf(sha256.Sum256(wasm), recipe)
	if err != nil {
		return err
	}
	code, err := c.compile(ctx, key, wasm, recipe, c.opts.Limits, true)
	if err != nil {
		return err
	}
	return errors.Join(code.pack(w, packAlign), code.Close())
}
