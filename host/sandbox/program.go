package sandbox

import (
	"bytes"
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"waymark/host/sandbox/meter"
)

// program is a module's code in a runtime of its own, with the host functions that it
// imports.
type program struct {
	wazero.Runtime
	module wazero.CompiledModule
	data   []meter.Segment // initial memory content that wazero doesn't write; see keepData
}

// keepData copies the initial memory content, for a module whose instances are made from it.
// It is part of the module's bytes, which aren't kept.
func (p *program) keepData() {
	for i := range p.data {
		p.data[i].Bytes = bytes.Clone(p.data[i].Bytes)
	}
}

// newProgram loads a module.
func newProgram(ctx context.Context, config wazero.RuntimeConfig, wasm []byte) (_ *program, err error) {
	r := wazero.NewRuntimeWithConfig(ctx, config)
	defer func() {
		// wazero's compiler panics on some shapes that it can't handle.
		if p := recover(); p != nil {
			err = fmt.Errorf("the compiler panicked: %v", p)
		}
		if err != nil {
			_ = r.Close(context.WithoutCancel(ctx))
		}
	}()
	module, err := r.CompileModule(ctx, wasm)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, f := range module.ImportedFunctions() {
		namespace, _, _ := f.Import()
		wanted[namespace] = true
	}
	for namespace := range wanted {
		if err := instantiateImports(ctx, r, namespace); err != nil {
			return nil, err
		}
	}
	data, err := meter.Data(wasm)
	return &program{Runtime: r, module: module, data: data}, err
}

// instantiateImports gives a runtime the host functions of one import module.
func instantiateImports(ctx context.Context, r wazero.Runtime, namespace string) error {
	if namespace == nsWASI {
		_, err := wasi_snapshot_preview1.Instantiate(ctx, r)
		return err
	}
	b := r.NewHostModuleBuilder(namespace)
	export := func(name string, params, results []api.ValueType, call func(*instance, []uint64)) {
		b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
			call(running(ctx), stack)
		}), params, results).Export(name)
	}
	switch namespace {
	case meter.ImportModule:
		i64 := []api.ValueType{api.ValueTypeI64}
		export(meter.ImportTick, nil, i64, func(in *instance, stack []uint64) { stack[0] = uint64(in.gov.tick()) }) //nolint:gosec // never negative
		export(meter.ImportDone, i64, nil, func(in *instance, stack []uint64) { in.gov.done(int64(stack[0])) })     //nolint:gosec // signed on the wire
		export(meter.ImportOverflow, nil, nil, func(in *instance, _ []uint64) {
			in.gov.stop(&RunError{Kind: ErrLimit, Detail: "its stack is deeper than 4 MiB"})
		})
	case nsGuard:
		for i := range hostImports {
			if imp := &hostImports[i]; imp.call == nil {
				params, results := imp.wazeroTypes()
				export(imp.name, params, results, imp.guard)
			}
		}
	default:
		for i := range hostImports {
			if imp := &hostImports[i]; imp.module == namespace && imp.call != nil {
				params, results := imp.wazeroTypes()
				export(imp.name, params, results, func(in *instance, stack []uint64) {
					in.gov.charge(imp.weight)
					imp.call(in, stack)
				})
			}
		}
	}
	_, err := b.Instantiate(ctx)
	return err
}

// runContext is the context of a call into a guest. Host functions use it to find the calling
// instance, because wazero passes them only the module.
type runContext struct {
	context.Context
	in *instance
}

type runKey struct{}

// Value returns the instance, even through a context that wraps this one.
func (c *runContext) Value(key any) any {
	if key == (runKey{}) {
		return c.in
	}
	return c.Context.Value(key)
}

// running returns the instance that calls a host function.
func running(ctx context.Context) *instance {
	if c, ok := ctx.(*runContext); ok {
		return c.in
	}
	in, ok := ctx.Value(runKey{}).(*instance)
	if !ok {
		panic("a host function was called outside of a run")
	}
	return in
}
