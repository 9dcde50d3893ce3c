package gowasm

// A function that Go has compiled reads the stack pointer anew after each call, so that
// the engine compares the next address that is made of it with the memory's size again: it
// can't know that the value is the same. It is, for as long as a frame isn't left. What
// moves a stack or switches to another unwinds all functions first, and enters them again
// with a number for the table; and the collector, when a goroutine collects by itself,
// doesn't shrink the stack that this one is on (isShrinkStackSafe in Go's runtime).
//
// So one value is made where a function is entered: the stack pointer as it is when the
// frame is there, less the word that a call pushes. The whole frame is reached from it, and
// the byte at its end is looked at before the table, where everything comes along. What is
// known there the engine keeps, wherever several ways meet, if all of them bring the same
// value, which they don't through a branch table; so comparisons take its place.
//
// TestGo holds the stack pointer against the value after each call.

// maxFrame bounds the frames that are treated so: below the lowest stack is more memory.
const maxFrame = 32 << 10

// frame is what is found out of a function's frame.
type frame struct {
	*function
	size int64 // of the frame, in bytes
	// entries is how many numbers of the table stand for the function's beginning.
	entries int
	// above is how far the copy of the stack pointer is above the frame's beginning, before
	// each instruction.
	above []int64
	heads int // where the blocks begin that the table is in
	bad   bool
}

// stackSteps says how many instructions from one on change the copy of the stack pointer,
// and by how much: local.get, i32.const, i32.add or sub, local.set or tee.
func (f *function) stackSteps(n int) (by int64, ok bool) {
	c := f.code
	if n+3 >= len(c) || c[n].op != opLocalGet || c[n].index != stackPointer || c[n+1].op != opI32Const ||
		c[n+3].op != opLocalTee && c[n+3].op != opLocalSet || c[n+3].index != stackPointer {
		return 0, false
	}
	switch c[n+2].op {
	case opI32Sub:
		return -c[n+1].constant, true
	case opI32Add:
		return c[n+1].constant, true
	}
	return 0, false
}

// pushes reports whether such a step makes room for where a call returns to.
func (f *function) pushes(n int) bool {
	c := f.code
	return n+7 < len(c) && c[n+1].constant == word && c[n+2].op == opI32Sub && c[n+3].op == opLocalTee && c[n+4].op == opGlobalSet &&
		c[n+5].op == opLocalGet && c[n+5].index == stackPointer && c[n+6].op == opI64Const && c[n+7].stores()
}

// frames makes a function reach its frame from one value, if it is as Go makes them.
func (f *function) frames(known map[uint64]bool) {
	d, ok := f.dispatcher(known)
	if !ok || !f.disciplined() {
		return
	}
	fr := &frame{function: f, above: make([]int64, len(f.code)), heads: d.loop + 1}
	fr.find(d)
	if !fr.bad {
		fr.edit()
	}
}

// open is a block that is open.
type open struct {
	op    byte
	at    int
	above int64
	dead  bool // what came before an else
}

// find follows the stack pointer through the function.
func (f *frame) find(d *dispatcher) {
	begin, met, table := map[int]bool{}, map[int]bool{}, map[int]bool{}
	f.entries = d.entries()
	for k, t := range d.targets {
		table[t] = true
		switch {
		case t < 0, k >= f.entries && d.kept[k] && begin[t]: // a number that is both
			f.bad = true
			return
		case k < f.entries:
			begin[t] = true
		case d.kept[k]:
			met[t] = true
		}
	}
	for _, j := range d.jumps {
		if begin[j.to] {
			f.bad = true
			return
		}
		met[j.to] = true
	}
	f.size = f.prologue(d, met)
	if f.size < 0 || f.size > maxFrame {
		f.bad = true
		return
	}
	above, dead := f.size, false
	var stack []open
	left, pushed := false, false
	for n := 2; n < len(f.code) && !f.bad; n++ {
		i := f.code[n]
		f.above[n] = above
		switch i.op {
		case opBlock, opLoop, opIf:
			stack = append(stack, open{op: i.op, at: n, above: above})
		case opElse:
			if len(stack) == 0 {
				f.bad = true
				break
			}
			o := &stack[len(stack)-1]
			o.op = opElse
			begins := o.above
			o.above, o.dead = above, dead
			above, dead = begins, false
		case opEnd:
			if len(stack) == 0 {
				break // the function's
			}
			o := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			switch {
			case begin[o.at]:
				above, dead = f.size, false
			case met[o.at]:
				f.bad = f.bad || !dead && above != 0
				above, dead = 0, false
			case table[o.at]: // nobody comes to it but from before
			case o.op == opIf:
				if !dead && above != o.above {
					f.bad = true
				}
				above, dead = o.above, false
			case o.op == opElse:
				switch {
				case dead:
					above, dead = o.above, o.dead
				case !o.dead && above != o.above:
					f.bad = true
				}
			case len(stack) == 0:
				left = true
			default: // whoever branches there does so with a frame
				f.bad = f.bad || !dead && above != 0
				above, dead = 0, false
			}
		case opBr, opBrIf:
			// Behind the function's own block nothing of the frame is looked at.
			leaves := i.index+1 >= uint64(len(stack))
			f.bad = f.bad || above != 0 && !leaves && !dead
			dead = dead || i.op == opBr
		case opReturn, opUnreachable, opBrTable:
			dead = true
		case opGlobalGet:
			if i.index != 0 {
				break
			}
			before := f.code[n-1].op
			if before != opCall && before != opCallIndirect || n+1 >= len(f.code) || f.code[n+1].op != opLocalSet || f.code[n+1].index != stackPointer {
				f.bad = true
				break
			}
			if pushed { // that is gone; write barriers are called without
				above, pushed = above+word, false
			}
			f.above[n+1] = above
			n++
		case opLocalGet:
			if by, ok := f.stackSteps(n); ok {
				for k := n; k < n+4; k++ {
					f.above[k] = above
				}
				pushed = f.pushes(n)
				above += by
				n += 3
			}
		case opLocalSet, opLocalTee:
			f.bad = f.bad || i.index == stackPointer
		}
		if left && (i.op == opLocalGet && i.index == stackPointer || i.op == opGlobalGet && i.index == 0) {
			f.bad = true // the frame is gone
		}
	}
}

// prologue returns how large the frame is: what the stack pointer is lowered by before
// anything that a call is resumed at, but for calls.
func (f *frame) prologue(d *dispatcher, met map[int]bool) int64 {
	var stack []int
	for n := d.loop; n < len(f.code); n++ {
		switch f.code[n].op {
		case opBlock, opLoop, opIf:
			stack = append(stack, n)
		case opEnd:
			if len(stack) == 0 {
				return 0
			}
			if met[stack[len(stack)-1]] {
				return 0
			}
			stack = stack[:len(stack)-1]
		case opLocalGet:
			if by, ok := f.stackSteps(n); ok && !f.pushes(n) && by < 0 {
				return -by
			}
		}
	}
	return 0
}

// edit makes the one value, and everything of it.
func (f *frame) edit() {
	f.base = f.newLocal()
	f.same()
	a := &analysis{function: f.function, set: map[uint64]int{}}
	a.run()
	end := uint64(0)
	accessed := map[int]bool{}
	for n, g := range a.groups {
		if a.kinds[n] != baseStack {
			continue
		}
		for _, acc := range g.list {
			add := f.above[acc.from] + word + int64(acc.add) //nolint:gosec // bounded by maxOffset
			if add < 0 {
				continue
			}
			acc.add = uint64(add)
			end = max(end, acc.end(f.code))
			f.replaceBase(acc)
			a.widen(acc)
			for k := acc.from; k <= acc.to; k++ {
				accessed[k] = true
			}
		}
	}
	for n := 2; n < len(f.code); n++ {
		i := f.code[n]
		switch {
		case accessed[n]:
		case i.op == opGlobalGet && i.index == 0: // after a call
			f.instead[n], f.instead[n+1] = nil, nil
			n++
			if f.checked {
				f.check(n + 1)
			}
		case i.op == opLocalGet && i.index == stackPointer:
			if by, ok := f.stackSteps(n); ok {
				var value []byte
				if f.code[n+3].op == opLocalTee {
					value = f.value(f.above[n] + by)
				}
				f.instead[n], f.instead[n+1], f.instead[n+2], f.instead[n+3] = value, nil, nil, nil
				n += 3
				continue
			}
			if c := f.code; n+3 < len(c) && c[n+1].op == opI64ExtendU && c[n+2].op == opI64Const && c[n+3].op == opI64Add &&
				c[n+2].constant >= 0 && c[n+2].constant < maxOffset && f.above[n]+word >= 0 {
				f.instead[n] = get(f.base)
				f.instead[n+2] = appendSigned([]byte{opI64Const}, c[n+2].constant+f.above[n]+word)
				n += 3
				continue
			}
			f.instead[n] = f.value(f.above[n])
		}
	}
	f.begin(end)
}

// same sets the base to itself wherever several ways meet. That is nothing, but the engine,
// which finds out there that all of them bring the same value, gives it another name else.
func (f *frame) same() {
	depth := 0
	for n, i := range f.code {
		switch i.op {
		case opBlock, opLoop, opIf:
			depth++
		case opEnd:
			if depth--; depth > 0 {
				f.before[n+1] = appendUnsigned(append(get(f.base), opLocalSet), f.base)
			}
		}
	}
}

// check compares the stack pointer with what it is taken for behind a call: if that unwinds,
// which its result says, when it doesn't.
func (f *frame) check(n int) {
	if n >= len(f.code) {
		return
	}
	above := f.above[n]
	if f.code[n].op == opBrIf {
		n++
	}
	b := append([]byte{opGlobalGet, 0}, f.value(above)...)
	f.before[n] = append(append(b, opI32Ne, opIf, blockVoid, opUnreachable, opEnd), f.before[n]...)
}

func (f *frame) replaceBase(acc access) {
	for n := acc.from; n <= acc.to; n++ {
		f.instead[n] = nil
	}
	f.instead[acc.from] = get(f.base)
}

// value is the stack pointer where it is so far above the frame.
func (f *frame) value(above int64) []byte {
	b := get(f.base)
	if above += word; above != 0 {
		b = append(appendSigned(append(b, opI32Const), above), opI32Add)
	}
	return b
}

// begin makes the value where the function is entered, and looks at the end of the frame
// before the table.
func (f *frame) begin(end uint64) {
	b := []byte{opGlobalGet, 0}
	b = appendSigned(append(b, opI32Const), word)
	if f.size > 0 { // it isn't there yet when the function begins
		b = appendSigned(append(b, opI32Const), f.size+word)
		b = appendSigned(append(b, opLocalGet, dispatchedWith, opI32Const), int64(f.entries))
		b = append(b, opI32GeU, opSelect)
	}
	b = append(b, opI32Sub, opLocalSet)
	f.instead[0], f.instead[1] = appendUnsigned(b, f.base), nil
	if end > 0 {
		touch := appendUnsigned(append(get(f.base), opI32Load8U, 0), end-1)
		f.before[f.heads] = append(touch, opDrop)
	}
}

func appendSigned(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
