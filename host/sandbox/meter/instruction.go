package meter

// instruction reads one instruction.
func (b *body) instruction() {
	b.at = b.pos
	b.op = b.u8()
	i := instrs[b.op]
	b.charge(int64(i.cost))
	switch i.shape {
	case shapeNone:
	case shapeMemArg:
		b.memArg()
	case shapeControl:
		b.control()
	case shapeSpecial:
		b.special()
	default:
		if b.err == nil {
			b.fail(b.at, hintFeatures, "opcode 0x%02x belongs to %s", b.op, refusal(b.op))
		}
	}
}

// memArg reads alignment and offset. Alignments above 16 bytes are invalid for
// every instruction; some engines overflow on them.
func (b *body) memArg() {
	start := b.pos
	if b.u32() > 4 && b.err == nil {
		b.fail(start, hintFeatures, "alignment too large, or more than one memory")
	}
	b.u32()
	b.needMemory()
}

func (b *body) needMemory() {
	if b.m.memories == 0 && b.err == nil {
		b.damaged(b.at, "a memory instruction without a memory")
	}
}

func (b *body) zeroByte() {
	if b.u8() != 0 && b.err == nil {
		b.fail(b.pos-1, hintFeatures, "more than one memory")
	}
}

func (b *body) special() {
	switch b.op {
	case opCall:
		b.call()
	case opCallInd:
		t := b.index("type", len(b.m.types))
		b.index("table", b.m.tables)
		b.calls(t)
	case opLocalGet, opLocalSet, opLocalTee:
		b.index("local", b.locals)
	case opGlobalGet, opGlobalSet:
		b.index("global", b.m.globals)
	case opTableGet, opTableSet:
		b.index("table", b.m.tables)
	case opI32Const:
		b.constant, b.constantAt = uint32(b.signed(5)), b.pos
	case opI64Const:
		b.signed(10)
	case opF32Const:
		b.skip(4)
	case opF64Const:
		b.skip(8)
	case opSelectT:
		if b.u8() != 1 && b.err == nil {
			b.damaged(b.pos-1, "select of other than one type")
		}
		b.valueType()
	case opMemorySize, opMemoryGrow:
		b.zeroByte()
		b.needMemory()
		if b.op == opMemoryGrow {
			b.bulkOp(bulkMemoryGrow)
		}
	case opRefNull:
		b.refType()
	case opRefFunc:
		start := b.pos
		f := b.index("function", len(b.m.funcs))
		b.m.refFuncs[f] = true
		b.editIndex(start, b.m.shiftFunc(f))
	case opMiscPrefix:
		b.misc()
	case opVecPrefix:
		b.vector()
	}
}

func (b *body) call() {
	start := b.pos
	f := b.index("function", len(b.m.funcs))
	if b.err != nil {
		return
	}
	if int(f) < b.m.importedFuncs {
		b.charge(b.m.funcCost[f])
	}
	if as := b.m.shiftFunc(f); as != f {
		b.editIndex(start, as)
	}
	b.calls(b.m.funcs[f])
}

// calls charges for the values that a call moves.
func (b *body) calls(typeIndex uint32) {
	if b.err != nil {
		return
	}
	t := b.m.types[typeIndex]
	b.charge(int64(len(t.Params) + len(t.Results)))
	b.region().straight = false
	b.effort.calls++
	b.effort.values += len(t.Params) + len(t.Results)
}

func (b *body) editIndex(start int, index uint32) {
	if b.err == nil {
		b.edits = append(b.edits, edit{pos: start, skip: b.pos - start, kind: editIndex, arg: index})
	}
}

// misc reads an instruction behind opMiscPrefix. Its number has to be in its
// shortest form: wazero's compiler looks at one byte.
func (b *body) misc() {
	sub := b.u8()
	if sub >= miscCount {
		if b.err == nil {
			b.fail(b.at, hintFeatures, "unknown opcode 0xfc 0x%02x", sub)
		}
		return
	}
	i := miscInstrs[sub]
	b.charge(int64(i.cost))
	switch sub {
	case miscMemoryInit:
		b.dataIndex()
		b.zeroByte()
		b.needMemory()
		b.bulkOp(bulkMemory)
	case miscDataDrop:
		b.dataIndex()
	case miscMemoryCopy:
		b.zeroByte()
		b.zeroByte()
		b.needMemory()
		b.bulkOp(bulkMemory)
	case miscMemoryFill:
		b.zeroByte()
		b.needMemory()
		b.bulkOp(bulkMemory)
	case miscTableInit:
		b.index("element segment", b.m.elements)
		b.index("table", b.m.tables)
		b.bulkOp(bulkTable)
	case miscElemDrop:
		b.index("element segment", b.m.elements)
	case miscTableCopy:
		b.index("table", b.m.tables)
		b.index("table", b.m.tables)
		b.bulkOp(bulkTable)
	case miscTableGrow:
		b.index("table", b.m.tables)
		b.bulkOp(bulkTableGrow)
	case miscTableFill:
		b.index("table", b.m.tables)
		b.bulkOp(bulkTable)
	case miscTableSize:
		b.index("table", b.m.tables)
	}
}

func (b *body) dataIndex() {
	b.m.usesData = true
	b.index("data segment", b.m.dataCount)
}

// vector reads an instruction behind opVecPrefix. Numbers from 128 on take two
// bytes, of which wazero reads the second, always 1, as a nop: any other form
// would be read differently here and there.
func (b *body) vector() {
	sub := b.u8()
	if sub >= 0x80 && b.u8() != 1 && b.err == nil {
		b.fail(b.at, hintFeatures, "unknown vector opcode")
	}
	i := vecInstrs[sub]
	b.charge(int64(i.cost))
	switch i.shape {
	case shapeNone:
	case shapeMemArg:
		b.memArg()
	case shapeLane:
		b.skip(1)
	case shapeMemLane:
		b.memArg()
		b.skip(1)
	case shape16:
		b.skip(16)
	default:
		if b.err == nil {
			b.fail(b.at, hintFeatures, "unknown opcode 0xfd 0x%02x", sub)
		}
	}
}
