package meter_test

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"waymark/host/sandbox/meter"
	"waymark/test/built"
)

func build(tb testing.TB, pkg string) []byte {
	tb.Helper()
	if testing.Short() {
		tb.Skip("builds a guest")
	}
	path, err := built.Guest(context.Background(), pkg)
	if err != nil {
		tb.Fatal(err)
	}
	code, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return code
}

const (
	builtin = "waymark/plugins/builtin"
	busy    = "./testdata/busy"
)

func rewrite(tb testing.TB, code []byte) *meter.Result {
	tb.Helper()
	res, err := meter.Rewrite(code, meter.Options{Wrap: append([]string{"_initialize", "spin", "encode", "order"}, wrapAll...)})
	if err != nil {
		tb.Fatal(err)
	}
	return res
}

// load instantiates and initializes a Go guest.
func load(tb testing.TB, config wazero.RuntimeConfig, code []byte, b *bank) api.Module {
	tb.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, config)
	tb.Cleanup(func() { _ = r.Close(ctx) })
	b.provide(ctx, tb, r)
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	compiled, err := r.CompileModule(ctx, code)
	if err != nil {
		tb.Fatal(err)
	}
	mod, err := r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithStartFunctions("_initialize"))
	if err != nil {
		tb.Fatal(err)
	}
	return mod
}

func TestGoGuest(t *testing.T) {
	t.Parallel()
	code := build(t, busy)
	res := rewrite(t, code)
	config := wazero.NewRuntimeConfig().WithCompilationCache(wazero.NewCompilationCache())
	var fuel []int64
	for range 2 {
		b := newBank()
		before, after := load(t, config, code, newBank()), load(t, config, res.Wasm, b)
		for _, name := range []string{"spin", "encode", "order"} {
			want, err := before.ExportedFunction(name).Call(t.Context(), 200)
			if err != nil {
				t.Fatal(err)
			}
			got, err := after.ExportedFunction(name).Call(t.Context(), 200)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %v, %v, want %v", name, got, err, want)
			}
		}
		if b.done != 4 {
			t.Errorf("%d reports", b.done)
		}
		fuel = append(fuel, b.fuel())
	}
	if fuel[0] != fuel[1] {
		t.Errorf("fuel differs between fresh instances: %v", fuel)
	}
	if s := res.Stats; s.DataSegmentsAfter > 100 || s.DataSegmentsBefore < 1000 {
		t.Errorf("%d data segments became %d", s.DataSegmentsBefore, s.DataSegmentsAfter)
	}
}

// The built-in module stays far from every limit.
func TestBuiltinIsFarFromLimits(t *testing.T) {
	t.Parallel()
	code := build(t, builtin)
	res, err := meter.Rewrite(code, meter.Options{Limits: meter.Limits{
		MaxModule: 16 << 20, MaxFunctions: 25_000, MaxBody: 64 << 10, MaxFunctionEffort: 250_000, MaxEffort: 10_000_000,
		MaxNesting: 5_000, MaxBrTable: 5_000, MaxTableElements: 50_000, MaxGlobals: 500, MaxLocals: 1_000, MaxTypes: 5_000,
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", res.Stats)
}
