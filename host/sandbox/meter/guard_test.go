package meter_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"waymark/host/sandbox/meter"
)

// guardAll puts a guard before every import.
func guardAll(_, name string) (guardModule, guardName string, ok bool) {
	return "waymark:guard", name, true
}

// guardSome leaves out the imports whose name ends in "b".
func guardSome(module, name string) (guardModule, guardName string, ok bool) {
	m, n, _ := guardAll(module, name)
	return m, n, !strings.HasSuffix(name, "b")
}

// guarded is the host of a module whose imports are guarded.
type guarded struct {
	calls  []string // of guards and imports, in their order
	answer int32    // of the guards that have a result
	trap   error    // what the guards panic with, unless it is nil
}

func (g *guarded) provide(ctx context.Context, t *testing.T, r wazero.Runtime) {
	t.Helper()
	guard := func(name string) {
		g.calls = append(g.calls, "guard "+name)
		if g.trap != nil {
			panic(g.trap)
		}
	}
	called := func(name string) { g.calls = append(g.calls, "call "+name) }
	newBank().provide(ctx, t, r)
	for _, b := range []wazero.HostModuleBuilder{
		r.NewHostModuleBuilder("env").
			NewFunctionBuilder().WithFunc(func(v int32, _ float64, w int64) int32 { called("f"); return v + int32(w) }).Export("f").
			NewFunctionBuilder().WithFunc(func() { called("h") }).Export("h").
			NewFunctionBuilder().WithFunc(func() { called("hb") }).Export("hb").
			NewFunctionBuilder().WithFunc(func(v int32) int64 { called("long"); return int64(v) }).Export("long").
			NewFunctionBuilder().WithFunc(func(v int32) (int32, int32) { called("pair"); return v, v }).Export("pair").
			NewFunctionBuilder().WithFunc(func(v int32, _ float64, _ int64) int32 { called("b"); return v }).Export("b"),
		r.NewHostModuleBuilder("waymark:guard").
			NewFunctionBuilder().WithFunc(func(v int32, x float64, w int64) int32 {
			guard("f")
			if v != 5 || x != 2.5 || w != 7 {
				t.Errorf("the guard of f got %d, %v, %d", v, x, w)
			}
			return g.answer
		}).Export("f").
			NewFunctionBuilder().WithFunc(func() { guard("h") }).Export("h").
			NewFunctionBuilder().WithFunc(func(int32) { guard("long") }).Export("long").
			NewFunctionBuilder().WithFunc(func(int32) { guard("pair") }).Export("pair"),
	} {
		if _, err := b.Instantiate(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// run calls an export with a fresh instance; "start" is the start function.
func (g *guarded) run(t *testing.T, code []byte, export string) ([]uint64, error) {
	t.Helper()
	res, err := meter.Rewrite(code, meter.Options{Wrap: []string{"wrapped", meter.StartExport}, Guard: guardSome})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, runtimeConfig())
	defer func() { _ = r.Close(ctx) }()
	g.provide(ctx, t, r)
	mod, err := r.InstantiateWithConfig(ctx, res.Wasm, wazero.NewModuleConfig().WithStartFunctions())
	if err != nil {
		t.Fatal(err)
	}
	f := mod.ExportedFunction(export)
	if f.Definition().ParamTypes() == nil {
		return f.Call(ctx)
	}
	return f.Call(ctx, []uint64{5, api.EncodeF64(2.5), 7}[:len(f.Definition().ParamTypes())]...)
}

// waysTo is a module that reaches its imports in all ways that there are. Each
// export passes its parameters on to an import: f unless its name says another.
func waysTo() []byte {
	ref := func(f int) []byte { return join(refFunc, f, end) }
	ft := sig(tt(i32, f64, i64), tt(i32))
	args := join(localGet, 0, localGet, 1, localGet, 2)
	indirect := func(at int, before ...any) body {
		return fn(none, join(before...), args, i32Const, at, callIndirect, 0, 0)
	}
	initTable := func(segment, at int) []byte {
		return join(i32Const, at, i32Const, 0, i32Const, 1, misc, 12, segment, 0)
	}
	return wasm(
		types(ft, sig(tt(), tt()), sig(tt(i32), tt(i64)), sig(tt(i32), tt(i32, i32))),
		imports(join("env", "f", 0, 0), join("env", "h", 0, 1), join("env", "b", 0, 0), join("env", "long", 0, 2), join("env", "pair", 0, 3)),
		functions(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 0),
		table(16),
		globals(join(funcref, 0, ref(0))),
		exports("direct", 5, "table", 6, "table of a number", 7, "expression", 8, "passive", 9, "passive expression", 10,
			"global", 11, "reference", 12, "expression of a number", 13, "by a function of its own", 14,
			"h", 15, "long", 16, "pair", 17, "wrapped", 0, "exported", 0, "exported h", 1, "b", 2, "table b", 18),
		section(8, 1),
		elements(
			join(0, i32Const, 0, end, 2, 0, 2),
			join(1, 0, 1, 0),
			join(2, 0, i32Const, 2, end, 0, 1, 0),
			join(3, 0, 1, 0),
			join(4, i32Const, 3, end, 1, ref(0)),
			join(5, funcref, 1, ref(0)),
			join(6, 0, i32Const, 4, end, funcref, 1, ref(0)),
			join(7, funcref, 1, ref(0)),
		),
		code(
			fn(none, args, call, 0),
			indirect(0),
			indirect(2),
			indirect(3),
			indirect(5, initTable(1, 5)),
			indirect(6, initTable(5, 6)),
			indirect(7, i32Const, 7, globalGet, 0, tableSet, 0),
			indirect(8, i32Const, 8, refFunc, 0, tableSet, 0),
			indirect(4),
			fn(none, args, call, 5),
			fn(none, call, 1),
			fn(none, localGet, 0, call, 3),
			fn(none, localGet, 0, call, 4),
			indirect(1),
		))
}

func TestGuards(t *testing.T) {
	t.Parallel()
	spent := errors.New("enough")
	for _, c := range []struct{ export, name string }{
		{"direct", "f"}, {"table", "f"}, {"table of a number", "f"}, {"expression", "f"}, {"passive", "f"}, {"passive expression", "f"},
		{"global", "f"}, {"reference", "f"}, {"expression of a number", "f"}, {"by a function of its own", "f"}, {"wrapped", "f"}, {"exported", "f"},
		{"h", "h"}, {"exported h", "h"}, {meter.StartExport, "h"}, {"long", "long"}, {"pair", "pair"}, {"b", ""}, {"table b", ""},
	} {
		t.Run(c.export, func(t *testing.T) {
			t.Parallel()
			want := map[string][]uint64{"f": {12}, "h": nil, "long": {5}, "pair": {5, 5}, "": {5}}[c.name]
			calls := []string{"guard " + c.name, "call " + c.name}
			if c.name == "" {
				calls = []string{"call b"}
			}
			for _, answer := range []int32{0, 9, -1} {
				g := &guarded{answer: answer}
				want, calls := want, calls
				if c.name == "f" && answer != 0 {
					want, calls = []uint64{uint64(uint32(answer))}, calls[:1]
				}
				if got, err := g.run(t, waysTo(), c.export); err != nil || !slices.Equal(got, want) || !slices.Equal(g.calls, calls) {
					t.Errorf("guard answers %d: %v, %v after %q, want %v after %q", answer, got, err, g.calls, want, calls)
				}
			}
			g := &guarded{trap: spent}
			_, err := g.run(t, waysTo(), c.export)
			if refused := c.name != ""; errors.Is(err, spent) != refused || !slices.Equal(g.calls, calls[:1]) {
				t.Errorf("guard panics: %v after %q", err, g.calls)
			}
		})
	}
}

// The guard's own calls are not the guest's to pay.
func TestGuardsCostNothing(t *testing.T) {
	t.Parallel()
	for name, code := range samples() {
		if name == "recursion" || name == "endless" {
			continue
		}
		var fuel []int64
		for _, guard := range []func(string, string) (string, string, bool){nil, guardAll, guardSome} {
			res, err := meter.Rewrite(code, meter.Options{Wrap: wrapAll, Guard: guard})
			if err != nil {
				t.Fatal(err)
			}
			b := newBank()
			observe(t, runtimeConfig(), res.Wasm, res, b)
			fuel = append(fuel, b.fuel())
		}
		if fuel[0] != fuel[1] || fuel[0] != fuel[2] {
			t.Errorf("%s: fuel %v, without guards, with all and with some", name, fuel)
		}
	}
}

// A guard has a name of its own, and the guest's names stay where they were.
func TestGuardsKeepNames(t *testing.T) {
	t.Parallel()
	code := wasm(types(sig(tt(), tt())), imports(join("env", "hb", 0, 0), join("env", "h", 0, 0)), functions(0, 0),
		exports("run", 2), code(fn(none, call, 3), fn(none, call, 1)), nameSection(0, "other", 1, "guarding", 2, "caller", 3, "callee"))
	_, err := (&guarded{trap: errors.New("enough")}).run(t, code, "run")
	if err == nil {
		t.Fatal("no trap")
	}
	text := err.Error()
	for _, name := range []string{".h()", ".guarding()", ".callee()", ".caller()"} {
		at := strings.Index(text, name)
		if at < 0 {
			t.Fatalf("no %s, or not in its place: %v", name, err)
		}
		text = text[at:]
	}
}
