package sandbox

import (
	"fmt"
	"slices"
)

// The functions of extism:host/env. abi/ABI.md describes them under "The Extism convention";
// for valid calls they answer as extism's own kernel does. An access outside every live block
// ends the run: it is the guest's fault, and could reach only data that isn't the guest's.

// outside ends a run that accessed memory outside every block.
func (in *instance) outside(what string, offset uint64) {
	in.gov.stop(&RunError{Kind: ErrCrashed, Detail: fmt.Sprintf("%s at %#x: not in a block of its memory", what, offset)})
}

// put makes a block of data that the host gives the guest, and charges for it.
func (in *instance) put(data []byte) uint64 {
	in.gov.charge(int64(len(data)) * fuelPerByte)
	handle, err := in.blocks.put(data)
	if err != nil {
		in.gov.stop(&RunError{Kind: ErrLimit, Detail: err.Error()})
	}
	return handle
}

// fail sets the Extism error. The text of an earlier failure stays a block, because the guest
// may have its handle.
func (in *instance) fail(text []byte) { in.blocks.errorText = in.put(text) }

func inputLength(in *instance, stack []uint64) { stack[0] = in.blocks.length(in.blocks.input) }
func inputOffset(in *instance, stack []uint64) { stack[0] = in.blocks.input }

func inputLoad8(in *instance, stack []uint64) {
	input, at := in.blocks.bytes(in.blocks.input), stack[0]
	stack[0] = 0
	if at < uint64(len(input)) {
		stack[0] = uint64(input[at])
	}
}

func inputLoad64(in *instance, stack []uint64) {
	v, ok := in.blocks.load64(in.blocks.input + stack[0])
	if !ok {
		in.outside("input_load_u64", stack[0])
	}
	stack[0] = v
}

func alloc(in *instance, stack []uint64) {
	if n := stack[0]; n <= uint64(in.blocks.max) { //nolint:gosec // not negative
		in.gov.charge(int64(n) * fuelPerByte) //nolint:gosec // bounded
	}
	handle, err := in.blocks.alloc(stack[0])
	if err != nil {
		in.gov.stop(&RunError{Kind: ErrLimit, Detail: err.Error()})
	}
	stack[0] = handle
}

func free(in *instance, stack []uint64)   { in.blocks.release(stack[0]) }
func length(in *instance, stack []uint64) { stack[0] = in.blocks.length(stack[0]) }

func load8(in *instance, stack []uint64) {
	data, ok := in.blocks.at(stack[0], 1)
	if !ok {
		in.outside("load_u8", stack[0])
	}
	stack[0] = uint64(data[0])
}

func load64(in *instance, stack []uint64) {
	v, ok := in.blocks.load64(stack[0])
	if !ok {
		in.outside("load_u64", stack[0])
	}
	stack[0] = v
}

func store8(in *instance, stack []uint64) {
	data, ok := in.blocks.at(stack[0], 1)
	if !ok {
		in.outside("store_u8", stack[0])
	}
	data[0] = byte(stack[1]) //nolint:gosec // the low byte is meant
}

func store64(in *instance, stack []uint64) {
	if !in.blocks.store64(stack[0], stack[1]) {
		in.outside("store_u64", stack[0])
	}
}

func outputSet(in *instance, stack []uint64) {
	if !in.blocks.setOutput(stack[0], stack[1]) {
		in.outside("output_set", stack[0])
	}
}

func errorSet(in *instance, stack []uint64)    { in.blocks.errorText = stack[0] }
func errorGet(in *instance, stack []uint64)    { stack[0] = in.blocks.errorText }
func memoryBytes(in *instance, stack []uint64) { stack[0] = uint64(max(len(in.blocks.data), wasmPage)) }

// configGet finds nothing: configuration is part of the request.
func configGet(_ *instance, stack []uint64) { stack[0] = 0 }

// logLevels are the levels in order; a level's index is its number in the convention.
var logLevels = []string{"trace", "debug", "info", "warn", "error"}

// keptLevel is the lowest level that is kept.
const keptLevel = "info"

func getLogLevel(_ *instance, stack []uint64) { stack[0] = uint64(slices.Index(logLevels, keptLevel)) } //nolint:gosec // it is there

// logAt returns the function that logs at a level. It frees the line.
func logAt(level string) func(*instance, []uint64) {
	kept := slices.Index(logLevels, level) >= slices.Index(logLevels, keptLevel)
	return func(in *instance, stack []uint64) {
		if kept {
			line := in.blocks.bytes(stack[0])
			line = line[:min(len(line), cleanedMax)]
			in.gov.charge(int64(len(line)) * fuelPerRune)
			in.logs.add(level, string(line))
		}
		in.blocks.release(stack[0])
	}
}
