package meter

import "math/bits"

// The engine keeps a guest's stack on the heap and doubles it by copying, so
// that what a recursion takes is the host's to bound. A frame's size is known
// to the engine's compiler alone; here it is estimated from above, from what
// the compiler has to keep.
//
// Every value that an instruction makes, and every local at a place where
// several definitions of it meet, is a variable to the compiler. One that lives
// across a call, or where there are more than registers, gets a slot of its
// own, which no other uses, ever. So the estimate is the number of variables
// for which that may be so. It is found by walking through the function
// backwards, from uses to definitions, as compilers find out what is alive.
const (
	// frameBase is what a frame has besides slots: where to return to, the
	// engine's own variables, saved registers. frameSaved is for further saved
	// registers, which functions with many variables use; there are 14 on one
	// architecture and 23 on the other, of up to 16 bytes.
	frameBase  = 192
	frameSaved = 256
	// frameRegisters is how many values may be alive while none of them is in a
	// slot. There are 14 registers, of which the engine itself uses up to
	// seven at a time.
	frameRegisters = 7
	// frameArgs is how many parameters, or results, are in registers.
	frameArgs = 6
	// bulkSlots are the variables of an operation on memory or a table that is a
	// loop in native code.
	bulkSlots = 16
	// leafMax is the largest frame, in bytes, of a function that isn't accounted
	// for.
	leafMax = 64 << 10
	// framePasses is how often a function is gone through to find out what is alive
	// at the heads of its loops. After that, everything is taken to be alive there.
	framePasses = 4
)

// flow is a step of a function, as far as its variables go.
type flow struct {
	kind   flowKind
	access uint8 // of memory or a global: variables that the engine keeps after it
	kept   engineCache
	pops   uint8 // values that it takes from the operand stack
	arg    uint32
	height uint32 // of the operand stack, before it
}

// engineCache is what the engine keeps from one access to the next, until a call: the
// values of globals, and the addresses that values stand for.
type engineCache struct{ globals, addresses uint8 }

func (k engineCache) max(l engineCache) engineCache {
	return engineCache{max(k.globals, l.globals), max(k.addresses, l.addresses)}
}

type flowKind byte

const (
	flowPlain    flowKind = iota
	flowConst             // makes values that need no slot
	flowGet               // arg: local
	flowSet               // arg: local
	flowCall              // of any function, also of the host by injected code
	flowStart             // arg: construct
	flowElse              // arg: construct
	flowEnd               // arg: construct
	flowBranch            // arg: construct; always taken
	flowBranchIf          // arg: construct; not always taken
	flowStop              // return, unreachable
	flowTable             // arg: index of its targets, of which the first is their number
)

// construct is a block, loop or if.
type construct struct {
	loop            bool
	base            int  // height of the stack below its parameters
	arity           int  // of its label
	hasElse         bool // seen on the way back; an if always has one
	set             set  // locals that are set inside
	phis            set  // of them, those that are alive at its label
	alive           set  // at its label
	spilled         set  // of them, those that need a slot after it
	elseAlive       set  // where its else begins
	elseSpilled     set
	spillKept       bool // at its label
	elseSpillKept   bool
	spillHeight     int // height of the stack at its label below which values need slots
	elseSpillHeight int
}

// frameSize is the estimate in bytes.
func (b *body) frameSize() int {
	e := frameEstimator{body: b, words: (b.locals + 63) / 64}
	e.prepare()
	stable := false
	for range framePasses {
		if stable = e.walk(); stable {
			break
		}
	}
	if !stable {
		for i := range e.constructs {
			if c := &e.constructs[i]; c.loop {
				c.alive.fill(b.locals)
				c.spilled.fill(b.locals)
				c.spillHeight, c.spillKept = c.base, true
			}
		}
		e.everything = true
		e.walk()
	}
	slots := e.slots + b.loops*bulkSlots + b.args
	size := frameBase
	if e.pressure {
		size += frameSaved
	}
	// What is certain to be in the frame counts half as much again, as room for
	// growth. For the rest no room is added: most of it isn't there.
	e.certain = true
	e.walk()
	slots += (e.slots + b.args) / 2
	slot := 8
	if b.vectors || b.m.vectors {
		slot = 16
	}
	return size + slot*slots
}

// tracked is what is collected of a body's variables while it is read.
type tracked struct {
	flow       []flow
	constructs []construct
	targets    []uint32 // of branch tables
	height     int      // of the operand stack
	dead       bool     // what comes is never run, and not compiled

	calls   int   // of functions that the module defines, or of any through a table
	loops   int   // operations that are loops in native code
	args    int   // the most that a call passes on the stack
	used    uint8 // different globals
	kept    engineCache
	bounds  bool  // where the memory begins and ends is kept
	access  uint8 // of the instruction at hand
	vectors bool  // there are values of 16 bytes
}

func (t *tracked) reset() {
	*t = tracked{flow: t.flow[:0], constructs: t.constructs[:0], targets: t.targets[:0]}
}

// accounted reports whether the function's frame is taken from what is left of
// the stack. A small one that calls no function of the module needn't be: there
// is one of them at a time.
func (b *body) accounted() bool { return b.calls > 0 || b.frameBytes > leafMax }

// entersFunction records a call of a function of the module, or of any through a table.
func (b *body) entersFunction() {
	if b.dead || b.err != nil {
		return
	}
	b.calls++
	b.edits = append(b.edits, edit{pos: b.at, kind: editLevel})
}

// track records a step that takes some values from the stack and puts others
// there.
func (b *body) track(kind flowKind, arg uint32, pops, pushes int) {
	if b.dead || b.err != nil {
		return
	}
	b.flow = append(b.flow, flow{
		kind: kind, access: b.access, kept: b.kept, pops: uint8(min(pops, 255)), arg: arg, height: uint32(b.height),
	})
	if b.access = 0; kind == flowCall {
		b.forget(engineCache{})
	}
	base := 0
	if len(b.frames) > 0 {
		base = b.frames[len(b.frames)-1].base
	}
	b.height = max(b.height-pops, base) + pushes
}

// forget records that the engine keeps no more than k from here on.
func (b *body) forget(k engineCache) {
	if b.kept.globals > 0 {
		clear(b.globalSeen)
	}
	b.kept, b.bounds = k, false
}

// accessGlobal records that a global is read or written.
func (b *body) accessGlobal(i uint32) {
	b.access = 1
	if b.err != nil || b.dead {
		return
	}
	if !b.globalUsed[i] {
		b.globalUsed[i] = true
		b.used += min(1, 255-b.used)
	}
	if !b.globalSeen[i] {
		b.globalSeen[i] = true
		b.kept.globals = min(b.kept.globals, b.used-1) + 1
	}
}

// accessMemory records that memory is read or written.
func (b *body) accessMemory() {
	b.access = 1
	if b.dead {
		return
	}
	if !b.bounds {
		b.access = 3
	}
	b.bounds = true
	b.kept.addresses += min(1, 255-b.kept.addresses)
}

// trackOp records an instruction that is like others of its effect.
func (b *body) trackOp(e effect) {
	kind := flowPlain
	if e.host {
		kind = flowCall
	}
	b.track(kind, 0, int(e.pops), int(e.pushes))
}

// trackCall records a call.
func (b *body) trackCall(t FuncType, indirect int) {
	pops, pushes := len(t.Params), len(t.Results)
	b.args = max(b.args, max(pops-frameArgs, 0)+max(pushes-frameArgs, 0))
	b.track(flowCall, 0, pops+indirect, pushes)
}

// trackStart records the beginning of a block, loop or if, whose parameters are on the
// stack.
func (b *body) trackStart(f *frame) {
	f.base, f.dead = max(b.height-f.params, b.frames[len(b.frames)-1].base), b.dead
	f.construct = uint32(len(b.constructs))
	if b.dead {
		return
	}
	f.kept, f.keptAtEnd = b.kept, b.kept
	b.bounds = false
	b.constructs = append(b.constructs, construct{loop: f.op == opLoop, base: f.base, arity: f.arity()})
	b.track(flowStart, f.construct, 0, 0)
}

// trackElse records the end of the first branch of an if.
func (b *body) trackElse(f *frame) {
	if f.dead {
		return
	}
	if !b.dead {
		f.keptAtEnd = f.keptAtEnd.max(b.kept)
	}
	b.dead = false
	b.track(flowElse, f.construct, 0, 0)
	b.height = f.base + f.params
	b.forget(f.kept)
}

// trackEnd records the end of a block, loop or if.
func (b *body) trackEnd(f *frame) {
	if f.dead {
		return
	}
	if f.op == opIf { // without else
		b.trackElse(f)
	}
	if !b.dead {
		f.keptAtEnd = f.keptAtEnd.max(b.kept)
	}
	b.dead = false
	b.height = f.base + f.results
	b.forget(f.keptAtEnd)
	b.track(flowEnd, f.construct, 0, 0)
}

// trackBranch records a jump to a label.
func (b *body) trackBranch(kind flowKind, label uint32) {
	f := &b.frames[len(b.frames)-1-int(label)]
	f.keptAtEnd = f.keptAtEnd.max(b.kept)
	switch {
	case int(label) < len(b.frames)-1:
		b.track(kind, f.construct, 0, 0)
	case kind == flowBranch: // to the function's end
		b.track(flowStop, 0, 0, 0)
	}
	b.dead = b.dead || kind == flowBranch
}

// trackStop records that nothing comes after.
func (b *body) trackStop() {
	b.track(flowStop, 0, 0, 0)
	b.dead = true
}

// set is a set of locals.
type set []uint64

func (s set) add(i uint32)      { s[i/64] |= 1 << (i % 64) }
func (s set) remove(i uint32)   { s[i/64] &^= 1 << (i % 64) }
func (s set) has(i uint32) bool { return s[i/64]>>(i%64)&1 != 0 }

func (s set) union(t set) {
	for i, w := range t {
		s[i] |= w
	}
}

func (s set) minus(t set) {
	for i, w := range t {
		s[i] &^= w
	}
}

func (s set) count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

func (s set) equal(t set) bool {
	for i, w := range t {
		if s[i] != w {
			return false
		}
	}
	return true
}

func (s set) fill(n int) {
	for i := range n {
		s.add(uint32(i))
	}
}

// frameEstimator goes through one function to find what needs slots.
type frameEstimator struct {
	*body
	words      int
	constructs []construct
	everything bool // everything is alive at the heads of loops
	certain    bool // only what needs a slot however many registers there are counts

	alive       set
	spilled     set // of what is alive, what needs a slot
	count       int // of what is alive
	spillHeight int // height of the stack below which values need slots
	slots       int
	spillKept   bool // what the engine keeps needs slots
	pressure    bool // registers have run out somewhere
}

// prepare finds what is set inside of each construct.
func (e *frameEstimator) prepare() {
	e.constructs = e.body.constructs
	arena := make(set, e.words*(7*len(e.constructs)+2))
	take := func() set {
		s := arena[:e.words:e.words]
		arena = arena[e.words:]
		return s
	}
	for i := range e.constructs {
		c := &e.constructs[i]
		c.set, c.phis, c.alive, c.spilled, c.elseAlive, c.elseSpilled = take(), take(), take(), take(), take(), take()
	}
	e.alive, e.spilled = take(), take()
	var open []uint32
	for _, f := range e.flow {
		switch f.kind {
		case flowStart:
			open = append(open, f.arg)
		case flowSet:
			if len(open) > 0 {
				e.constructs[open[len(open)-1]].set.add(f.arg)
			}
		case flowEnd:
			open = open[:len(open)-1]
			if len(open) > 0 {
				e.constructs[open[len(open)-1]].set.union(e.constructs[f.arg].set)
			}
		}
	}
}

// walk goes once from the end of the function to its beginning. It reports
// whether what it took for alive at the heads of loops was right.
func (e *frameEstimator) walk() (stable bool) {
	stable = true
	e.slots = 0
	e.reset()
	for i := len(e.flow) - 1; i >= 0; i-- {
		f := e.flow[i]
		if f.kind >= flowStart {
			stable = e.control(f) && stable
		} else {
			e.step(f)
		}
		values := e.count + int(f.height) + int(f.kept.globals)
		if values+min(values, int(f.kept.addresses)) > frameRegisters && !e.certain {
			e.pressure, e.spillKept = true, true
			e.spill(int(f.height))
		}
	}
	e.slots += e.spilled.count() // parameters
	return stable
}

// reset says that nothing is alive.
func (e *frameEstimator) reset() {
	clear(e.alive)
	clear(e.spilled)
	e.count, e.spillHeight, e.spillKept = 0, 0, false
}

// spill records that everything that is alive needs a slot, and so do the values
// on the stack below a height.
func (e *frameEstimator) spill(height int) {
	copy(e.spilled, e.alive)
	e.spillHeight = max(e.spillHeight, height)
}

// pushed counts the slots of the values on the stack from a height on, which the
// step at hand has pushed: before it they don't exist.
func (e *frameEstimator) pushed(from int) {
	if e.spillHeight > from {
		e.slots += e.spillHeight - from
		e.spillHeight = from
	}
}

func (e *frameEstimator) step(f flow) {
	below := int(f.height) - int(f.pops)
	if f.kind == flowConst {
		e.spillHeight = min(e.spillHeight, below)
	}
	e.pushed(below)
	if e.spillKept {
		e.slots += int(f.access)
	}
	switch f.kind {
	case flowGet:
		if !e.alive.has(f.arg) {
			e.alive.add(f.arg)
			e.count++
		}
	case flowSet:
		if e.alive.has(f.arg) {
			e.count--
		}
		if e.spilled.has(f.arg) {
			e.slots++
		}
		e.alive.remove(f.arg)
		e.spilled.remove(f.arg)
	case flowCall:
		e.spill(below)
		e.spillKept = false // nothing is kept across
	}
}

func (e *frameEstimator) control(f flow) (stable bool) {
	var c *construct
	if f.kind != flowStop && f.kind != flowTable {
		c = &e.constructs[f.arg]
	}
	switch f.kind {
	case flowStart:
		return e.start(c)
	case flowElse:
		copy(c.elseAlive, e.alive)
		copy(c.elseSpilled, e.spilled)
		c.elseSpillHeight, c.elseSpillKept, c.hasElse = e.spillHeight, e.spillKept, true
		e.leave(c)
	case flowEnd:
		e.end(c)
	case flowBranch:
		e.leave(c)
	case flowBranchIf:
		e.join(c)
	case flowStop, flowTable:
		e.reset()
		if f.kind == flowTable {
			n := e.targets[f.arg]
			for _, t := range e.targets[f.arg+1:][:n] {
				e.join(&e.constructs[t])
			}
		}
	}
	return true
}

// end handles the end of a construct, which a walk meets first. The construct's
// results are on the stack.
func (e *frameEstimator) end(c *construct) {
	c.hasElse = false
	if c.loop { // its label is at its head
		if e.everything {
			copy(c.phis, c.set)
		}
		return
	}
	e.pushed(c.base)
	for i, s := range c.set {
		c.phis[i] = e.alive[i] & s
	}
	e.slots += c.phis.count() + c.arity
	copy(c.alive, e.alive)
	copy(c.spilled, e.spilled)
	c.spilled.minus(c.phis)
	c.spillHeight, c.spillKept = e.spillHeight, e.spillKept
	e.leave(c)
}

// start handles the beginning of a construct, with which a walk is done with it.
func (e *frameEstimator) start(c *construct) (stable bool) {
	if !c.loop {
		if c.hasElse {
			e.alive.union(c.elseAlive)
			e.spilled.union(c.elseSpilled)
			e.spillHeight = max(e.spillHeight, c.elseSpillHeight)
			e.spillKept = e.spillKept || c.elseSpillKept
			e.count = e.alive.count()
		}
		e.spillHeight = min(e.spillHeight, c.base)
		return true
	}
	stable = c.alive.equal(e.alive) && c.spillHeight == min(e.spillHeight, c.base) && c.spillKept == e.spillKept
	for i, s := range c.set {
		c.phis[i] = e.alive[i] & s
	}
	e.slots += c.phis.count() + c.arity
	e.spilled.minus(c.phis)
	stable = stable && c.spilled.equal(e.spilled)
	if !e.everything {
		copy(c.alive, e.alive)
		copy(c.spilled, e.spilled)
	}
	e.spillHeight = min(e.spillHeight, c.base)
	if !e.everything {
		c.spillHeight, c.spillKept = e.spillHeight, e.spillKept
	}
	return stable
}

// leave handles a jump to a construct's label: only what is alive there is alive
// before it.
func (e *frameEstimator) leave(c *construct) {
	e.reset()
	e.join(c)
}

// join adds what a jump to a construct's label keeps alive. All that it
// carries is copied, through variables of their own where they are many.
func (e *frameEstimator) join(c *construct) {
	e.alive.union(c.alive)
	e.spilled.union(c.spilled)
	e.spillHeight = max(e.spillHeight, c.spillHeight)
	e.spillKept = e.spillKept || c.spillKept
	e.count = e.alive.count()
	if c.loop && e.count+c.arity > frameRegisters && !e.certain {
		e.slots += c.phis.count() + c.arity
		e.pressure = true
	}
}
