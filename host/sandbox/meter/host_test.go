package meter_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"waymark/host/sandbox/meter"
)

// bank is the host's side of the meter: it grants slices up to a limit.
type bank struct {
	slice   int64
	limit   int64 // of what is granted in all; 0: none
	granted int64
	left    int64 // what was left when the last wrapped call ended
	ticks   int
	done    int

	overflows int // how often the stack was too deep

	granting func() // called first by each tick; may be nil
}

var (
	errSpent   = errors.New("budget spent")
	errTooDeep = errors.New("the stack is too deep")
)

func (b *bank) tick(context.Context) int64 {
	b.ticks++
	if b.granting != nil {
		b.granting()
	}
	if b.limit > 0 && b.granted >= b.limit {
		panic(errSpent)
	}
	b.granted += b.slice
	return b.slice
}

func (b *bank) fuel() int64 { return b.granted - b.left }

// provide instantiates the meter's host module.
func (b *bank) provide(ctx context.Context, tb testing.TB, r wazero.Runtime) {
	tb.Helper()
	_, err := r.NewHostModuleBuilder(meter.ImportModule).
		NewFunctionBuilder().WithFunc(b.tick).Export(meter.ImportTick).
		NewFunctionBuilder().WithFunc(func(_ context.Context, left int64) { b.left = left; b.done++ }).Export(meter.ImportDone).
		NewFunctionBuilder().WithFunc(func(context.Context) { b.overflows++; panic(errTooDeep) }).Export(meter.ImportOverflow).
		Instantiate(ctx)
	if err != nil {
		tb.Fatal(err)
	}
}

func newBank() *bank { return &bank{slice: 100_000} }

// runtimeConfig bounds memory, so that nothing a test or the fuzzer makes up
// takes the machine's.
func runtimeConfig() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().WithMemoryLimitPages(256)
}

// start instantiates a rewritten module and calls its start function.
func start(ctx context.Context, tb testing.TB, r wazero.Runtime, res *meter.Result) (api.Module, error) {
	tb.Helper()
	mod, err := r.InstantiateWithConfig(ctx, res.Wasm, wazero.NewModuleConfig().WithStartFunctions().WithName(""))
	if err != nil {
		return nil, err
	}
	if res.HasStart {
		_, err = mod.ExportedFunction(meter.StartExport).Call(ctx)
	}
	return mod, err
}
