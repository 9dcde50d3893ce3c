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
	// frameRegisters is how many values may be alive without any of them being
	// in a slot. There are 14 registers, of which the engine itself uses up to
	// seven at a time.
	frameRegisters = 7
	// frameArgs is how many parameters, or results, are in registers.
	frameArgs = 6
	// bulkSlots are the variables of an operation on memory or a table that is a
	// loop in native code.
	bulkSlots = 16
	// leafMax is the largest frame that is not accounted for.
	leafMax = 64 << 10
	// framePasses is how often loops are walked through to find out what is alive
	// at their heads. After that, everything is.
	framePasses = 4
)

// flow is a step of a function, as far as its variables go.
type flow struct {
	kind   flowKind
	access uint8 // of memory or a global: variables that the engine keeps after it
	kept   kept
	pops   uint8 // values that it takes from the operand stack
	arg    uint32
	height uint32 // of the operand stack, before it
}

// kept is what the engine keeps from one access to the next, until a call: the
// values of globals, and the addresses that values stand for.
type kept struct{ globals, addresses uint8 }

func (k kept) max(l kept) kept {
	return kept{max(k.globals, l.globals), max(k.addresses, l.addresses)}
}

type flowKind byte

const (
	flowPlain  flowKind = iota
	flowConst           // makes values that need no slot
	flowGet             // arg: local
	flowSet             // arg: local
	flowCall            // of anything, also of the host by what is injected
	flowStart           // arg: construct
	flowElse            // arg: construct
	flowEnd             // arg: construct
	flowBranch          // arg: construct; always taken
	flowMaybe           // arg: construct; not always taken
	flowStop            // return, unreachable
	flowTable           // arg: place of its targets, of which the first is their number
)

// construct is a block, loop or if.
type construct struct {
	loop      bool
	base      int  // height of the stack below its parameters
	arity     int  // of its label
	hasElse   bool // seen on the way back; an if always has one
	set       set  // locals that are set inside
	phis      set  // of them, those that are alive at its label
	alive     set  // at its label
	crossed   set  // of them, those that need a slot after it
	elseAlive set  // where its else begins
	elseCross set
	tight     bool // at its label
	elseTight bool
	marked    int // height of the stack at its label up to which values need slots
	elseMark  int
}

// frameSize is the estimate in bytes.
func (b *body) frameSize() int {
	w := weigher{body: b, words: (b.locals + 63) / 64}
	w.prepare()
	stable := false
	for range framePasses {
		if stable = w.walk(); stable {
			break
		}
	}
	if !stable {
		for i := range w.constructs {
			if c := &w.constructs[i]; c.loop {
				c.alive.fill(b.locals)
				c.crossed.fill(b.locals)
				c.marked, c.tight = c.base, true
			}
		}
		w.everything = true
		w.walk()
	}
	slots := w.slots + b.loops*bulkSlots + b.args
	size := frameBase
	if w.crowded {
		size += frameSaved
	}
	// What is certain to be in the frame counts half as much again: the rest is
	// mostly not there, and makes up for the room to grow.
	w.certain = true
	w.walk()
	slots += (w.slots + b.args) / 2
	slot := 8
	if b.vectors || b.m.vectors {
		slot = 16
	}
	return size + slot*slots
}

// tracked is what a body says of its variables.
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
	kept    kept
	bounds  bool  // where the memory begins and ends is kept
	access  uint8 // of the instruction at hand
	vectors bool  // there are values of 16 bytes
}

func (t *tracked) reset() {
	*t = tracked{flow: t.flow[:0], constructs: t.constructs[:0], targets: t.targets[:0]}
}

// accounted tells that the function's frame is taken from what is left of the
// stack. A small one that calls nothing of the module's needn't be: there is one
// of them at a time.
func (b *body) accounted() bool { return b.calls > 0 || b.weight > leafMax }

// entersFunction notes a call of a function of the module, or of any through a table.
func (b *body) entersFunction() {
	if b.dead || b.err != nil {
		return
	}
	b.calls++
	b.edits = append(b.edits, edit{pos: b.at, kind: editLevel})
}

// track notes a step that takes some values from the stack and puts others
// there.
func (b *body) track(kind flowKind, arg uint32, pops, pushes int) {
	if b.dead || b.err != nil {
		return
	}
	b.flow = append(b.flow, flow{
		kind: kind, access: b.access, kept: b.kept, pops: uint8(min(pops, 255)), arg: arg, height: uint32(b.height),
	})
	if b.access = 0; kind == flowCall {
		b.forget(kept{})
	}
	base := 0
	if len(b.frames) > 0 {
		base = b.frames[len(b.frames)-1].base
	}
	b.height = max(b.height-pops, base) + pushes
}

// forget notes that of what was kept no more than this is there from here on.
func (b *body) forget(k kept) {
	if b.kept.globals > 0 {
		clear(b.globalSeen)
	}
	b.kept, b.bounds = k, false
}

// accessGlobal notes that a global is read or written.
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

// accessMemory notes that memory is read or written.
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

// trackOp notes an instruction that is like others of its effect.
func (b *body) trackOp(e effect) {
	kind := flowPlain
	if e.host {
		kind = flowCall
	}
	b.track(kind, 0, int(e.pops), int(e.pushes))
}

// trackCall notes a call.
func (b *body) trackCall(t FuncType, indirect int) {
	pops, pushes := len(t.Params), len(t.Results)
	b.args = max(b.args, max(pops-frameArgs, 0)+max(pushes-frameArgs, 0))
	b.track(flowCall, 0, pops+indirect, pushes)
}

// trackStart notes the beginning of a block, loop or if, whose parameters are on the
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

// trackElse notes the end of the first branch of an if.
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

// trackEnd notes the end of a block, loop or if.
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

// trackBranch notes a jump to a label.
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

// trackStop notes that nothing comes after.
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

// weigher walks through one function.
type weigher struct {
	*body
	words      int
	constructs []construct
	everything bool // nothing is known of loops
	certain    bool // registers don't run out

	alive   set
	crossed set // of what is alive: needs a slot
	count   int // of what is alive
	marked  int // height of the stack up to which values need slots
	slots   int
	tight   bool // what is kept needs slots
	crowded bool // something was, somewhere
}

// prepare finds what is set inside of each construct.
func (w *weigher) prepare() {
	w.constructs = w.body.constructs
	arena := make(set, w.words*(7*len(w.constructs)+2))
	take := func() set {
		s := arena[:w.words:w.words]
		arena = arena[w.words:]
		return s
	}
	for i := range w.constructs {
		c := &w.constructs[i]
		c.set, c.phis, c.alive, c.crossed, c.elseAlive, c.elseCross = take(), take(), take(), take(), take(), take()
	}
	w.alive, w.crossed = take(), take()
	var open []uint32
	for _, f := range w.flow {
		switch f.kind {
		case flowStart:
			open = append(open, f.arg)
		case flowSet:
			if len(open) > 0 {
				w.constructs[open[len(open)-1]].set.add(f.arg)
			}
		case flowEnd:
			open = open[:len(open)-1]
			if len(open) > 0 {
				w.constructs[open[len(open)-1]].set.union(w.constructs[f.arg].set)
			}
		}
	}
}

// walk goes from the end to the beginning once. It reports whether what it
// took for alive at the heads of loops was right.
func (w *weigher) walk() (stable bool) {
	stable = true
	w.slots = 0
	w.nothing()
	for i := len(w.flow) - 1; i >= 0; i-- {
		f := w.flow[i]
		if f.kind >= flowStart {
			stable = w.control(f) && stable
		} else {
			w.step(f)
		}
		values := w.count + int(f.height) + int(f.kept.globals)
		if values+min(values, int(f.kept.addresses)) > frameRegisters && !w.certain {
			w.crowded, w.tight = true, true
			w.mark(int(f.height))
		}
	}
	w.slots += w.crossed.count() // parameters
	return stable
}

// nothing is alive.
func (w *weigher) nothing() {
	clear(w.alive)
	clear(w.crossed)
	w.count, w.marked, w.tight = 0, 0, false
}

// mark notes that everything that is alive needs a slot, and so do the values
// on the stack below a height.
func (w *weigher) mark(height int) {
	copy(w.crossed, w.alive)
	w.marked = max(w.marked, height)
}

// pushed counts the values on the stack from a height on that need slots. They
// aren't there before.
func (w *weigher) pushed(from int) {
	if w.marked > from {
		w.slots += w.marked - from
		w.marked = from
	}
}

func (w *weigher) step(f flow) {
	below := int(f.height) - int(f.pops)
	if f.kind == flowConst {
		w.marked = min(w.marked, below)
	}
	w.pushed(below)
	if w.tight {
		w.slots += int(f.access)
	}
	switch f.kind {
	case flowGet:
		if !w.alive.has(f.arg) {
			w.alive.add(f.arg)
			w.count++
		}
	case flowSet:
		if w.alive.has(f.arg) {
			w.count--
		}
		if w.crossed.has(f.arg) {
			w.slots++
		}
		w.alive.remove(f.arg)
		w.crossed.remove(f.arg)
	case flowCall:
		w.mark(below)
		w.tight = false // nothing is kept across
	}
}

func (w *weigher) control(f flow) (stable bool) {
	var c *construct
	if f.kind != flowStop && f.kind != flowTable {
		c = &w.constructs[f.arg]
	}
	switch f.kind {
	case flowStart:
		return w.start(c)
	case flowElse:
		copy(c.elseAlive, w.alive)
		copy(c.elseCross, w.crossed)
		c.elseMark, c.elseTight, c.hasElse = w.marked, w.tight, true
		w.leave(c)
	case flowEnd:
		w.end(c)
	case flowBranch:
		w.leave(c)
	case flowMaybe:
		w.join(c)
	case flowStop, flowTable:
		w.nothing()
		if f.kind == flowTable {
			n := w.targets[f.arg]
			for _, t := range w.targets[f.arg+1:][:n] {
				w.join(&w.constructs[t])
			}
		}
	}
	return true
}

// end begins with a construct, whose results are on the stack.
func (w *weigher) end(c *construct) {
	c.hasElse = false
	if c.loop { // its label is at its head
		if w.everything {
			copy(c.phis, c.set)
		}
		return
	}
	w.pushed(c.base)
	for i, s := range c.set {
		c.phis[i] = w.alive[i] & s
	}
	w.slots += c.phis.count() + c.arity
	copy(c.alive, w.alive)
	copy(c.crossed, w.crossed)
	c.crossed.minus(c.phis)
	c.marked, c.tight = w.marked, w.tight
	w.leave(c)
}

// start ends with a construct.
func (w *weigher) start(c *construct) (stable bool) {
	if !c.loop {
		if c.hasElse {
			w.alive.union(c.elseAlive)
			w.crossed.union(c.elseCross)
			w.marked = max(w.marked, c.elseMark)
			w.tight = w.tight || c.elseTight
			w.count = w.alive.count()
		}
		w.marked = min(w.marked, c.base)
		return true
	}
	stable = c.alive.equal(w.alive) && c.marked == min(w.marked, c.base) && c.tight == w.tight
	for i, s := range c.set {
		c.phis[i] = w.alive[i] & s
	}
	w.slots += c.phis.count() + c.arity
	w.crossed.minus(c.phis)
	stable = stable && c.crossed.equal(w.crossed)
	if !w.everything {
		copy(c.alive, w.alive)
		copy(c.crossed, w.crossed)
	}
	w.marked = min(w.marked, c.base)
	if !w.everything {
		c.marked, c.tight = w.marked, w.tight
	}
	return stable
}

// leave goes on, backwards, with a jump to a construct's label.
func (w *weigher) leave(c *construct) {
	w.nothing()
	w.join(c)
}

// join adds what a jump to a construct's label keeps alive. All that it
// carries is copied, through variables of their own where they are many.
func (w *weigher) join(c *construct) {
	w.alive.union(c.alive)
	w.crossed.union(c.crossed)
	w.marked = max(w.marked, c.marked)
	w.tight = w.tight || c.tight
	w.count = w.alive.count()
	if c.loop && w.count+c.arity > frameRegisters && !w.certain {
		w.slots += c.phis.count() + c.arity
		w.crowded = true
	}
}
