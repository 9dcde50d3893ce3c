package meter

// bulkOp is how an operation is charged by its size, the operand on top of the
// stack.
type bulkOp struct {
	shift int    // of the size: to the right, or, below 0, to the left
	limit uint32 // above which the operation fails at once; 0: none
}

const (
	bulkMemory = iota
	bulkTable
	bulkMemoryGrow
	bulkTableGrow
)

// One unit pays for 16 bytes: 0.5 to 3 ns, the latter for overlapping copies of
// what is in no cache. A page that is added costs its 64 KiB, which the engine
// clears, at 64 bytes a unit.
var bulkOps = [...]bulkOp{
	bulkMemory:     {shift: 4},
	bulkTable:      {shift: 3},
	bulkMemoryGrow: {shift: -10, limit: 65536},
	bulkTableGrow:  {shift: 3, limit: 1 << 27},
}

// staticBulk is the largest constant size that is charged with its region.
const staticBulk = 1 << 12

// cost is the charge for a known size.
func (o bulkOp) cost(size uint32) int64 {
	if o.limit > 0 {
		size = min(size, o.limit)
	}
	if o.shift < 0 {
		return int64(size) << -o.shift
	}
	return int64(size) >> o.shift
}

// chargeBulk charges the current instruction by its size. A small
// constant size belongs to the region's cost.
func (b *body) chargeBulk(kind uint32) {
	if b.err != nil {
		return
	}
	b.loops++
	if b.constantAt == b.at && b.constant <= staticBulk {
		b.charge(bulkOps[kind].cost(b.constant))
		return
	}
	b.currentRegion().straight = false
	b.track(flowCall, 0, 0, 0)
	b.edits = append(b.edits, edit{pos: b.at, kind: editBulk, arg: kind})
	b.bulk = true
	b.effort.blocks += bulkBlocks
	b.m.stats.Bulk++
}

// appendTo writes the changed body with its length. The scratch locals come
// after all others, so that no index of the original names them.
func (b *body) appendTo(out []byte) []byte {
	extra := []byte{byte(b.sizeLocal() - b.budgetLocal()), typeI64}
	groups := b.groups + 1
	switch {
	case b.rem32:
		extra = append(extra, 2, typeI32)
		groups++
	case b.bulk:
		extra = append(extra, 1, typeI32)
		groups++
	}
	c := b.m.scratch[:0]
	c = appendLen(c, groups)
	c = append(c, b.buf[b.groupsFrom:b.groupsTo]...)
	c = append(c, extra...)
	pos := b.from
	for _, e := range b.edits {
		c = append(c, b.buf[pos:e.pos]...)
		pos = e.pos + e.skip
		switch e.kind {
		case editCheck:
			c = b.appendHead(c, b.parts[e.arg])
		case editCharge:
			if cost := b.parts[e.arg].cost; cost > 0 {
				c = b.appendCharge(c, cost)
			}
		case editLevel:
			c = appendU32(append(c, opLocalGet), b.levelLocal())
			c = appendU32(append(c, opGlobalSet), b.m.stack())
		case editIndex:
			c = appendU32(c, e.arg)
		case editBulk:
			c = b.appendBulk(c, bulkOps[e.arg])
		case editRem:
			c = b.appendRem(c, byte(e.arg))
		}
	}
	c = append(c, b.buf[pos:b.end]...)
	b.m.scratch = c
	return append(appendLen(out, len(c)), c...)
}

func (b *body) budgetLocal() uint32 { return uint32(b.locals) }
func (b *body) levelLocal() uint32  { return uint32(b.locals) + 1 }

// secondLocal is the last i64, where there are remainders of i64.
func (b *body) secondLocal() uint32 {
	if b.accounted() {
		return uint32(b.locals) + 2
	}
	return uint32(b.locals) + 1
}

// sizeLocal is the first i32.
func (b *body) sizeLocal() uint32 {
	if b.rem64 {
		return b.secondLocal() + 1
	}
	return b.secondLocal()
}

// appendHead charges and checks at the head of a region. What is charged is
// written back when there is enough: until then the module asks for more and
// tries again, from the header of the loop or from one that is there for this.
// The engine likes that better than a branch that joins the code it left: a
// call that isn't made then takes nothing out of registers, and nothing that
// was loaded has to be loaded again.
func (b *body) appendHead(c []byte, p part) []byte {
	budget, local := b.m.budget(), b.budgetLocal()
	r := b.regions[p.region]
	entry := p.region == 0 && b.accounted()
	if entry {
		c = appendU32(append(c, opGlobalGet), b.m.stack())
		c = appendSigned(append(c, opI64Const), int64(b.frameBytes))
		c = appendU32(append(c, opI64Sub, opLocalSet), b.levelLocal())
	}
	switch {
	case p.cost > 0:
	case entry:
		return b.appendOverflow(c, 0)
	default:
		return c
	}
	if !r.again {
		c = append(c, opLoop, blockVoid)
	}
	c = b.appendCharged(c, p.cost)
	c = appendU32(append(c, opLocalTee), local)
	if entry { // one branch for both
		c = appendU32(append(c, opLocalGet), b.levelLocal())
		c = append(c, opI64Or)
	}
	c = append(c, opI64Const, 0, opI64LtS, opIf, blockVoid)
	if entry {
		c = b.appendOverflow(c, p.cost)
	}
	c = append(b.appendTick(c), opBr, 1, opEnd)
	if !r.again {
		c = append(c, opEnd)
	}
	c = appendU32(append(c, opLocalGet), local)
	return appendU32(append(c, opGlobalSet), budget)
}

// appendCharge takes a constant from the budget.
func (b *body) appendCharge(c []byte, cost int64) []byte {
	return appendU32(append(b.appendCharged(c, cost), opGlobalSet), b.m.budget())
}

// appendCharged leaves the budget without a constant on the stack.
func (b *body) appendCharged(c []byte, cost int64) []byte {
	c = appendU32(append(c, opGlobalGet), b.m.budget())
	c = appendSigned(append(c, opI64Const), cost)
	return append(c, opI64Sub)
}

// appendOverflow ends the run when what is left of the stack is below zero.
// What the head costs has been used by then.
func (b *body) appendOverflow(c []byte, cost int64) []byte {
	c = appendU32(append(c, opLocalGet), b.levelLocal())
	c = append(c, opI64Const, 0, opI64LtS, opIf, blockVoid)
	if cost > 0 {
		c = b.appendCharge(c, cost)
	}
	c = appendU32(append(c, opCall), b.m.overflowFunc())
	return append(c, opUnreachable, opEnd)
}

// appendTick asks for more.
func (b *body) appendTick(c []byte) []byte {
	budget := b.m.budget()
	c = appendU32(append(c, opCall), b.m.tickFunc())
	c = appendU32(append(c, opGlobalGet), budget)
	return appendU32(append(c, opI64Add, opGlobalSet), budget)
}

// appendBulk charges for the size on top of the stack and leaves it there.
func (b *body) appendBulk(c []byte, o bulkOp) []byte {
	size := b.sizeLocal()
	c = appendU32(append(c, opLocalTee), size)
	c = appendU32(append(c, opGlobalGet), b.m.budget())
	c = appendU32(append(c, opLocalGet), size)
	if o.limit > 0 { // min(size, limit)
		c = appendSigned(append(c, opI32Const), int64(int32(o.limit)))
		c = appendU32(append(c, opLocalGet), size)
		c = appendSigned(append(c, opI32Const), int64(int32(o.limit)))
		c = append(c, opI32LtU, opSelect)
	}
	c = append(c, opI64ExtendU, opI64Const)
	if o.shift < 0 {
		c = append(appendSigned(c, int64(-o.shift)), opI64Shl)
	} else {
		c = append(appendSigned(c, int64(o.shift)), opI64ShrU)
	}
	// It is stored before more is asked for: debts are kept.
	budget, local := b.m.budget(), b.budgetLocal()
	c = appendU32(append(c, opI64Sub, opLocalTee), local)
	c = appendU32(append(c, opGlobalSet), budget)
	c = appendU32(append(c, opLocalGet), local)
	c = append(c, opI64Const, 0, opI64LtS, opIf, blockVoid)
	return append(b.appendTick(c), opEnd)
}
