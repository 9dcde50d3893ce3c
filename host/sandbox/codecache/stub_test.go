package codecache_test

import (
	"bytes"
	"context"

	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"waymark/host/sandbox/codecache"
	"waymark/test/wasmtest"
)

// counter is a module that exports "read", which gives what is in its memory at
// 16 plus a global, "size", which gives its memory's size, and "mem".
func counter(t testing.TB) []byte {
	t.Helper()
	wasm, err := wasmtest.WAT(`
(module
  (memory (export "mem") 1 4)
  (global $g (mut i32) (i32.const 7))
  (func (export "read") (result i32) (i32.add (i32.load (i32.const 16)) (global.get $g)))
  (func (export "size") (result i32) (memory.size))
  (data (i32.const 16) "\05\00\00\00"))`)
	must(t, err)
	return wasm
}

// reader is a module of counter that was loaded.
type reader struct {
	runtime  wazero.Runtime
	instance api.Module
}

func open(ctx context.Context, code *codecache.Code) (_ *reader, err error) {
	r := &reader{runtime: wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(code.Cache()))}
	m, err := r.runtime.CompileModule(ctx, code.Wasm)
	if err == nil {
		r.instance, err = r.runtime.InstantiateModule(ctx, m, wazero.NewModuleConfig())
	}
	if err != nil {
		return nil, errors.Join(err, r.runtime.Close(ctx))
	}
	return r, nil
}

// check calls "read" and "size".
func (r *reader) check(ctx context.Context, read, size uint32) error {
	for name, want := range map[string]uint32{"read": read, "size": size} {
		results, err := r.instance.ExportedFunction(name).Call(ctx)
		if err != nil {
			return err
		}
		if got := api.DecodeU32(results[0]); got != want {
			return fmt.Errorf("%s gives %d, want %d", name, got, want)
		}
	}
	return nil
}

// check loads code and compares what it gives.
func check(ctx context.Context, code *codecache.Code, read, size uint32) error {
	r, err := open(ctx, code)
	if err != nil {
		return err
	}
	return errors.Join(r.check(ctx, read, size), r.runtime.Close(ctx))
}

// TestStub: what is handed to the runtime holds none of the module's
// instructions, and does what the module does.
func TestStub(t *testing.T) {
	var logs logBuffer
	opts := cacheOptions(t, &logs)
	for _, want := range []codecache.Source{codecache.Compiled, codecache.Kept} {
		var stub []byte
		code, err := openCache(t, opts).Load(t.Context(), codecache.Request{Wasm: counter(t)},
			func(ctx context.Context, code *codecache.Code) error {
				stub = code.Wasm
				return check(ctx, code, 5+7, 1)
			})
		must(t, err)
		if code.Source != want || bytes.Contains(stub, []byte{0x41, 16, 0x28}) {
			t.Errorf("it is %s, and has %x", code.Source, stub)
		}
		must(t, code.Close())
	}
}

// TestForeignStub: native code is for the stub that it was packed with, and for
// no other module.
func TestForeignStub(t *testing.T) {
	var packed bytes.Buffer
	wasm := counter(t)
	must(t, codecache.Ahead(t.Context(), &packed, wasm, codecache.Recipe{}, nil))
	at := bytes.Index(packed.Bytes(), []byte("\x00asm"))
	for _, change := range []int{20, 40, 60} {
		altered := bytes.Clone(packed.Bytes())
		altered[at+change] ^= 1
		var logs logBuffer
		c := openCache(t, codecache.Options{Logger: slog.New(slog.NewTextHandler(&logs, nil))})
		code, err := c.Load(t.Context(), codecache.Request{Wasm: wasm, Embedded: bytes.NewReader(altered)}, func(ctx context.Context, code *codecache.Code) error {
			return check(ctx, code, 12, 1)
		})
		must(t, err)
		if code.Source != codecache.Compiled || logs.take() == "" {
			t.Errorf("byte %d: %s", change, code.Source)
		}
		must(t, code.Close())
	}
}
