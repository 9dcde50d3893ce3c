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
// drop) leaves nothing in native code and costs nothing: the instruction that uses the
// value pays.
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
	costVecSlow  = 10 // division, square root, no native equivalent
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

// Opcodes behind opMiscPrefix.
const (
	miscMemoryInit = 0x08
	miscDataDrop   = 0x09
	miscMemoryCopy = 0x0a
	miscMemoryFill = 0x0b
	miscTableInit  = 0x0c
	miscElemDrop   = 0x0d
	miscTableCopy  = 0x0e
	miscTableGrow  = 0x0f
	miscTableSize  = 0x10
	miscTableFill  = 0x11
	miscCount      = 0x12
)

// miscInstrs are the opcodes behind opMiscPrefix. Costs of bulk operations are
// those of an empty one. It is never written to.
var miscInstrs = [miscCount]instr{
	0x00: {shapeNone, costTrunc}, 0x01: {shapeNone, costTrunc},
	0x02: {shapeNone, costTrunc}, 0x03: {shapeNone, costTrunc},
	0x04: {shapeNone, costTrunc}, 0x05: {shapeNone, costTrunc},
	0x06: {shapeNone, costTrunc}, 0x07: {shapeNone, costTrunc},
	miscMemoryInit: {shapeSpecial, costBulk},
	miscDataDrop:   {shapeSpecial, costTable},
	miscMemoryCopy: {shapeSpecial, costBulk},
	miscMemoryFill: {shapeSpecial, costBulk},
	miscTableInit:  {shapeSpecial, costBulk},
	miscElemDrop:   {shapeSpecial, costTable},
	miscTableCopy:  {shapeSpecial, costBulk},
	miscTableGrow:  {shapeSpecial, costExit},
	miscTableSize:  {shapeSpecial, 1},
	miscTableFill:  {shapeSpecial, costBulk},
}

// costBulk is a call of memmove with its checks.
const costBulk = 16

const (
	vecConst   = 0x0c
	vecShuffle = 0x0d
)

// vecInstrs are the opcodes behind opVecPrefix. It is never written to.
var vecInstrs = func() (t [256]instr) {
	set := func(first, last int, s shape) {
		for op := first; op <= last; op++ {
			t[op] = instr{s, costVec}
		}
	}
	set(0x00, 0xff, shapeNone)
	set(0x00, 0x0b, shapeMemArg) // loads and v128.store
	set(vecConst, vecShuffle, shape16)
	set(0x15, 0x22, shapeLane)    // extract_lane, replace_lane
	set(0x54, 0x5b, shapeMemLane) // load_lane, store_lane
	set(0x5c, 0x5d, shapeMemArg)  // load_zero
	for _, op := range vecUndefined {
		t[op] = instr{}
	}
	for op, i := range t {
		if i.shape == shapeMemArg || i.shape == shapeMemLane {
			t[op].cost = costLoad
		}
	}
	for _, op := range vecSlow {
		t[op].cost = costVecSlow
	}
	return t
}()

var (
	vecUndefined = []int{
		0x9a, 0xa2, 0xa5, 0xa6, 0xaf, 0xb0, 0xb2, 0xb3, 0xb4, 0xbb, 0xc2, 0xc5, 0xc6,
		0xcf, 0xd0, 0xd2, 0xd3, 0xd4, 0xe2, 0xee,
	}
	// popcnt, swizzle, 8-bit shifts, f32x4 and f64x2 sqrt, div, min, max, i64x2
	// products, conversions without a native instruction.
	vecSlow = []int{
		0x0e, 0x62, 0x6b, 0x6c, 0x6d, 0xcc, 0xd5, 0xe3, 0xe7, 0xe8, 0xe9, 0xef, 0xf3, 0xf4, 0xf5,
		0xf8, 0xf9, 0xfb, 0xfc, 0xfd, 0xff,
	}
)

// effect is what an instruction does to the operand stack.
type effect struct {
	pops, pushes uint8
	// host says that native code calls the engine's Go code.
	host bool
}

// effects are those of the opcodes of one byte whose effect is always the
// same. It is never written to.
var effects = func() (t [256]effect) {
	set := func(first, last int, pops, pushes uint8) {
		for op := first; op <= last; op++ {
			t[op] = effect{pops: pops, pushes: pushes}
		}
	}
	set(opDrop, opDrop, 1, 0)
	set(opSelect, opSelectT, 3, 1)
	set(opGlobalGet, opGlobalGet, 0, 1)
	set(opGlobalSet, opGlobalSet, 1, 0)
	set(opTableGet, opTableGet, 1, 1)
	set(opTableSet, opTableSet, 2, 0)
	set(0x28, 0x35, 1, 1) // loads
	set(0x36, 0x3e, 2, 0) // stores
	set(opMemorySize, opMemorySize, 0, 1)
	set(opMemoryGrow, opMemoryGrow, 1, 1)
	set(0x45, 0xc4, 2, 1)
	for _, unary := range [][2]int{
		{0x45, 0x45}, {0x50, 0x50}, {0x67, 0x69}, {0x79, 0x7b}, // eqz, clz, ctz, popcnt
		{0x8b, 0x91}, {0x99, 0x9f}, // abs to sqrt
		{0xa7, 0xc4}, // conversions, sign extension
	} {
		set(unary[0], unary[1], 1, 1)
	}
	set(opRefNull, opRefNull, 0, 1)
	set(opRefIsNull, opRefIsNull, 1, 1)
	set(opRefFunc, opRefFunc, 0, 1)
	t[opMemoryGrow].host, t[opRefFunc].host = true, true
	return t
}()

// miscEffects are those of the opcodes behind opMiscPrefix. It is never written
// to.
var miscEffects = [miscCount]effect{
	0x00: {1, 1, false}, 0x01: {1, 1, false}, 0x02: {1, 1, false}, 0x03: {1, 1, false},
	0x04: {1, 1, false}, 0x05: {1, 1, false}, 0x06: {1, 1, false}, 0x07: {1, 1, false},
	miscMemoryInit: {3, 0, true},
	miscMemoryCopy: {3, 0, true},
	miscMemoryFill: {3, 0, true},
	miscTableInit:  {3, 0, true},
	miscTableCopy:  {3, 0, true},
	miscTableGrow:  {2, 1, true},
	miscTableSize:  {0, 1, false},
	miscTableFill:  {3, 0, true},
}

// vecEffects are those of the opcodes behind opVecPrefix: of two operands,
// unless said otherwise. It is never written to.
var vecEffects = func() (t [256]effect) {
	set := func(first, last int, pops, pushes uint8) {
		for op := first; op <= last; op++ {
			t[op] = effect{pops: pops, pushes: pushes}
		}
	}
	set(0x00, 0xff, 2, 1)
	set(0x00, 0x0a, 1, 1) // loads
	set(0x0b, 0x0b, 2, 0) // v128.store
	set(vecConst, vecConst, 0, 1)
	set(0x52, 0x52, 3, 1) // bitselect
	set(0x58, 0x5b, 2, 0) // store_lane
	for _, unary := range [][2]int{
		{0x0f, 0x16}, {0x18, 0x19}, {0x1b, 0x1b}, {0x1d, 0x1d}, {0x1f, 0x1f}, {0x21, 0x21}, // splat, extract_lane
		{0x4d, 0x4d}, {0x53, 0x53}, // not, any_true
		{0x5c, 0x64}, {0x67, 0x6a}, {0x74, 0x75}, {0x7a, 0x7a}, {0x7c, 0x81}, {0x83, 0x84}, {0x87, 0x8a}, {0x94, 0x94},
		{0xa0, 0xa1}, {0xa3, 0xa4}, {0xa7, 0xaa}, {0xc0, 0xc1}, {0xc3, 0xc4}, {0xc7, 0xca},
		{0xe0, 0xe1}, {0xe3, 0xe3}, {0xec, 0xed}, {0xef, 0xef}, {0xf8, 0xff},
	} {
		set(unary[0], unary[1], 1, 1)
	}
	return t
}()
