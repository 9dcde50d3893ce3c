package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"

	extism "github.com/extism/go-sdk"

	"waymark/host/vfs"
)

// The memo_* host functions: what a run remembers of the one before, in units.
// Their meaning is in abi/ABI.md, "Units"; host/vfs does the work.

// maxUnitKey bounds the key of a unit, in bytes: paths fit, and little else
// belongs into one.
const maxUnitKey = 4 << 10

func memoFunctions() []extism.HostFunction {
	ptr := []extism.ValueType{extism.ValueTypePTR}
	return []extism.HostFunction{
		extism.NewHostFunctionWithStack("memo_begin", memoBegin, ptr, ptr),
		extism.NewHostFunctionWithStack("memo_end", memoEnd, ptr, nil),
		extism.NewHostFunctionWithStack("block_copy", blockCopy, []extism.ValueType{extism.ValueTypePTR, extism.ValueTypePTR, extism.ValueTypeI64}, nil),
	}
}

var errUnitKey = errors.New("the key of a unit is empty, or longer than 4096 bytes")

// memoBegin returns the remembered value of a unit in a new block, or 0.
func memoBegin(ctx context.Context, _ *extism.CurrentPlugin, stack []uint64) {
	in, handle := running(ctx), stack[0]
	stack[0] = 0
	in.gov.charge(fuelPerLook)
	run := in.fs.run.Load()
	if run == nil {
		return // describe has nothing to remember
	}
	key := kernelOf(ctx).bytes(ctx, handle)
	if len(key) == 0 || len(key) > maxUnitKey {
		run.DropUnit()
		setError(ctx, result(ctx, misuse(errUnitKey)))
		return
	}
	value, err := run.BeginUnit(string(key), in.limits.Response-in.remembered)
	if errors.Is(err, vfs.ErrUnitOpen) {
		setError(ctx, result(ctx, misuse(err)))
		return
	}
	if err != nil {
		panic(&limitPanic{err})
	}
	in.remembered += len(value)
	in.gov.charge(int64(len(value)) * fuelPerByte)
	stack[0] = result(ctx, value)
}

// memoEnd remembers the value of the unit that is open, as long as there is
// room for all of them.
func memoEnd(ctx context.Context, _ *extism.CurrentPlugin, stack []uint64) {
	in := running(ctx)
	in.gov.charge(fuelPerLook)
	run := in.fs.run.Load()
	if run == nil {
		return
	}
	var value []byte
	if data := kernelOf(ctx).bytes(ctx, stack[0]); len(data) <= in.limits.Response-in.remembered {
		in.gov.charge(int64(len(data)) * fuelPerByte)
		value = slices.Clone(data)
	}
	if err := run.EndUnit(value); err != nil {
		setError(ctx, result(ctx, misuse(err)))
		return
	}
	in.remembered += len(value)
}

// blockCopy copies within the kernel's memory, where a guest alone would have
// to take every eight bytes out and in again.
func blockCopy(ctx context.Context, _ *extism.CurrentPlugin, stack []uint64) {
	to, from, n := stack[0], stack[1], stack[2]
	if max(to, from, n) > math.MaxUint32 {
		panic(errNoBlock)
	}
	running(ctx).gov.charge(int64(n) * fuelPerByte) //nolint:gosec // checked above
	memory := kernelOf(ctx).memory
	data, ok := memory.Read(uint32(from), uint32(n)) //nolint:gosec // checked above
	if !ok || !memory.Write(uint32(to), data) {      //nolint:gosec // checked above
		panic(errNoBlock)
	}
}

// misuse is the failure text of a call that the ABI forbids.
func misuse(err error) []byte {
	data, encodeErr := json.Marshal(fsFailure{"EINVAL", err.Error()})
	if encodeErr != nil {
		panic(encodeErr) // strings always encode
	}
	return data
}
