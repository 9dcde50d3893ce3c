package meter

import (
	"fmt"
	"strings"
)

// Version changes whenever equal input may give other output than before. It
// belongs into the key of every cache of what Rewrite returned.
const Version = 7

// Names that the rewritten module uses. Guests may use neither these modules
// nor export names that begin with ReservedPrefix.
const (
	// ReservedPrefix begins every reserved import module and export name.
	ReservedPrefix = "waymark:"
	// ImportModule is the module that ImportTick, ImportDone and ImportOverflow come
	// from.
	ImportModule = "waymark:meter"
	// ImportTick is of type () -> i64. It is called when the budget doesn't suffice,
	// and returns how much is added to it, which has to be above zero: the module
	// asks again until it does. It is added and doesn't replace the budget: a replaced one
	// would forgive what was charged beyond it, a large memory.fill for example, and fuel
	// would depend on the size of a slice. It ends the run by a trap. A slice of one or two
	// million is a good one: long enough that asking costs Go guests 1 to 3
	// percent, short enough to stop anyone within some 40 ms.
	ImportTick = "tick"
	// ImportDone is of type (i64) -> (). It is called with the remaining budget,
	// which may be below zero, when a wrapped export returns.
	ImportDone = "done"
	// ImportOverflow is of type () -> (). It is called when the stack is deeper
	// than Limits.MaxStack. It ends the run by a trap; should it return, the module
	// traps by itself.
	ImportOverflow = "overflow"
	// StartExport is the export that takes the place of the start section. The
	// host calls it before anything else.
	StartExport = "waymark:start"
)

// Options says how to rewrite. The zero value meters with default limits.
type Options struct {
	// Guard says which imported functions are preceded by a guard: ok, and the
	// import that is the guard. Nil means none. It may lead to reserved names.
	// The guard is called with the parameters of each call, whichever way the
	// call comes: directly, through a table or a reference, as the start function,
	// or from outside through an export. A guard's type has the same parameters
	// and no result, and it refuses by a trap; where the guarded function's only
	// result is an i32, the guard's is one too, and other than zero it is the
	// call's result, and the guarded function is not called.
	Guard func(module, name string) (guardModule, guardName string, ok bool)
	// Wrap names the exported functions that the host calls. A call of one begins
	// with the whole stack, also after a trap, and ends with ImportDone. Names that
	// the module does not export are passed over. StartExport may be among them.
	// Calls of other exports begin with what the call before left of the stack.
	Wrap []string
	// State makes the state of an instance something that the host can read and
	// set, where that is possible: all mutable globals are exported (see
	// GlobalPrefix), and what a fresh memory holds is in the DataSection in place
	// of the data section, for the host to put there before it calls anything.
	// Result.Fixed says where it isn't.
	State bool
	// Arch is the processor that the result is compiled for, as GOARCH names it; ""
	// means this one. For arm64 there are no integer remainders in the result, which
	// wazero 1.12.0 compiles wrongly there; fuel is the same.
	Arch string
	// Limits bounds what is accepted.
	Limits Limits
}

// Result is a rewritten module and what was learnt about the original.
type Result struct {
	Wasm []byte
	// Imports are the original's, before renaming.
	Imports []Import
	// Exports are the original's.
	Exports []Export
	// HasStart says that StartExport is exported and has to be called.
	HasStart bool
	// Fixed says, with Options.State, why there is something in the state of an
	// instance that the host can't set; then the module is as without that option.
	// "" says that there is nothing.
	Fixed string
	// MutableGlobals is how many globals are exported for Options.State, and
	// Segments how many there are in the DataSection.
	MutableGlobals, Segments int
	Stats                    Stats
}

// Kind is the kind of an import or export, with the values that the binary
// format gives them.
type Kind byte

// The kinds.
const (
	KindFunc Kind = iota
	KindTable
	KindMemory
	KindGlobal
)

func (k Kind) String() string {
	if k <= KindGlobal {
		return [...]string{"function", "table", "memory", "global"}[k]
	}
	return fmt.Sprintf("kind %d", byte(k))
}

// Import is one import. Type is set for functions.
type Import struct {
	Module, Name string
	Kind         Kind
	Type         FuncType
}

// Export is one export. Type is set for functions.
type Export struct {
	Name string
	Kind Kind
	Type FuncType
}

// FuncType is a function's type. Each byte is a value type of the binary
// format: 0x7f i32, 0x7e i64, 0x7d f32, 0x7c f64, 0x7b v128, 0x70 funcref,
// 0x6f externref.
type FuncType struct{ Params, Results string }

// String gives the type as in "(i64 i32) -> (i64)".
func (t FuncType) String() string { return valueTypes(t.Params) + " -> " + valueTypes(t.Results) }

func valueTypes(s string) string {
	names := make([]string, len(s))
	for i := range len(s) {
		names[i] = valueTypeName(s[i])
	}
	return "(" + strings.Join(names, " ") + ")"
}

// Stats are the figures of one rewriting.
type Stats struct {
	// Functions is the number of functions the module defines.
	Functions int
	// BytesBefore and BytesAfter are the sizes of the module.
	BytesBefore, BytesAfter int
	// BodyBytes is the sum of the sizes of all function bodies, LargestBody the
	// size of the largest, in the original.
	BodyBytes, LargestBody int
	// Regions is the number of function entries and loop headers,
	// LargestRegion the largest cost of what belongs to one of them.
	Regions       int
	LargestRegion int64
	// Bulk is the number of operations that are charged by their size at run time.
	Bulk int
	// Threaded is the number of jumps that lead at once to where they led through
	// a branch table; see thread.go.
	Threaded int
	// Nesting and BrTable are the largest seen; compare Limits.
	Nesting, BrTable int
	// Effort estimates what compiling takes, in about microseconds,
	// LargestEffort that for the function where it is largest.
	Effort, LargestEffort int
	// LargestFrame is the largest estimate of what a function needs of the stack,
	// in bytes.
	LargestFrame int
	// DataSegmentsBefore and DataSegmentsAfter count data segments.
	DataSegmentsBefore, DataSegmentsAfter int
}

// Error says why a module is refused.
type Error struct {
	// Offset is where in the module, in bytes.
	Offset int
	// Section is the part of the module, such as "code".
	Section string
	// Reason says what is wrong, Hint what its author can do.
	Reason string
	Hint   string
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s section, offset %d: %s", e.Section, e.Offset, e.Reason)
	if e.Section == "" {
		s = fmt.Sprintf("offset %d: %s", e.Offset, e.Reason)
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Rewrite meters a module. Errors are of type *Error. The input is not
// changed, and not kept.
func Rewrite(wasm []byte, opts Options) (*Result, error) {
	m, err := decode(wasm, opts)
	if err != nil {
		return nil, err
	}
	out := m.encode()
	m.stats.BytesBefore, m.stats.BytesAfter = len(wasm), len(out)
	res := &Result{
		Wasm:     out,
		Imports:  m.imports,
		Exports:  m.exportList(),
		HasStart: m.start >= 0,
		Stats:    m.stats,
	}
	switch {
	case m.detaches():
		res.MutableGlobals, res.Segments = len(m.mutableGlobals)+injectedGlobals, m.stats.DataSegmentsAfter
	case opts.State:
		res.Fixed = m.fixed()
	}
	return res, nil
}
