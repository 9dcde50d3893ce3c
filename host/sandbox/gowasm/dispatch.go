package gowasm

// Go's compiler writes every function as a loop around a branch table, by which it is
// entered, resumed and jumped about in: whoever wants to go somewhere sets the first
// parameter to a number and goes back to the head. A jump that leads forward can as well
// go there at once, and if nothing else knows the number the table need not have it: then
// the engine doesn't have to suppose that anything at all may have been before.

// Parts of a code address of Go on WebAssembly: which function, and where in it.
const (
	addressShift   = 16
	firstFunction  = 0x1000 // of the function with the index 0
	alwaysResumed  = 2      // goexit's address is made as 1 behind its beginning
	dispatchedWith = 0      // the parameter
)

// addresses are the places in functions that something may go to: by the function,
// without imported ones.
type addresses map[uint64]map[uint64]bool

func (a addresses) add(v uint64, functions uint64) {
	f := v >> addressShift
	if f < firstFunction || f >= firstFunction+functions {
		return
	}
	f -= firstFunction
	if a[f] == nil {
		a[f] = map[uint64]bool{}
	}
	a[f][v&(1<<addressShift-1)] = true
}

// jump is one to the head of the dispatching loop: three instructions, from a
// constant on.
type jump struct {
	at    int
	label uint64 // where it leads, counted from there
	to    int    // which instruction has opened that block
}

// dispatcher finds out what of a function's table is needed.
type dispatcher struct {
	*function
	table   int      // the instruction
	labels  []uint64 // of the table
	frames  []int    // which instructions have opened the blocks that are open
	targets []int    // which instructions have opened the blocks that the labels mean
	loop    int      // its instruction
	jumps   []jump
	kept    []bool // of the labels
	bad     bool   // the function is another than those of Go
}

// straighten makes jumps lead where they go, and leaves out of the table what nobody
// knows.
func (f *function) straighten(known map[uint64]bool) {
	if d, ok := f.dispatcher(known); ok {
		d.edit()
	}
}

// dispatcher finds out how the function's table is used, if it is as Go makes them.
func (f *function) dispatcher(known map[uint64]bool) (_ *dispatcher, ok bool) {
	d := &dispatcher{function: f, table: -1, loop: -1}
	for n, i := range f.code {
		d.see(n, i)
	}
	if d.bad || d.table < 0 {
		return nil, false
	}
	for b := range d.kept {
		if b < alwaysResumed || known[uint64(b)] || b == len(d.kept)-1 {
			d.kept[b] = true
		}
	}
	return d, true
}

// see looks at the instructions one after the other.
func (d *dispatcher) see(n int, i instruction) {
	switch i.op {
	case opBlock, opLoop, opIf:
		d.frames = append(d.frames, n)
	case opEnd:
		if len(d.frames) > 0 {
			d.frames = d.frames[:len(d.frames)-1]
		}
	case opBrTable:
		if d.table < 0 && d.heads(n) {
			d.begin(n)
		} else {
			d.bad = true
		}
	case opLocalSet, opLocalTee:
		if i.index == dispatchedWith && !d.calls(n) {
			d.jump(n)
		}
	case opLocalGet:
		if i.index == dispatchedWith && len(d.frames) > 0 && !d.heads(n+1) && !d.calls(n-2) { // but see frame.begin
			d.bad = true
		}
	case opBr, opBrIf: // to the head with a number that isn't known here
		if d.table >= 0 && d.meant(i.index) == d.loop && !d.follows(n) {
			d.bad = true
		}
	}
}

// calls reports whether the parameter is only set to have the number of a function at hand
// that is called by it.
func (f *function) calls(n int) bool {
	c := f.code
	return n >= 0 && n+3 < len(c) && c[n].op == opLocalSet && c[n].index == dispatchedWith && c[n+1].op == opI32Const &&
		c[n+2].op == opLocalGet && c[n+2].index == dispatchedWith && c[n+3].op == opCallIndirect
}

// follows reports whether a branch comes behind a setting of the parameter, which was seen.
func (d *dispatcher) follows(n int) bool {
	return n > 1 && d.code[n-1].op == opLocalSet && d.code[n-1].index == dispatchedWith
}

// meant returns which instruction has opened the block that a label means, or -1.
func (d *dispatcher) meant(label uint64) int {
	if label >= uint64(len(d.frames)) {
		return -1
	}
	return d.frames[len(d.frames)-1-int(label)] //nolint:gosec // bounded above
}

// heads reports whether an instruction is the table of a loop that dispatches: nothing is
// between it and the loop's head but blocks that open.
func (d *dispatcher) heads(n int) bool {
	if n < 2 || n >= len(d.code) || d.code[n].op != opBrTable || d.code[n-1].op != opLocalGet || d.code[n-1].index != dispatchedWith {
		return false
	}
	for n -= 2; n >= 0 && d.code[n].op == opBlock; n-- {
	}
	if n > 2 && d.code[n].op == opDrop && d.code[n-1].op == opI32Load8U && d.code[n-2].op == opLocalGet {
		n -= 3 // see frame.begin
	}
	if n < 0 || d.code[n].op != opLoop {
		return false
	}
	d.loop = n
	return true
}

func (d *dispatcher) begin(n int) {
	d.table = n
	c := &cursor{buf: d.body, pos: d.code[n].from + 1}
	for k := c.unsigned() + 1; k > 0; k-- {
		label := c.unsigned()
		d.labels = append(d.labels, label)
		d.targets = append(d.targets, d.meant(label))
	}
	d.kept = make([]bool, len(d.labels))
}

// jump sees the parameter set.
func (d *dispatcher) jump(n int) {
	if d.table < 0 || d.code[n].op != opLocalSet || n < 1 || n+1 >= len(d.code) || d.code[n-1].op != opI32Const ||
		d.code[n+1].op != opBr || d.meant(d.code[n+1].index) != d.loop {
		d.bad = true
		return
	}
	b := min(uint64(uint32(d.code[n-1].constant)), uint64(len(d.labels)-1)) //nolint:gosec // as the table takes it
	for label := range len(d.frames) {
		if d.frames[len(d.frames)-1-label] == d.targets[b] && d.code[d.targets[b]].op == opBlock {
			d.jumps = append(d.jumps, jump{n - 1, uint64(label), d.targets[b]})
			return
		}
	}
	d.kept[b] = true
}

func (d *dispatcher) edit() {
	for _, j := range d.jumps {
		d.instead[j.at], d.instead[j.at+1] = nil, nil
		d.instead[j.at+2] = appendUnsigned([]byte{opBr}, j.label)
		if n := j.at; n+3 < len(d.code) && d.code[n-1].op == opIf && d.code[n+3].op == opEnd && j.label > 0 && d.body[d.code[n-1].from+1] == blockVoid {
			d.instead[n-1] = appendUnsigned([]byte{opBrIf}, j.label-1)
			d.instead[n+2], d.instead[n+3] = nil, nil
		}
	}
	if d.base > 0 {
		d.before[d.table-1] = nil
		d.instead[d.table-1], d.instead[d.table] = nil, append(d.tree(), opUnreachable)
		return
	}
	// Numbers that are left out lead to code that traps.
	table := appendUnsigned([]byte{opBrTable}, uint64(len(d.labels)-1)) //nolint:gosec // it has one at least
	for b, label := range d.labels {
		if d.kept[b] {
			label++
		} else {
			label = 0
		}
		table = appendUnsigned(table, label)
	}
	d.before[d.table-1] = []byte{opBlock, blockVoid}
	d.instead[d.table] = append(table, opEnd, opUnreachable)
}

// entries is how many numbers stand for the function's beginning: the first, and those of
// calls before anything else that never return, such as one that panics.
func (d *dispatcher) entries() int {
	n := 1
	for n < len(d.labels) && d.labels[n] == d.labels[0] {
		n++
	}
	return n
}

// tree returns comparisons in the place of the table: the engine forgets at a table's targets
// what it knows of addresses. Most often a function is entered at its beginning.
func (d *dispatcher) tree() []byte {
	entries := d.entries()
	if len(d.labels) <= entries { // all numbers lead there
		return appendUnsigned([]byte{opBr}, d.labels[0])
	}
	begin := appendSigned([]byte{opLocalGet, dispatchedWith, opI32Const}, int64(entries))
	begin = appendUnsigned(append(begin, opI32LtU, opBrIf), d.labels[0])
	var kept []int
	for b := entries; b < len(d.labels); b++ {
		if d.kept[b] {
			kept = append(kept, b)
		}
	}
	return d.branch(begin, kept, 0)
}

// leaves is how many numbers are compared one after the other.
const leaves = 3

func (d *dispatcher) branch(b []byte, kept []int, depth uint64) []byte {
	number := func(k int, op byte) {
		b = append(b, opLocalGet, dispatchedWith, opI32Const)
		b = append(appendSigned(b, int64(k)), op)
	}
	if len(kept) <= leaves {
		for _, k := range kept {
			op := byte(opI32Eq)
			if k == len(d.labels)-1 { // and all others
				op = opI32GeU
			}
			number(k, op)
			b = appendUnsigned(append(b, opBrIf), d.labels[k]+depth)
		}
		return b
	}
	half := len(kept) / 2
	number(kept[half], opI32LtU)
	b = d.branch(append(b, opIf, blockVoid), kept[:half], depth+1)
	b = d.branch(append(b, opElse), kept[half:], depth+1)
	return append(b, opEnd)
}
