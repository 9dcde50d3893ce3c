package codecache

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"

	"waymark/internal/text"
)

// roomToCompile is the room that native code may need: the largest real module
// makes 10 MiB of it.
const roomToCompile = 64 << 20

// compile makes code for a module, in a child if there is one.
func (c *Cache) compile(ctx context.Context, key Key, wasm []byte, recipe Recipe) (*Code, error) {
	s, err := newScratch(c.scratchDirs(), roomToCompile)
	if err != nil {
		return nil, err
	}
	code := &Code{Key: key, Source: Compiled, scratch: s}
	if c.opts.Program != nil {
		code.Wasm, code.Meta, err = compileInChild(ctx, c.opts.Program, s, wasm, recipe, c.opts.Limits)
	} else {
		code.Wasm, code.Meta, err = compileIn(ctx, s.path, wasm, recipe, c.opts.Rewrite, c.opts.Limits.Workers)
	}
	if err == nil {
		err = code.check(recipe)
	}
	if err != nil {
		_ = code.Close()
		return nil, err
	}
	return code, nil
}

// check makes sure that wazero will find the code, by name and version: else
// it would compile again, in this process and without limits.
func (c *Code) check(recipe Recipe) error {
	files, err := c.scratch.natives()
	if err != nil {
		return err
	}
	name := nativeName(c.Wasm, recipe.CloseOnDone)
	if !slices.ContainsFunc(files, func(f native) bool { return f.name == name }) {
		return errors.New("the compiler wrote code for another CPU, or names it in a way unknown here")
	}
	f, _, err := c.scratch.open(filepath.Join(c.scratch.native, name))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	header := make([]byte, 7)
	if _, err := io.ReadFull(f, header); err != nil {
		return err
	}
	version := make([]byte, header[6])
	if _, err := io.ReadFull(f, version); err != nil {
		return err
	}
	if !strings.HasPrefix(c.scratch.native, "wazero-"+string(version)+"-") {
		return fmt.Errorf("the compiler is wazero %q, and %s is needed", version, c.scratch.native)
	}
	return nil
}

// compileIn rewrites a module and leaves its native code below dir.
//
// The runtime and the cache that are used here are thrown away: the module is
// loaded from the files by the runtime that runs it.
func compileIn(ctx context.Context, dir string, wasm []byte, recipe Recipe, rewrite Rewriter, workers int) (_, meta []byte, err error) {
	if rewrite != nil {
		if wasm, meta, err = rewriteSafely(rewrite, wasm, recipe.RewriteOptions); err != nil {
			return nil, nil, &ModuleError{Stage: "rewrite", Text: text.Line(err.Error(), maxErrorText)}
		}
	}
	cache, err := wazero.NewCompilationCacheWithDir(dir)
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
	return wasm, meta, nil
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
	code, err := c.compile(ctx, key, wasm, recipe)
	if err != nil {
		return err
	}
	return errors.Join(code.Pack(w), code.Close())
}
