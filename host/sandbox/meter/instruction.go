package meter

// instruction reads one instruction.
func (b *body) instruction() {
	b.at = b.pos
	b.op = b.u8()
	i := instrs[b.op]
	b.charge(int64(i.cost))
	switch i.shape {
	case shapeNone:
		if b.m.noRemainders && isRemainder(b.op) {
			b.remainder()
		} else {
			b.trackOp(effects[b.op])
		}
	case shapeMemArg:
		b.memArg()
		b.trackOp(effects[b.op])
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
	b.accessMemory()
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
	case opCall, opCallInd, opLocalGet, opLocalSet, opLocalTee, opI32Const, opI64Const, opF32Const, opF64Const, opMiscPrefix, opVecPrefix:
	default:
		defer b.trackOp(effects[b.op])
	}
	switch b.op {
	case opCall:
		b.call()
	case opCallInd:
		t := b.index("type", len(b.m.types))
		b.index("table", b.m.tables)
		b.entersFunction()
		b.callsOf(t, 1)
	case opLocalGet:
		local := b.index("local", b.locals)
		b.track(flowGet, local, 0, 1)
		b.dispatchReads(local)
	case opLocalSet:
		local := b.index("local", b.locals)
		b.track(flowSet, local, 1, 0)
		b.dispatchSets(local)
	case opLocalTee:
		b.track(flowSet, b.index("local", b.locals), 1, 1)
	case opGlobalGet, opGlobalSet:
		b.accessGlobal(b.index("global", b.m.globals))
	case opTableGet, opTableSet:
		b.index("table", b.m.tables)
		b.m.tableChanges = b.m.tableChanges || b.op == opTableSet
	case opI32Const:
		b.constant, b.constantAt = uint32(b.signed(5)), b.pos
		b.track(flowConst, 0, 0, 1)
	case opI64Const:
		b.signed(10)
		b.track(flowConst, 0, 0, 1)
	case opF32Const:
		b.skip(4)
		b.track(flowConst, 0, 0, 1)
	case opF64Const:
		b.skip(8)
		b.track(flowConst, 0, 0, 1)
	case opSelectT:
		if b.u8() != 1 && b.err == nil {
			b.damaged(b.pos-1, "select of other than one type")
		}
		b.valueType()
	case opMemorySize, opMemoryGrow:
		b.zeroByte()
		b.needMemory()
		if b.op == opMemoryGrow {
			b.chargeBulk(bulkMemoryGrow)
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
	if int(f) >= b.m.importedFuncs {
		b.entersFunction()
	}
	if as := b.m.shiftFunc(f); as != f {
		b.editIndex(start, as)
	}
	b.callsOf(b.m.funcs[f], 0)
}

// callsOf charges for the values that a call moves.
func (b *body) callsOf(typeIndex uint32, indirect int) {
	if b.err != nil {
		return
	}
	t := b.m.types[typeIndex]
	b.trackCall(t, indirect)
	b.charge(int64(len(t.Params) + len(t.Results)))
	b.currentRegion().straight = false
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
	defer b.trackOp(miscEffects[sub])
	switch sub {
	case miscMemoryInit:
		b.dataIndex()
		b.zeroByte()
		b.needMemory()
		b.chargeBulk(bulkMemory)
	case miscDataDrop:
		b.dataIndex()
	case miscMemoryCopy:
		b.zeroByte()
		b.zeroByte()
		b.needMemory()
		b.chargeBulk(bulkMemory)
	case miscMemoryFill:
		b.zeroByte()
		b.needMemory()
		b.chargeBulk(bulkMemory)
	case miscTableInit:
		b.index("element segment", b.m.elements)
		b.index("table", b.m.tables)
		b.chargeBulk(bulkTable)
		b.m.tableChanges = true
	case miscElemDrop:
		b.index("element segment", b.m.elements)
		b.m.dropsElements = true
	case miscTableCopy:
		b.index("table", b.m.tables)
		b.index("table", b.m.tables)
		b.chargeBulk(bulkTable)
		b.m.tableChanges = true
	case miscTableGrow:
		b.index("table", b.m.tables)
		b.chargeBulk(bulkTableGrow)
		b.m.tableChanges = true
	case miscTableFill:
		b.index("table", b.m.tables)
		b.chargeBulk(bulkTable)
		b.m.tableChanges = true
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
	b.vectors = true
	defer b.trackOp(vecEffects[sub])
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
