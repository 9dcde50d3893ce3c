package meter

// control reads an instruction of structured control flow.
func (b *body) control() {
	if b.op != opBlock && b.op != opLoop && b.op != opEnd {
		b.currentRegion().straight = false
	}
	switch b.op {
	case opBlock, opLoop, opIf:
		b.open()
	case opElse:
		f := &b.frames[len(b.frames)-1]
		if f.op != opIf {
			b.damaged(b.at, "else without if")
			return
		}
		b.charge(int64(f.results))
		b.effort.blocks++
		b.trackElse(f)
		f.op = opElse
		f.comesFrom(b.currentRegion().part)
		if b.currentRegion().part != f.opened {
			b.divide()
		}
	case opEnd:
		b.close()
	case opBr:
		start := b.pos
		label := b.index("label", len(b.frames))
		if to, ok := b.thread(label); ok {
			label = to
			b.editIndex(start, label)
			b.m.stats.Threaded++
		}
		b.branch(label, flowBranch)
	case opBrIf:
		b.track(flowPlain, 0, 1, 0)
		b.branch(b.index("label", len(b.frames)), flowBranchIf)
		b.effort.blocks++
	case opBrTable:
		b.branchTable()
	case opReturn, opUnreachable:
		b.trackStop()
	}
}

func (b *body) open() {
	params, results := b.blockType()
	if b.err != nil {
		return
	}
	b.charge(int64(params + results))
	outer := b.frames[len(b.frames)-1]
	f := frame{
		op: b.op, region: outer.region, params: params, results: results,
		opened: b.currentRegion().part, source: noSource, at: b.at,
	}
	b.effort.blocks++
	b.effort.values += params + results
	if b.op == opIf {
		b.track(flowPlain, 0, 1, 0)
	}
	b.trackStart(&f)
	b.frames = append(b.frames, f)
	b.dispatchOpens(f)
	if b.op == opLoop {
		b.effort.blocks += loopBlocks
		b.effort.values += loopBlocks * params
		if r := &b.regions[outer.region]; r.straight {
			r.straight, r.next = false, len(b.regions)
		}
		b.openRegion(1)
	}
	b.depth = max(b.depth, len(b.frames)-1)
	if len(b.frames) > b.m.limits.MaxNesting {
		b.fail(b.at, hintSmaller, "function %d nests blocks deeper than %d", b.function, b.m.limits.MaxNesting)
	}
}

func (b *body) close() {
	f := b.frames[len(b.frames)-1]
	if len(b.frames) == 1 {
		b.charge(int64(f.results))
		b.frames = b.frames[:0]
		return
	}
	if f.op == opIf { // without else
		f.comesFrom(f.opened)
	}
	b.frames = b.frames[:len(b.frames)-1]
	b.trackEnd(&f)
	b.blockEnds(f)
}

// branch charges for the values that a branch carries.
func (b *body) branch(label uint32, kind flowKind) {
	if b.err == nil {
		b.trackBranch(kind, label)
		f := &b.frames[len(b.frames)-1-int(label)]
		f.comesFrom(b.regions[f.region].part)
		b.charge(int64(f.arity()))
		b.effort.values += f.arity()
	}
}

func (b *body) branchTable() {
	d := b.dispatchTable()
	n := b.count("branch targets", b.m.limits.MaxBrTable)
	table := len(b.targets)
	b.targets = append(b.targets, 0)
	for i := range n + 1 {
		label := b.index("label", len(b.frames))
		if b.err != nil {
			return
		}
		f := &b.frames[len(b.frames)-1-int(label)]
		f.comesFrom(b.regions[f.region].part)
		f.keptAtEnd = f.keptAtEnd.max(b.kept)
		if int(label) < len(b.frames)-1 {
			b.targets = append(b.targets, f.construct)
		}
		d.add(b, len(b.frames)-1-int(label))
		if i == n {
			b.charge(int64(f.arity()))
			b.effort.values += f.arity()
		}
	}
	b.targets[table] = uint32(len(b.targets) - table - 1)
	b.track(flowTable, uint32(table), 1, 0)
	b.dead = true
	b.m.stats.BrTable = max(b.m.stats.BrTable, n)
	b.effort.targets += n
}

// blockType reads a block's type and returns the numbers of its parameters and
// results.
func (b *body) blockType() (params, results int) {
	start := b.pos
	if v := b.u8(); v == blockVoid {
		return 0, 0
	} else if valueTypeName(v) != "" {
		return 0, 1
	}
	b.pos = min(start, b.end)
	t := b.signed(5)
	if b.err != nil {
		return 0, 0
	}
	if t < 0 || t >= int64(len(b.m.types)) {
		b.damaged(start, "unknown type of block %d, there are %d", t, len(b.m.types))
		return 0, 0
	}
	return len(b.m.types[t].Params), len(b.m.types[t].Results)
}
