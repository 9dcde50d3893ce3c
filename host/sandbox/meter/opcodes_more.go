package meter

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
	for _, op := range vecHeavy {
		t[op].cost = costVecHeavy
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
	vecHeavy = []int{
		0x0e, 0x62, 0x6b, 0x6c, 0x6d, 0xcc, 0xd5, 0xe3, 0xe7, 0xe8, 0xe9, 0xef, 0xf3, 0xf4, 0xf5,
		0xf8, 0xf9, 0xfb, 0xfc, 0xfd, 0xff,
	}
)
