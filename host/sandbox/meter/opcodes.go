package meter

// Opcodes that are handled by name.
const (
	opUnreachable = 0x00
	opNop         = 0x01
	opBlock       = 0x02
	opLoop        = 0x03
	opIf          = 0x04
	opElse        = 0x05
	opEnd         = 0x0b
	opBr          = 0x0c
	opBrIf        = 0x0d
	opBrTable     = 0x0e
	opReturn      = 0x0f
	opCall        = 0x10
	opCallInd     = 0x11
	opSelectT     = 0x1c
	opLocalGet    = 0x20
	opLocalSet    = 0x21
	opLocalTee    = 0x22
	opGlobalGet   = 0x23
	opGlobalSet   = 0x24
	opTableGet    = 0x25
	opTableSet    = 0x26
	opMemorySize  = 0x3f
	opMemoryGrow  = 0x40
	opI32Const    = 0x41
	opI64Const    = 0x42
	opF32Const    = 0x43
	opF64Const    = 0x44
	opI32LtU      = 0x49
	opI64LtS      = 0x53
	opSelect      = 0x1b
	opDrop        = 0x1a
	opI64Add      = 0x7c
	opI64Sub      = 0x7d
	opI64Or       = 0x84
	opI64Shl      = 0x86
	opI64ShrU     = 0x88
	opI64ExtendU  = 0xad
	opRefNull     = 0xd0
	opRefIsNull   = 0xd1
	opRefFunc     = 0xd2
	opMiscPrefix  = 0xfc
	opVecPrefix   = 0xfd

	blockVoid = 0x40
)

// shape is what follows an opcode.
type shape byte

const (
	shapeUnknown shape = iota
	shapeNone
	shapeMemArg // alignment and offset
	shapeLane   // a lane number
	shapeMemLane
	shape16 // 16 bytes
	shapeControl
	shapeSpecial // read by its own code
)

// instr describes an opcode: what follows it and what it costs.
type instr struct {
	shape shape
	cost  uint8
}

// Costs other than 1. The unit is the price of a simple instruction in the
// middle of others. What only names a value (local.get, integer constants,
// drop) leaves nothing in native code and costs nothing; who uses it pays.
const (
	// costLoad is set by what a guest can make of loads that wait for each other
	// and miss all caches: 100 to 200 ns each, in 64 MiB. Most loads take less
	// than a nanosecond, but a slice has to be short for whoever does that.
	costLoad     = 10
	costStore    = 4  // misses overlap, up to a point
	costBranch   = 2  // one that is predicted wrong takes 5 ns
	costDiv      = 8  // integer division and remainder, 3 to 12 ns on older machines
	costFloatDiv = 6  // division, square root
	costTrunc    = 3  // conversions with range checks
	costTable    = 3  // table.get, table.set: bounds check and two loads
	costIndirect = 6  // call_indirect: bounds, null and type checks
	costCall     = 2  // stack check, saved registers
	costVec      = 2  // many vector instructions take several native ones
	costVecHeavy = 10 // division, square root, no native equivalent
	costExit     = 200
	// costExit is for what leaves native code for the engine's Go code:
	// ref.func, memory.grow, table.grow, some 60 ns.
)

// instrs are the opcodes of one byte. It is never written to.
var instrs = func() (t [256]instr) {
	set := func(first, last int, s shape, cost uint8) {
		for op := first; op <= last; op++ {
			t[op] = instr{s, cost}
		}
	}
	set(opUnreachable, opUnreachable, shapeControl, 1)
	set(opNop, opNop, shapeNone, 0)
	set(opBlock, opLoop, shapeControl, 0)
	set(opIf, opIf, shapeControl, costBranch)
	set(opElse, opElse, shapeControl, 0)
	set(opEnd, opEnd, shapeControl, 0)
	set(opBr, opBr, shapeControl, 1)
	set(opBrIf, opBrIf, shapeControl, costBranch)
	set(opBrTable, opBrTable, shapeControl, 2*costBranch)
	set(opReturn, opReturn, shapeControl, 1)
	set(opCall, opCall, shapeSpecial, costCall)
	set(opCallInd, opCallInd, shapeSpecial, costCall+costIndirect)
	set(opDrop, opDrop, shapeNone, 0)
	set(opSelect, opSelect, shapeNone, 1)
	set(opSelectT, opSelectT, shapeSpecial, 1)
	set(opLocalGet, opLocalGet, shapeSpecial, 0)
	set(opLocalSet, opLocalSet, shapeSpecial, 1)
	set(opLocalTee, opLocalTee, shapeSpecial, 1)
	set(opGlobalGet, opGlobalGet, shapeSpecial, 1)
	set(opGlobalSet, opGlobalSet, shapeSpecial, 1)
	set(opTableGet, opTableGet, shapeSpecial, costTable)
	set(opTableSet, opTableSet, shapeSpecial, costTable)
	set(0x28, 0x35, shapeMemArg, costLoad)  // loads
	set(0x36, 0x3e, shapeMemArg, costStore) // stores
	set(opMemorySize, opMemorySize, shapeSpecial, 1)
	set(opMemoryGrow, opMemoryGrow, shapeSpecial, costExit)
	set(opI32Const, opI64Const, shapeSpecial, 0)
	set(opF32Const, opF64Const, shapeSpecial, 1)
	set(0x45, 0x45, shapeNone, 1)            // i32.eqz
	set(0x46, 0x4f, shapeNone, 1)            // i32 comparisons
	set(0x50, 0x50, shapeNone, 1)            // i64.eqz
	set(0x51, 0x66, shapeNone, 1)            // i64, f32, f64 comparisons
	set(0x67, 0x69, shapeNone, 1)            // i32.clz, ctz, popcnt
	set(0x6a, 0x78, shapeNone, 1)            // i32 arithmetic
	set(0x6d, 0x70, shapeNone, costDiv)      // i32.div, rem
	set(0x79, 0x7b, shapeNone, 1)            // i64.clz, ctz, popcnt
	set(0x7c, 0x8a, shapeNone, 1)            // i64 arithmetic
	set(0x7f, 0x82, shapeNone, costDiv)      // i64.div, rem
	set(0x8b, 0x91, shapeNone, 1)            // f32.abs to sqrt
	set(0x91, 0x91, shapeNone, costFloatDiv) // f32.sqrt
	set(0x92, 0x98, shapeNone, 1)            // f32 arithmetic
	set(0x95, 0x97, shapeNone, costFloatDiv) // f32.div, min, max
	set(0x99, 0x9f, shapeNone, 1)            // f64.abs to sqrt
	set(0x9f, 0x9f, shapeNone, costFloatDiv) // f64.sqrt
	set(0xa0, 0xa6, shapeNone, 1)            // f64 arithmetic
	set(0xa3, 0xa5, shapeNone, costFloatDiv) // f64.div, min, max
	set(0xa7, 0xbf, shapeNone, 1)            // conversions
	set(0xa8, 0xab, shapeNone, costTrunc)    // i32.trunc
	set(0xae, 0xb5, shapeNone, costTrunc)    // i64.trunc, f32.convert
	set(0xb7, 0xba, shapeNone, costTrunc)    // f64.convert
	set(0xc0, 0xc4, shapeNone, 1)            // sign extension
	set(opRefNull, opRefNull, shapeSpecial, 1)
	set(opRefIsNull, opRefIsNull, shapeNone, 1)
	set(opRefFunc, opRefFunc, shapeSpecial, costExit)
	set(opMiscPrefix, opVecPrefix, shapeSpecial, 0)
	return t
}()

// refusal names the proposal that an unknown opcode belongs to.
func refusal(op byte) string {
	switch {
	case op >= 0x06 && op <= 0x0a, op == 0x18, op == 0x19, op == 0x1f:
		return "exceptions"
	case op == 0x12, op == 0x13:
		return "tail calls"
	case op == 0x14, op == 0x15, op >= 0xd3 && op <= 0xd6:
		return "typed function references"
	case op == 0xfb:
		return "garbage collection"
	case op == 0xfe:
		return "threads"
	}
	return "an unknown proposal"
}
