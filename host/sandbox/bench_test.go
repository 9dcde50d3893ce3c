package sandbox_test

import (
	"testing"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/test/wasmtest"
)

// BenchmarkSmall: a module of some hundred bytes, whose own work is nothing:
// what the sandbox takes to load it, and to run it once with a fresh instance.
func BenchmarkSmall(b *testing.B) {
	wasm := wasmtest.File{Describe: `{"abi":1,"name":"small","version":"1.0.0","resolvers":[{"name":"r","kinds":["skill"],"reads":[]}]}`, Resolve: `{"resources":[]}`}.Bytes()
	h := sandbox.New(sandbox.Options{CacheDir: b.TempDir()})
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			m, err := h.Load(b.Context(), wasm, sandbox.Limits{})
			if err != nil {
				b.Fatal(err)
			}
			if err := m.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	m, err := h.Load(b.Context(), wasm, sandbox.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	root, err := vfs.OpenRoot(b.TempDir(), vfs.RootOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	filter, err := vfs.View{}.Compile()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("run", func(b *testing.B) { // with the instance that it needs, but for the first
		for b.Loop() {
			run := root.Begin(filter, vfs.Limits{})
			if _, err := m.Resolve(b.Context(), &abi.Request{ABI: abi.Version, Resolver: "r"}, run); err != nil {
				b.Fatal(err)
			}
			_ = run.Close()
		}
	})
}

// BenchmarkCalls: calls of the convention from a guest, thousands in one run.
func BenchmarkCalls(b *testing.B) {
	const calls = 100_000
	for _, call := range []struct{ name, text string }{
		{"load_u64", "(drop (call $load_u64 (local.get $b)))"},
		{"store_u64", "(call $store_u64 (local.get $b) (i64.const 1))"},
		{"length", "(drop (call $length (local.get $b)))"},
		{"alloc_free", "(call $free (call $alloc (i64.const 100)))"},
		{"none", ""},
	} {
		wasm := wasmtest.MustWAT(`(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "free" (func $free (param i64)))
  (import "extism:host/env" "length" (func $length (param i64) (result i64)))
  (import "extism:host/env" "load_u64" (func $load_u64 (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory 2)
  (data (i32.const 0) "{\"abi\":1,\"name\":\"calls\",\"version\":\"1.0.0\",\"resolvers\":[{\"name\":\"r\",\"kinds\":[\"skill\"],\"reads\":[]}]}")
  (data (i32.const 1000) "{\"resources\":[]}")
  (func $answer (param $at i32) (param $n i32) (result i32) (local $b i64) (local $i i32)
    (local.set $b (call $alloc (i64.extend_i32_u (local.get $n))))
    (loop $next
      (call $store_u8 (i64.add (local.get $b) (i64.extend_i32_u (local.get $i))) (i32.load8_u (i32.add (local.get $at) (local.get $i))))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (call $output_set (local.get $b) (i64.extend_i32_u (local.get $n)))
    (i32.const 0))
  (func (export "describe") (result i32) (call $answer (i32.const 0) (i32.const 98)))
  (func (export "resolve") (result i32) (local $b i64) (local $i i32)
    (local.set $b (call $alloc (i64.const 100)))
    (loop $again ` + call.text + `
      (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 100000))))
    (call $answer (i32.const 1000) (i32.const 16))))`)
		h := sandbox.New(sandbox.Options{})
		m, err := h.Load(b.Context(), wasm, sandbox.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(call.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := m.Resolve(b.Context(), &abi.Request{ABI: abi.Version, Resolver: "r"}, emptyRun(b)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/calls, "ns/call")
		})
		_ = m.Close()
	}
}

// emptyRun sees nothing.
func emptyRun(b *testing.B) *vfs.Run {
	b.Helper()
	root, err := vfs.OpenRoot(b.TempDir(), vfs.RootOptions{})
	if err != nil {
		b.Fatal(err)
	}
	filter, err := vfs.View{}.Compile()
	if err != nil {
		b.Fatal(err)
	}
	run := root.Begin(filter, vfs.Limits{})
	b.Cleanup(func() { _ = run.Close(); _ = root.Close() })
	return run
}
