package meter_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"waymark/host/sandbox/meter"
	"waymark/test/testenv"
)

// fuelFile has what version 4 of the meter counted, which was the plainest way of
// counting: one global, that is changed and looked at where a cost is due.
const fuelFile = "testdata/fuel.txt"

// How costs are charged is the meter's business, what they are in all isn't:
// equal modules use the same fuel in each version.
func TestFuelStays(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile(fuelFile)
	if err != nil {
		t.Fatal(err)
	}
	all := samples()
	for n := range uint64(testenv.Rounds(25, 80, 80)) {
		all[fmt.Sprintf("random %d", n)] = scribble(testenv.RandOf(1, n))
	}
	want := map[string]string{}
	for line := range strings.Lines(string(golden)) {
		name, list, _ := strings.Cut(strings.TrimSpace(line), ":")
		want[name] = list
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		got := fuelOf(t, all[name], meter.Options{State: true})
		if list, ok := want[name]; !ok || list != got {
			t.Errorf("%s uses%s, was%s", name, got, list)
		}
	}
}

// fuelOf is what each call of a module's exports has used, by itself and with
// those before it, until one is stopped: whether it returns or traps.
func fuelOf(t *testing.T, code []byte, opts meter.Options) (list string) {
	t.Helper()
	res, err := meter.Rewrite(code, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, runtimeConfig())
	defer func() { _ = r.Close(ctx) }()
	compiled, err := compile(ctx, r, res.Wasm)
	if err != nil {
		t.Fatal(err)
	}
	b := &bank{slice: 10_000, limit: 1_000_000}
	b.provide(ctx, t, r)
	if err := stubs(ctx, r, compiled); err != nil {
		return ""
	}
	mod, err := start(ctx, t, r, res)
	if err != nil {
		return ""
	}
	if res.Fixed != "" {
		return " " + res.Fixed
	}
	budget := mod.ExportedGlobal(meter.GlobalExport(res.MutableGlobals - 2))
	for _, name := range sortedExports(mod) {
		f := mod.ExportedFunction(name)
		def := f.Definition()
		if bytes.IndexByte(slices.Concat(def.ParamTypes(), def.ResultTypes()), v128) >= 0 {
			continue
		}
		for _, arg := range []uint64{0, 9} {
			_, err := f.Call(ctx, slices.Repeat([]uint64{arg}, len(def.ParamTypes()))...)
			used := b.granted - int64(budget.Get())
			if errors.Is(err, errSpent) || used > b.limit {
				return list
			}
			list += fmt.Sprintf(" %d", used)
		}
	}
	return list
}
