package meter_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"waymark/host/sandbox/meter"
)

var errNotRun = errors.New("can't be run here")

// outcome is what a module showed of itself.
type outcome struct {
	invalid string // why it doesn't compile
	skipped error
	trace   []string
	spent   bool
	// overflow says that the stack overflowed, which comes at other depths when a
	// frame has another size.
	overflow bool
}

// observe instantiates a module and calls everything it exports.
func observe(tb testing.TB, engine wazero.RuntimeConfig, code []byte, res *meter.Result, b *bank) (o outcome) {
	tb.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, engine)
	defer func() { _ = r.Close(ctx) }()
	compiled, err := compile(ctx, r, code)
	if err != nil {
		o.invalid = err.Error()
		return o
	}
	if res != nil {
		b.provide(ctx, tb, r)
	}
	if o.skipped = stubs(ctx, r, compiled); o.skipped != nil {
		return o
	}
	mod, err := r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithStartFunctions().WithName(""))
	if err == nil && res != nil && res.HasStart {
		_, err = mod.ExportedFunction(meter.StartExport).Call(ctx)
	}
	if o.add("start", err); err != nil {
		return o
	}
	for _, name := range sortedExports(mod) {
		for _, arg := range []uint64{0, 3} {
			o.call(ctx, mod, name, arg)
		}
	}
	if m := mod.Memory(); !reflect.ValueOf(m).IsNil() {
		buf, _ := m.Read(0, m.Size())
		h := fnv.New64a()
		_, _ = h.Write(buf)
		o.trace = append(o.trace, fmt.Sprintf("memory %d %x", m.Size(), h.Sum64()))
	}
	return o
}

// compile takes a panic of the compiler for a refusal.
func compile(ctx context.Context, r wazero.Runtime, code []byte) (_ wazero.CompiledModule, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("compiler panic: %v", p)
		}
	}()
	return r.CompileModule(ctx, code)
}

func (o *outcome) add(what string, err error) {
	if err == nil {
		o.trace = append(o.trace, what+" ok")
		return
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	o.spent = o.spent || errors.Is(err, errSpent)
	o.overflow = o.overflow || strings.Contains(line, "stack overflow") || errors.Is(err, errTooDeep)
	line = strings.TrimPrefix(line, "start function[0] failed: ")
	o.trace = append(o.trace, what+" "+line)
}

func (o *outcome) call(ctx context.Context, mod api.Module, name string, arg uint64) {
	f := mod.ExportedFunction(name)
	def := f.Definition()
	args := make([]uint64, len(def.ParamTypes()))
	for i, t := range def.ParamTypes() {
		if t == api.ValueTypeI32 || t == api.ValueTypeI64 {
			args[i] = arg
		}
		if t == v128 {
			return
		}
	}
	results, err := f.Call(ctx, args...)
	for i, t := range def.ResultTypes() {
		if (t == funcref || t == externref) && i < len(results) && results[i] != 0 {
			results[i] = 1 // an address
		}
	}
	o.add(fmt.Sprintf("%s(%d) %v", name, arg, results), err)
}

func sortedExports(mod api.Module) []string {
	var names []string
	for name := range mod.ExportedFunctionDefinitions() {
		if name != meter.StartExport {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// stubs provides functions that return zeros for whatever a module imports.
func stubs(ctx context.Context, r wazero.Runtime, compiled wazero.CompiledModule) error {
	modules := map[string]wazero.HostModuleBuilder{}
	seen := map[string]string{}
	for _, f := range compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		if module == meter.ImportModule {
			continue
		}
		types := fmt.Sprintf("%x %x", f.ParamTypes(), f.ResultTypes())
		if known, ok := seen[module+"\x00"+name]; ok && known != types || module == "" || bytes.IndexByte(slices.Concat(f.ParamTypes(), f.ResultTypes()), v128) >= 0 {
			return errNotRun
		}
		seen[module+"\x00"+name] = types
		if modules[module] == nil {
			modules[module] = r.NewHostModuleBuilder(module)
		}
		n := len(f.ResultTypes())
		modules[module].NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) {
			clear(stack[:n])
		}), f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	for _, b := range modules {
		if _, err := b.Instantiate(ctx); err != nil {
			return errNotRun
		}
	}
	if len(compiled.ImportedMemories()) > 0 {
		return errNotRun
	}
	return nil
}

// fuelBound is about a tenth of a second.
const fuelBound = 20_000_000

// same checks that a module behaves after rewriting as it did before. It
// reports whether both ran.
func same(tb testing.TB, original []byte, opts meter.Options) bool {
	tb.Helper()
	return sameWithin(tb, original, opts, fuelBound, runtimeConfig())
}

// sameWithin is same for what uses less than some fuel, with an engine for the original.
func sameWithin(tb testing.TB, original []byte, opts meter.Options, fuel int64, engine wazero.RuntimeConfig) bool {
	tb.Helper()
	res, err := meter.Rewrite(original, opts)
	if err != nil {
		var refused *meter.Error
		if !errors.As(err, &refused) || refused.Reason == "" || strings.Contains(err.Error(), "\n") {
			tb.Fatalf("not an actionable error: %v", err)
		}
		return false
	}
	metered := observe(tb, runtimeConfig(), res.Wasm, res, &bank{slice: 100_000, limit: fuel})
	if metered.spent || metered.skipped != nil || metered.overflow {
		return false // the original may go on for ever
	}
	if bytes.Contains(original, []byte{0xfc, 0x0f}) {
		return false // table.grow: the original's tables have no bound
	}
	// wazero allocates what a name section claims to hold.
	before := observe(tb, engine, withoutCustom(original), nil, nil)
	switch {
	case before.invalid == "" && metered.invalid != "":
		tb.Fatalf("became invalid: %s", metered.invalid)
	case before.invalid != "" && metered.invalid == "" && !strings.Contains(before.invalid, "compiler panic"):
		tb.Fatalf("became valid: %s", before.invalid)
	case before.invalid != "" || before.overflow || before.skipped != nil:
		return false
	}
	if !slices.Equal(before.trace, metered.trace) {
		tb.Fatalf("before:\n%s\nafter:\n%s", strings.Join(before.trace, "\n"), strings.Join(metered.trace, "\n"))
	}
	return true
}
