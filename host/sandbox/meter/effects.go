package meter

// effect is what an instruction does to the operand stack.
type effect struct {
	pops, pushes uint8
	// host tells that the engine's own code is called, out of native code.
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
