package sandbox

import (
	"errors"
	"slices"

	"waymark/host/vfs"
)

// The memo_* host functions: what a run recalls from the previous one, in units. abi/ABI.md
// describes them under "Units"; host/vfs implements them.

// maxUnitKey bounds the key of a unit, in bytes: enough for a path.
const maxUnitKey = 4 << 10

var errUnitKey = errors.New("the key of a unit is empty, or longer than 4096 bytes")

// memoBegin returns the remembered value of a unit in a new block, or 0.
func memoBegin(in *instance, stack []uint64) {
	key := in.blocks.bytes(stack[0])
	stack[0] = 0
	in.gov.charge(fuelPerLook)
	run := in.fs.run.Load()
	if run == nil {
		return // describe has nothing to remember
	}
	if len(key) == 0 || len(key) > maxUnitKey {
		run.DropUnit()
		in.fail(misuse(errUnitKey))
		return
	}
	value, err := run.BeginUnit(string(key), in.limits.Response-in.remembered)
	if errors.Is(err, vfs.ErrUnitOpen) {
		in.fail(misuse(err))
		return
	}
	if err != nil {
		panic(&limitPanic{err})
	}
	in.remembered += len(value)
	stack[0] = in.put(value)
}

// memoEnd remembers the value of the open unit, as long as there is room for all values.
func memoEnd(in *instance, stack []uint64) {
	in.gov.charge(fuelPerLook)
	run := in.fs.run.Load()
	if run == nil {
		return
	}
	var value []byte
	if data := in.blocks.bytes(stack[0]); len(data) <= in.limits.Response-in.remembered {
		in.gov.charge(int64(len(data)) * fuelPerByte)
		value = slices.Clone(data)
	}
	if err := run.EndUnit(value); err != nil {
		in.fail(misuse(err))
		return
	}
	in.remembered += len(value)
}

// blockCopy copies within the blocks' memory, which a guest alone could do only by loading
// and storing eight bytes at a time.
func blockCopy(in *instance, stack []uint64) {
	to, from, n := stack[0], stack[1], stack[2]
	if n == 0 {
		return
	}
	source, ok := in.blocks.at(from, n)
	if !ok {
		in.outside("block_copy", from)
	}
	target, ok := in.blocks.at(to, n)
	if !ok {
		in.outside("block_copy", to)
	}
	in.gov.charge(int64(n) * fuelPerByte) //nolint:gosec // a block's length at most
	copy(target, source)
}

// misuse returns the failure text of a call that the ABI forbids.
func misuse(err error) []byte { return encode(fsFailure{"EINVAL", err.Error()}) }
