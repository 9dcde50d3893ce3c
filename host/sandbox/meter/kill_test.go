package meter_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tetratelabs/wazero"

	"waymark/host/sandbox/meter"
)

// hostile are modules whose export "run" never ends, or takes minutes.
func hostile() map[string][]byte {
	v := sig(tt(), tt())
	big := i32Const // sizes that fill most of a memory of 256 pages
	grown := join(i32Const, snum(200), memoryGrow, 0, drop)
	twoFuncs := func(a, b body) []byte {
		return wasm(types(v), functions(0, 0), table(2), memory(1), exports("run", 0),
			elements(join(0, i32Const, 0, end, 2, 0, 1)), code(a, b))
	}
	size := snum(200 << 16)
	return map[string][]byte{
		"loop":          one(tt(), tt(), none, loop, void, br, 0, end),
		"loop of br_if": one(tt(), tt(), none, loop, void, i32Const, 1, brIf, 0, end),
		"loop of br_table": one(tt(), tt(), none,
			loop, void, block, void, i32Const, 0, brTable, 1, 1, 1, end, end),
		"loop of br_table, default": one(tt(), tt(), none, loop, void, i32Const, 9, brTable, 0, 0, end),
		"loop in the dark":          one(tt(), tt(), none, block, void, loop, void, br, 0, end, unreachable, end),
		"nested loops":              one(tt(), tt(), none, loop, void, loop, void, loop, void, br, 2, end, end, end),
		"loop with values":          one(tt(), tt(), list(join(1, i32)), i32Const, 1, localSet, 0, loop, void, localGet, 0, if_, void, br, 1, end, end),
		"a dispatch that goes back": one(tt(), tt(), list(join(1, i32)),
			loop, void, block, void, block, void, localGet, 0, brTable, 1, 0, 1, end,
			i32Const, 1, localSet, 0, br, 1, end, i32Const, 0, localSet, 0, br, 0, end),
		"a dispatch to itself": one(tt(), tt(), list(join(1, i32)),
			loop, void, block, void, localGet, 0, brTable, 1, 0, 1, end, i32Const, 1, localSet, 0, br, 0, end),
		"a dispatch to a loop outside": one(tt(), tt(), list(join(1, i32)),
			loop, void, loop, void, block, void, localGet, 0, brTable, 1, 0, 2, end, i32Const, 1, localSet, 0, br, 0, end, end),
		"divisions": one(tt(), tt(), none,
			loop, void, repeat(10_000, i32Const, 7, i32Const, 3, i32DivS, drop), br, 0, end),
		"calls in a row": wasm(types(v), functions(0, 0, 0, 0, 0, 0), exports("run", 0), code(
			fn(none, repeat(300, call, 1)), fn(none, repeat(300, call, 2)), fn(none, repeat(300, call, 3)),
			fn(none, repeat(300, call, 4)), fn(none, repeat(300, call, 5)), fn(none))),
		"two functions by turns": twoFuncs(
			fn(none, loop, void, call, 1, br, 0, end),
			fn(none, repeat(1000, block, void, end))),
		"tree of calls": wasm(types(sig(tt(i32), tt()), v), functions(0, 1), exports("run", 1), code(
			fn(none, localGet, 0, if_, void, localGet, 0, i32Const, 1, i32Sub, call, 0, localGet, 0, i32Const, 1, i32Sub, call, 0, end),
			fn(none, i32Const, snum(60), call, 0))),
		"tree of indirect calls": wasm(types(sig(tt(i32), tt()), v), functions(0, 1), table(1), exports("run", 1),
			elements(join(0, i32Const, 0, end, 1, 0)), code(
				fn(none, localGet, 0, if_, void,
					localGet, 0, i32Const, 1, i32Sub, i32Const, 0, callIndirect, 0, 0,
					localGet, 0, i32Const, 1, i32Sub, i32Const, 0, callIndirect, 0, 0, end),
				fn(none, i32Const, snum(60), call, 0))),
		"memory.fill": one(tt(), tt(), none, grown, loop, void, i32Const, 0, i32Const, 1, big, size, misc, 11, 0, br, 0, end),
		"memory.copy": one(tt(), tt(), none, grown, loop, void, i32Const, 0, i32Const, 1, big, size, misc, 10, 0, 0, br, 0, end),
		"memory.fill in a row": one(tt(), tt(), none, grown,
			repeat(1_500, i32Const, 0, i32Const, 1, big, size, misc, 11, 0)),
		"memory.grow": one(tt(), tt(), none, loop, void, i32Const, 0, memoryGrow, 0, drop, br, 0, end),
		"table.fill": one(tt(), tt(), none, refNull, funcref, i32Const, snum(90_000), misc, 15, 0, drop,
			loop, void, i32Const, 0, refNull, funcref, i32Const, snum(90_000), misc, 17, 0, br, 0, end),
		// Every load waits for the one before, and misses all caches: entry i of
		// the memory leads to i*1664525+1013904223, for entries of 64 bytes.
		"cache misses": one(tt(), tt(), list(join(2, i32)), i32Const, snum(255), memoryGrow, 0, drop,
			loop, void,
			localGet, 0, i32Const, 6, i32Shl,
			localGet, 0, i32Const, snum(1664525), i32Mul, i32Const, snum(1013904223), i32Add, i32Const, snum(1<<18-1), i32And, i32Const, 6, i32Shl,
			i32Store, 2, 0,
			localGet, 0, i32Const, 1, i32Add, localTee, 0, i32Const, snum(1<<18), i32LtU, brIf, 0, end,
			loop, void, localGet, 1, repeat(10_000, i32Load, 2, 0), localSet, 1, br, 0, end),
		"ref.func": wasm(types(v), functions(0), exports("run", 0),
			code(fn(none, loop, void, repeat(1000, refFunc, 0, drop), br, 0, end))),
		"start": wasm(types(v), functions(0), exports("x", 0), section(8, 0), code(fn(none, loop, void, br, 0, end))),
	}
}

// Every hostile module asks for more within its slice. The clock has no part
// in it: what a slice lasts is measured by BenchmarkSlice.
func TestKilled(t *testing.T) {
	for name, code := range hostile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, err := meter.Rewrite(code, meter.Options{})
			if err != nil {
				t.Fatal(err)
			}
			ctx := context.Background()
			r := wazero.NewRuntimeWithConfig(ctx, runtimeConfig())
			defer func() { _ = r.Close(ctx) }()
			b := &bank{slice: 1_000_000, limit: 6_000_000}
			b.provide(ctx, t, r)
			mod, err := start(ctx, t, r, res)
			if err == nil {
				_, err = mod.ExportedFunction("run").Call(ctx)
			}
			if !errors.Is(err, errSpent) {
				t.Fatalf("ended by %v after %d", err, b.granted)
			}
		})
	}
}

func TestFuel(t *testing.T) {
	t.Parallel()
	fuel := func(code []byte, slice int64, args ...uint64) int64 {
		res, err := meter.Rewrite(code, meter.Options{Wrap: wrapAll})
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		r := wazero.NewRuntimeWithConfig(ctx, runtimeConfig())
		defer func() { _ = r.Close(ctx) }()
		b := &bank{slice: slice}
		b.provide(ctx, t, r)
		mod, err := start(ctx, t, r, res)
		if err != nil {
			t.Fatal(err)
		}
		for name := range mod.ExportedFunctionDefinitions() {
			if name != meter.StartExport {
				if _, err := mod.ExportedFunction(name).Call(ctx, args...); err != nil {
					t.Fatal(err)
				}
			}
		}
		if b.done == 0 {
			t.Fatal("no report")
		}
		return b.fuel()
	}
	fib := samples()["fibonacci"]
	if a, b := fuel(fib, 1000, 15), fuel(fib, 7, 15); a != b || a < 1000 {
		t.Errorf("fuel depends on the slice: %d and %d", a, b)
	}
	if a, b := fuel(fib, 1000, 15), fuel(fib, 1000, 16); b <= a {
		t.Errorf("more work, less fuel: %d and %d", a, b)
	}
	// A debt larger than a slice is paid in full.
	fill := one(tt(i32), tt(), none, i32Const, 0, i32Const, 0, localGet, 0, misc, 11, 0)
	if d := fuel(fill, 10, 64000) - fuel(fill, 10, 0); d != 4000 {
		t.Errorf("64,000 bytes cost %d", d)
	}
	started := started(fn(none, i32Const, 0, i32Const, 77, i32Store, 2, 0))
	if fuel(started, 100) == 0 {
		t.Error("the start function is free")
	}
}
