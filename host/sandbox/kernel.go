package sandbox

import (
	"context"
	"fmt"

	extism "github.com/extism/go-sdk"

	"waymark/host/sandbox/meter"
)

// Host functions that stand between a guest and extism's kernel where the
// kernel itself can't be bounded: it runs unmetered, keeps a list of blocks
// that it walks through, and never says no.

// nsKernel is where the imports in kernelRenamed are redirected to.
const nsKernel = meter.ReservedPrefix + "kernel"

// maxBlocks is how many kernel blocks may be alive at a time. A guest needs a
// handful: its input, its output and one per log line or fs_* call that it
// doesn't free. With 100,000 the kernel's length takes 0.65 ms a call; with
// 10,000 it is 65 µs, which callFuel covers.
const maxBlocks = 10_000

// callFuel is what calling an import costs besides what it does: the way into
// the host and back takes about 100 ns, through the kernel's own module twice
// that, and walking through all blocks up to 65 µs.
var callFuel = map[string]int64{
	"length": 200_000, "alloc": 20_000, "free": 20_000, "error_get": 20_000,
	"load_u64": 300, "store_u64": 300, "input_load_u64": 300,
}

const defaultCallFuel = 600

// importWeight is what one call of an import is charged.
func importWeight(module, name string) int64 {
	if w, ok := callFuel[name]; ok && module == nsExtism {
		return w
	}
	return defaultCallFuel
}

// renameImport redirects the kernel functions that are bounded here.
func renameImport(module, name string) (string, string) {
	if module == nsExtism && (name == "alloc" || name == "free") {
		return nsKernel, name
	}
	return module, name
}

func kernelFunctions() []extism.HostFunction {
	i64 := []extism.ValueType{extism.ValueTypeI64}
	alloc := extism.NewHostFunctionWithStack("alloc", kernelAlloc, i64, i64)
	free := extism.NewHostFunctionWithStack("free", kernelFree, i64, nil)
	alloc.SetNamespace(nsKernel)
	free.SetNamespace(nsKernel)
	return []extism.HostFunction{alloc, free}
}

func kernelAlloc(ctx context.Context, p *extism.CurrentPlugin, stack []uint64) {
	in := running(ctx)
	length := stack[0]
	if length > uint64(in.limits.Memory) { //nolint:gosec // not negative
		in.gov.stop(&RunError{Kind: ErrLimit, Detail: fmt.Sprintf("it asks the kernel for %d bytes, memory = %d", length, in.limits.Memory)})
	}
	in.gov.charge(int64(length) * fuelPerByte) //nolint:gosec // checked above
	if len(in.blocks) >= maxBlocks {
		in.gov.stop(&RunError{Kind: ErrLimit, Detail: fmt.Sprintf("it holds %d kernel blocks: free them", maxBlocks)})
	}
	handle, err := p.AllocWithContext(ctx, length)
	if err != nil {
		panic(err)
	}
	if handle != 0 {
		in.blocks[handle] = struct{}{}
	}
	stack[0] = handle
}

func kernelFree(ctx context.Context, p *extism.CurrentPlugin, stack []uint64) {
	in := running(ctx)
	in.gov.check()
	// The kernel takes a handle that isn't one for what it is: the guest's own
	// memory gets confused, nobody else's.
	delete(in.blocks, stack[0])
	if err := p.FreeWithContext(ctx, stack[0]); err != nil {
		panic(err)
	}
}
