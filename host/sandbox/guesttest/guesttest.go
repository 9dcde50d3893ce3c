// Package guesttest loads an unmodified module into a plain wazero runtime, with stand-ins
// for its host imports, so that a test of a package below host/sandbox can call describe
// without the sandbox. The stand-ins only answer 0 and record the length of the output.
//
// It also compares instances that start from an image with separately initialized ones, which
// are the reference: everything visible of a run must be equal, byte for byte.
//
// A Guest may be used by one goroutine at a time.
package guesttest

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// Guest is a loaded module.
type Guest struct {
	runtime wazero.Runtime
	module  wazero.CompiledModule
	output  uint64 // length, in bytes
}

// Load compiles a module. The caller closes the guest.
func Load(ctx context.Context, config wazero.RuntimeConfig, wasm []byte) (*Guest, error) {
	g := &Guest{runtime: wazero.NewRuntimeWithConfig(ctx, config)}
	var err error
	if g.module, err = g.runtime.CompileModule(ctx, wasm); err == nil {
		err = g.link(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func (g *Guest) link(ctx context.Context) error {
	builders := map[string]wazero.HostModuleBuilder{}
	for _, f := range g.module.ImportedFunctions() {
		namespace, name, _ := f.Import()
		if namespace == wasi_snapshot_preview1.ModuleName {
			continue
		}
		if builders[namespace] == nil {
			builders[namespace] = g.runtime.NewHostModuleBuilder(namespace)
		}
		builders[namespace].NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) {
			if name == "output_set" {
				g.output = stack[1]
			}
			if len(stack) > 0 {
				stack[0] = 0
			}
		}), f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	for _, b := range builders {
		if _, err := b.Instantiate(ctx); err != nil {
			return err
		}
	}
	_, err := wasi_snapshot_preview1.Instantiate(ctx, g.runtime)
	return err
}

// Describe makes an instance, initializes it, asks it for its description and
// closes it. The context may carry a memory allocator.
func (g *Guest) Describe(ctx context.Context) error {
	m, err := g.runtime.InstantiateModule(ctx, g.module, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err != nil {
		return err
	}
	g.output = 0
	rc, err := m.ExportedFunction("describe").Call(ctx)
	if err == nil && (rc[0] != 0 || g.output == 0) {
		err = fmt.Errorf("describe returns %d and %d bytes", rc[0], g.output)
	}
	return errors.Join(err, m.Close(ctx))
}

// Close frees the module's code.
func (g *Guest) Close() error { return g.runtime.Close(context.Background()) }
