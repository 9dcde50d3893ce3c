package meter_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"waymark/host/sandbox/meter"
)

// recursions are modules whose exports "run" and "describe" never come to an
// end but by the stack's. Each level calls the import once.
func recursions() map[string][]byte {
	v, p := sig(tt(), tt()), sig(tt(i32), tt(i32))
	many := sig(slices.Repeat(tt(i64), 100), tt())
	each := func(n int, parts func(i int) []byte) (b []byte) {
		for i := range n {
			b = append(b, parts(i)...)
		}
		return b
	}
	get := func(i int) []byte { return join(localGet, num(i)) }
	module := func(bodies ...body) []byte {
		declared := []byte{0, 0}
		for range len(bodies) - 1 {
			declared = append(declared, 0)
		}
		return wasm(types(v, p, many), imports(join("env", "f", 0, 0)), functions(declared[1:]...), table(4), memory(1),
			globals(join(i64, 1, i64Const, 0, end)), exports("run", 1, "describe", 1),
			elements(join(0, i32Const, 0, end, 2, 0, 1)), code(bodies...))
	}
	return map[string][]byte{
		"itself":           module(fn(none, call, 0, call, 1)),
		"each other":       module(fn(none, call, 0, call, 2), fn(none, call, 0, call, 3), fn(none, call, 1)),
		"through a table":  module(fn(none, call, 0, i32Const, 1, callIndirect, 0, 0)),
		"in a loop":        module(fn(none, loop, void, call, 0, call, 1, br, 0, end)),
		"in a block":       module(fn(none, block, void, call, 0, i32Const, 0, brIf, 0, call, 1, end)),
		"in a dead end":    module(fn(none, call, 0, call, 1, unreachable, call, 1)),
		"many locals":      module(fn(list(join(num(200), i64)), call, 0, each(200, func(i int) []byte { return join(globalGet, 0, localSet, num(i)) }), call, 1, each(200, func(i int) []byte { return join(get(i), globalSet, 0) }))),
		"one local, often": module(fn(list(join(1, i64)), call, 0, bytesOf(1000, i32Const, 0, i64Load, 0, 0, localSet, 0, localGet, 0, globalSet, 0), call, 1)),
		"values":           module(fn(none, call, 0, bytesOf(300, i32Const, 0, i64Load, 0, 0), call, 1, bytesOf(300, globalSet, 0))),
		"vectors":          module(fn(none, call, 0, bytesOf(300, i32Const, 0, vec, 0, 0, 0), call, 1, bytesOf(300, vec, 0x53, drop))),
		"parameters": wasm(types(v, p, many), imports(join("env", "f", 0, 0)), functions(0, 2), exports("run", 1, "describe", 1),
			code(fn(none, bytesOf(100, i64Const, 1), call, 2), fn(none, call, 0, each(100, get), call, 2, each(100, get), bytesOf(100, drop)))),
		"results": wasm(types(v, sig(nil, slices.Repeat(tt(i64), 100))), imports(join("env", "f", 0, 0)), functions(0, 1), exports("run", 1, "describe", 1),
			code(fn(none, call, 2, bytesOf(100, drop)), fn(none, call, 0, call, 2))),
	}
}

func bytesOf(n int, parts ...any) []byte { return slices.Repeat(join(parts...), n) }

// deep is an instance of which the calls of its import are counted.
type deep struct {
	mod   api.Module
	bank  *bank
	depth int
}

func newDeep(t *testing.T, code []byte, opts meter.Options) *deep {
	t.Helper()
	res, err := meter.Rewrite(code, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, runtimeConfig())
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	d := &deep{bank: &bank{slice: 1_000_000_000}}
	d.bank.provide(ctx, t, r)
	if _, err := r.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(func() { d.depth++ }).Export("f").Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	if d.mod, err = r.InstantiateWithConfig(ctx, res.Wasm, wazero.NewModuleConfig().WithStartFunctions()); err != nil {
		t.Fatal(err)
	}
	return d
}

// run calls an export and returns how deep it went.
func (d *deep) run(t *testing.T, export string) (int, error) {
	t.Helper()
	d.depth = 0
	_, err := d.mod.ExportedFunction(export).Call(t.Context())
	return d.depth, err
}

// Every endless recursion ends at the same depth each time, on fresh instances
// and on one that another has ended on.
func TestRecursionEnds(t *testing.T) {
	t.Parallel()
	for name, code := range recursions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := meter.Limits{MaxStack: 1 << 20}
			var depths []int
			for range 2 {
				d := newDeep(t, code, meter.Options{Wrap: wrapAll, Limits: limits})
				for _, export := range []string{"run", "describe", "run"} {
					depth, err := d.run(t, export)
					if !errors.Is(err, errTooDeep) {
						t.Fatalf("%s ended by %v, %d deep", export, err, depth)
					}
					depths = append(depths, depth)
				}
				if d.bank.overflows != 3 {
					t.Errorf("%d reports", d.bank.overflows)
				}
			}
			if slices.Min(depths) != slices.Max(depths) || depths[0] < 10 {
				t.Errorf("depths %v", depths)
			}
			d := newDeep(t, code, meter.Options{Wrap: wrapAll, Limits: meter.Limits{MaxStack: 2 << 20}})
			if twice, _ := d.run(t, "run"); twice < 2*depths[0]-3 || twice > 2*depths[0]+3 {
				t.Errorf("with twice the stack %d deep instead of %d", twice, depths[0])
			}
		})
	}
}

func TestRecursionEndsInStart(t *testing.T) {
	t.Parallel()
	code := wasm(types(sig(tt(), tt())), imports(join("env", "f", 0, 0)), functions(0), section(8, 1), code(fn(none, call, 0, call, 1)))
	d := newDeep(t, code, meter.Options{Wrap: wrapAll})
	if depth, err := d.run(t, meter.StartExport); !errors.Is(err, errTooDeep) || depth < 1000 {
		t.Errorf("ended by %v, %d deep", err, depth)
	}
}

// What a function took is there again when it has returned, however it does.
func TestStackIsGivenBack(t *testing.T) {
	t.Parallel()
	for name, exit := range map[string][]byte{
		"at the end":         nil,
		"by return":          join(return_),
		"by a branch":        join(br, 2),
		"by a branch, maybe": join(localGet, 0, brIf, 2),
		"by a table":         join(localGet, 0, brTable, 2, 0, 1, 2),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// down goes n levels deep; run does so ten thousand times, in all
			// deeper than could be.
			down := fn(none, call, 0, block, void, block, void, localGet, 0, i32Eqz, brIf, 1,
				localGet, 0, i32Const, 1, i32Sub, call, 2, exit, end, end)
			run := fn(list(join(1, i32)), loop, void, i32Const, 50, call, 2, call, 3,
				localGet, 0, i32Const, 1, i32Add, localTee, 0, i32Const, snum(10_000), i32LtU, brIf, 0, end)
			code := wasm(types(sig(tt(), tt()), sig(tt(i32), tt())), imports(join("env", "f", 0, 0)), functions(0, 1, 0), exports("run", 1),
				code(run, down, fn(none, i32Const, 3, call, 2)))
			d := newDeep(t, code, meter.Options{Wrap: wrapAll, Limits: meter.Limits{MaxStack: 64 << 10}})
			for range 2 {
				if depth, err := d.run(t, "run"); err != nil || depth != 10_000*(51+4) {
					t.Errorf("%d calls, %v", depth, err)
				}
			}
		})
	}
}

// A function that calls none of the module's is not accounted for, unless its
// own frame is large.
func TestLargeLeaf(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]error{100: nil, 9000: errTooDeep} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			code := wasm(types(sig(tt(), tt())), imports(join("env", "f", 0, 0)), functions(0), memory(1),
				globals(join(i64, 1, i64Const, 0, end)), exports("run", 1),
				code(fn(none, bytesOf(n, i32Const, 0, i64Load, 0, 0), call, 0, bytesOf(n, globalSet, 0))))
			d := newDeep(t, code, meter.Options{Wrap: wrapAll, Limits: meter.Limits{MaxStack: 64 << 10}})
			if _, err := d.run(t, "run"); !errors.Is(err, want) {
				t.Errorf("ended by %v, want %v", err, want)
			}
		})
	}
}

// The depth at which a recursion ends doesn't depend on what else is asked for
// on the way: guards, and how much a slice of the budget is.
func TestDepthIsIndependent(t *testing.T) {
	t.Parallel()
	code := recursions()["itself"]
	depth := func(slice int64) int {
		d := newDeep(t, code, meter.Options{Wrap: wrapAll})
		d.bank.slice = slice
		n, err := d.run(t, "run")
		if !errors.Is(err, errTooDeep) {
			t.Fatal(err)
		}
		return n
	}
	if a, b := depth(5), depth(1_000_000); a != b {
		t.Errorf("%d levels with small slices, %d with large ones", a, b)
	}
}
