package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero/api"

	"waymark/host/sandbox/meter"
)

// Host functions that stand between a guest and extism's kernel: alloc and
// free because the kernel can't be bounded (it runs unmetered, keeps a list of
// blocks that it walks through, and never says no), the others because
// extism's own way there takes 3 µs a call. It looks the function up anew and
// makes a stack for it; here the functions of an instance are kept.

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

// renameImport redirects the kernel functions that are done here.
func renameImport(module, name string) (string, string) {
	if module == nsExtism && slices.Contains(kernelRenamed, name) {
		return nsKernel, name
	}
	return module, name
}

var kernelRenamed = []string{"alloc", "free", "length", "length_unsafe", "load_u8", "store_u8", "load_u64", "store_u64"}

func kernelFunctions() []extism.HostFunction {
	i64, i32 := extism.ValueTypeI64, extism.ValueTypeI32
	one := []extism.ValueType{i64}
	list := []extism.HostFunction{
		extism.NewHostFunctionWithStack("alloc", kernelAlloc, one, one),
		extism.NewHostFunctionWithStack("free", kernelFree, one, nil),
		extism.NewHostFunctionWithStack("length", kernelLength, one, one),
		extism.NewHostFunctionWithStack("length_unsafe", kernelLengthUnsafe, one, one),
		extism.NewHostFunctionWithStack("load_u8", kernelLoadU8, one, []extism.ValueType{i32}),
		extism.NewHostFunctionWithStack("store_u8", kernelStoreU8, []extism.ValueType{i64, i32}, nil),
		extism.NewHostFunctionWithStack("load_u64", kernelLoadU64, one, one),
		extism.NewHostFunctionWithStack("store_u64", kernelStoreU64, []extism.ValueType{i64, i64}, nil),
	}
	for i := range list {
		list[i].SetNamespace(nsKernel)
	}
	return list
}

// kernel is extism's kernel of one instance, as far as the host calls it.
type kernel struct {
	module api.Module
	memory api.Memory

	alloc, free, length, lengthUnsafe, errorSet api.Function // nil until used: each has a stack
}

// kernelOf returns the kernel of the instance that calls a host function. The
// SDK has no door to it but the module that it keeps in the context.
func kernelOf(ctx context.Context) *kernel {
	in := running(ctx)
	if in.kernel == nil {
		m, ok := ctx.Value(extism.PluginCtxKey("extism")).(api.Module)
		if !ok {
			panic("extism kernel not found in the context")
		}
		in.kernel = &kernel{module: m, memory: m.Memory()}
	}
	return in.kernel
}

// call calls a function with one parameter, and at most one result.
func (k *kernel) call(ctx context.Context, f *api.Function, name string, v uint64) uint64 {
	if *f == nil {
		*f = k.module.ExportedFunction(name)
	}
	stack := [1]uint64{v}
	if err := (*f).CallWithStack(ctx, stack[:]); err != nil {
		panic(err)
	}
	return stack[0]
}

// bytes is a block's memory, valid until the kernel is called again; none for
// what is no block.
func (k *kernel) bytes(ctx context.Context, handle uint64) []byte {
	length := k.call(ctx, &k.length, "length", handle)
	data, ok := k.memory.Read(uint32(handle), uint32(length)) //nolint:gosec // a block lies within 32 bits
	if !ok {
		panic(errNoBlock)
	}
	return data
}

// put copies data into a new block; 0 for no data, since the kernel has no
// empty blocks.
func (k *kernel) put(ctx context.Context, data []byte) uint64 {
	if len(data) == 0 {
		return 0
	}
	handle := k.call(ctx, &k.alloc, "alloc", uint64(len(data)))
	if !k.memory.Write(uint32(handle), data) { //nolint:gosec // a block lies within 32 bits
		panic(errNoBlock)
	}
	return handle
}

var errNoBlock = errors.New("not a block of the kernel's memory")

func kernelAlloc(ctx context.Context, _ *extism.CurrentPlugin, stack []uint64) {
	in := running(ctx)
	length := stack[0]
	if length > uint64(in.limits.Memory) { //nolint:gosec // not negative
		in.gov.stop(&RunError{Kind: ErrLimit, Detail: fmt.Sprintf("it asks the kernel for %d bytes, memory = %d", length, in.limits.Memory)})
	}
	in.gov.charge(int64(length) * fuelPerByte) //nolint:gosec // checked above
	if len(in.blocks) >= maxBlocks {
		in.gov.stop(&RunError{Kind: ErrLimit, Detail: fmt.Sprintf("it holds %d kernel blocks: free them", maxBlocks)})
	}
	k := kernelOf(ctx)
	handle := k.call(ctx, &k.alloc, "alloc", length)
	if handle != 0 {
		in.blocks[handle] = struct{}{}
	}
	stack[0] = handle
}

func kernelFree(ctx context.Context, _ *extism.CurrentPlugin, stack []uint64) {
	in := running(ctx)
	// The kernel takes a handle that isn't one for what it is: the guest's own
	// memory gets confused, nobody else's.
	delete(in.blocks, stack[0])
	k := kernelOf(ctx)
	k.call(ctx, &k.free, "free", stack[0])
}

func kernelLength(ctx context.Context, _ *extism.CurrentPlugin, stack []uint64) {
	k := kernelOf(ctx)
	stack[0] = k.call(ctx, &k.length, "length", stack[0])
}

func kernelLengthUnsafe(ctx context.Context, _ *extism.CurrentPlugin, stack []uint64) {
	k := kernelOf(ctx)
	stack[0] = k.call(ctx, &k.lengthUnsafe, "length_unsafe", stack[0])
}

func kernelLoadU8(ctx context.Context, _ *extism.CurrentPlugin, stack []uint64) {
	b, ok := kernelOf(ctx).memory.ReadByte(uint32(stack[0])) //nolint:gosec // as extism's load_u64 does
	if !ok {
		panic(errNoBlock)
	}
	stack[0] = uint64(b)
}

func kernelStoreU8(ctx context.Context, _ *extism.CurrentPlugin, stack []uint64) {
	if !kernelOf(ctx).memory.WriteByte(uint32(stack[0]), byte(stack[1])) { //nolint:gosec // as extism's store_u64 does
		panic(errNoBlock)
	}
}

func kernelLoadU64(ctx context.Context, _ *extism.CurrentPlugin, stack []uint64) {
	v, ok := kernelOf(ctx).memory.ReadUint64Le(uint32(stack[0])) //nolint:gosec // as extism's own does
	if !ok {
		panic(errNoBlock)
	}
	stack[0] = v
}

func kernelStoreU64(ctx context.Context, _ *extism.CurrentPlugin, stack []uint64) {
	if !kernelOf(ctx).memory.WriteUint64Le(uint32(stack[0]), stack[1]) { //nolint:gosec // as extism's own does
		panic(errNoBlock)
	}
}
