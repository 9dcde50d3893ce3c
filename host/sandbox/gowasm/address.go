package gowasm

import (
	"encoding/binary"
	"slices"
)

// Every load and store is compared with the size of the memory, and what that takes is a
// third of the native code, unless the engine knows that the same address was good for as
// much or more. It knows addresses by the value that they are made of, so they are made of
// few values here: the stack pointer and constant distances from it, instead of sums, where
// a function isn't as frame.go needs it; a pointer that was made from a local once. Where several loads
// and stores go on from the same value, one that comes before them and whose result nobody
// uses reaches as far as any of them: nothing is left of it but the comparison.
//
// That is the same only for what Go compiles: a stack pointer plus a distance never goes
// beyond 32 bits, and a whole frame lies in memory wherever one of its words does. A load or
// store that would trap may do so before others that come first in the original.

// word is what a call puts below the stack pointer, in bytes: where it returns to.
const word = 8

// maxOffset bounds offsets that are looked at.
const maxOffset = 1 << 28

type baseKind byte

const (
	baseNone   baseKind = iota
	baseStack           // the stack pointer
	baseLocal           // a local of 64 bits
	baseStatic          // a constant
)

// access is a load or store, and what its address is made of.
type access struct {
	at       int // the instruction
	from, to int // the instructions that make the address
	kind     baseKind
	local    uint64 // whose value the base is
	add      uint64 // to the base, beside the instruction's offset
	depth    int    // of conditions
	straight int    // the piece of code that is run as a whole or not at all
}

func (a access) end(code []instruction) uint64 {
	return a.add + code[a.at].offset + code[a.at].size()
}

// group is the accesses that have the same base with the same value, which the first
// instruction of the group comes before.
type group struct {
	begins int
	depth  int
	list   []access
}

// state is what is known at some place.
type state struct {
	groups map[uint64]int // of locals, by the local: index into analysis.groups
	static int            // index + 1
}

func (s state) clone() state {
	groups := make(map[uint64]int, len(s.groups))
	for k, v := range s.groups {
		groups[k] = v
	}
	return state{groups, s.static}
}

// scope is a block that is open.
type scope struct {
	op     byte
	state  state // of an if: where it begins
	target bool  // something branches to it
}

// analysis finds the groups of a function.
type analysis struct {
	*function
	groups []group
	kinds  []baseKind
	state  state
	scopes []scope
	depth  int
	stack  []int          // which instruction has made what is on the operand stack
	set    map[uint64]int // which instruction has set a local last, since control flow
	// straight numbers pieces of code without any control flow.
	straight int
	dead     bool
}

func (a *analysis) run() {
	a.restart(0)
	for n, i := range a.code {
		takes, leaves, ok := i.effect()
		if !ok {
			a.control(n, i)
			continue
		}
		if i.loads() || i.stores() {
			a.access(n, i)
		}
		a.stack = a.stack[:max(0, len(a.stack)-takes)]
		for range leaves {
			a.stack = append(a.stack, n)
		}
		if i.op == opLocalSet || i.op == opLocalTee {
			a.set[i.index] = n
			delete(a.state.groups, i.index)
			if i.index == stackPointer {
				a.begin(stackPointer, baseStack, n+1)
			}
		}
	}
}

// restart forgets all that was known before an instruction.
func (a *analysis) restart(n int) {
	a.state = state{groups: map[uint64]int{}}
	a.begin(stackPointer, baseStack, n)
}

func (a *analysis) begin(local uint64, kind baseKind, n int) int {
	a.state.groups[local] = len(a.groups)
	return a.newGroup(kind, n)
}

func (a *analysis) newGroup(kind baseKind, n int) int {
	a.groups = append(a.groups, group{begins: n, depth: a.depth})
	a.kinds = append(a.kinds, kind)
	return len(a.groups) - 1
}

func (a *analysis) control(n int, i instruction) {
	a.stack = a.stack[:0]
	clear(a.set)
	a.straight++
	switch i.op {
	case opIf:
		a.scopes = append(a.scopes, scope{op: i.op, state: a.state.clone()})
		a.depth++
	case opBlock:
		a.scopes = append(a.scopes, scope{op: i.op})
	case opLoop:
		a.scopes = append(a.scopes, scope{op: i.op})
		a.restart(n + 1)
	case opElse:
		if len(a.scopes) == 0 {
			break // no valid module has it
		}
		s := &a.scopes[len(a.scopes)-1]
		a.state = s.state.clone()
		s.op = opElse
	case opEnd:
		if len(a.scopes) == 0 {
			break // the function's
		}
		s := a.scopes[len(a.scopes)-1]
		a.scopes = a.scopes[:len(a.scopes)-1]
		if s.op == opIf || s.op == opElse {
			a.depth--
		}
		if s.op == opIf && a.dead && !s.target {
			a.state = s.state
		} else {
			a.restart(n + 1)
		}
	case opCall, opCallIndirect:
		a.restart(n + 1)
	case opBr, opBrIf:
		a.target(i.index, i.index)
	case opBrTable:
		a.target(0, i.index)
	}
	a.dead = i.op == opBr || i.op == opBrTable || i.op == opReturn || i.op == opUnreachable
}

// target sees branches to some labels.
func (a *analysis) target(from, to uint64) {
	for label := from; label <= to && label < uint64(len(a.scopes)); label++ {
		a.scopes[len(a.scopes)-1-int(label)].target = true //nolint:gosec // bounded above
	}
}

// access sees a load or store.
func (a *analysis) access(n int, i instruction) {
	a.dead = false
	below := 1
	if i.stores() {
		below = 2
	}
	if len(a.stack) < below || i.offset > maxOffset {
		return
	}
	acc := a.address(a.stack[len(a.stack)-below])
	if acc.kind == baseNone || acc.kind != baseStatic && a.set[acc.local] > acc.from {
		return // the local has another value by now
	}
	acc.at, acc.depth, acc.straight = n, a.depth, a.straight
	var g int
	switch acc.kind {
	case baseStack:
		g = a.state.groups[stackPointer]
	case baseLocal:
		var ok bool
		if g, ok = a.state.groups[acc.local]; !ok {
			g = a.begin(acc.local, baseLocal, acc.from)
		}
	case baseStatic:
		if a.state.static == 0 {
			a.state.static = a.newGroup(baseStatic, acc.from) + 1
		}
		g = a.state.static - 1
	}
	a.groups[g].list = append(a.groups[g].list, acc)
}

// address finds out what an address is made of that was left by an instruction.
func (a *analysis) address(n int) access {
	c := a.code
	is := func(back int, op byte) bool { return n >= back && c[n-back].op == op }
	switch {
	case is(0, opLocalGet) && c[n].index == stackPointer:
		return access{from: n, to: n, kind: baseStack, local: stackPointer}
	case !is(0, opI32WrapI64):
	case is(1, opI64Add) && is(2, opI64Const) && is(3, opI64ExtendU) && is(4, opLocalGet) && c[n-4].index == stackPointer &&
		c[n-2].constant >= 0 && c[n-2].constant < maxOffset:
		return access{from: n - 4, to: n, kind: baseStack, local: stackPointer, add: uint64(c[n-2].constant)}
	case is(1, opLocalGet):
		return access{from: n - 1, to: n, kind: baseLocal, local: c[n-1].index}
	case is(1, opI64Const) && c[n-1].constant >= 0 && c[n-1].constant < maxOffset:
		return access{from: n - 1, to: n, kind: baseStatic, add: uint64(c[n-1].constant)}
	}
	return access{}
}

// edit changes the code.
func (a *analysis) edit() {
	var static uint64
	for n, g := range a.groups {
		if a.kinds[n] == baseStatic {
			for _, acc := range g.list {
				static = max(static, acc.end(a.code))
			}
		}
	}
	for n := range a.groups { // a store's address comes before what is stored, and the loads that are in that
		slices.SortFunc(a.groups[n].list, func(a, b access) int { return a.from - b.from })
	}
	words := map[uint64]uint64{} // the locals that have the low half of others
	for n, g := range a.groups {
		if len(g.list) == 0 {
			continue
		}
		switch a.kinds[n] {
		case baseStack:
			a.editStack(g)
		case baseStatic:
			if a.zero == 0 {
				a.zero = a.newLocal()
			}
			if len(g.list) > 1 || g.list[0].end(a.code) < static {
				a.touch(g.list[0].from, a.zero, static)
			}
			for _, acc := range g.list {
				a.replace(acc, get(a.zero))
			}
		case baseLocal:
			a.editLocal(g, words)
		}
	}
}

func get(local uint64) []byte { return appendUnsigned([]byte{opLocalGet}, local) }

// touch loads the byte before an end, so that what is up to there is known to exist.
func (a *analysis) touch(before int, local, end uint64) {
	b := appendUnsigned(append(get(local), opI32Load8U, 0), end-1)
	a.before[before] = append(append(b, opDrop), a.before[before]...)
}

// replace makes an access have another base.
func (a *analysis) replace(acc access, base []byte) {
	a.replaceBase(acc, base)
	a.widen(acc)
}

func (a *analysis) replaceBase(acc access, base []byte) {
	for n := acc.from; n <= acc.to; n++ {
		a.instead[n] = nil
	}
	a.instead[acc.from] = base
}

// widen adds to the offset of an access what was added to its base.
func (a *analysis) widen(acc access) {
	if acc.add == 0 {
		return
	}
	i := a.code[acc.at]
	c := &cursor{buf: a.body, pos: i.from + 1}
	align := c.unsigned()
	b := binary.AppendUvarint([]byte{i.op}, align)
	a.instead[acc.at] = binary.AppendUvarint(b, i.offset+acc.add)
}

func (a *analysis) editStack(g group) {
	end := uint64(0)
	for _, acc := range g.list {
		end = max(end, acc.end(a.code))
		a.replace(acc, get(stackPointer))
	}
	if first, at := a.first(g); first.end(a.code) < end || at != first.from {
		a.touch(at, stackPointer, end)
	}
}

// first returns the first access of a group, and which instruction all of them come after.
func (a *analysis) first(g group) (first access, at int) {
	first = slices.MinFunc(g.list, func(a, b access) int { return a.from - b.from })
	for _, acc := range g.list {
		if acc.depth < first.depth {
			return first, g.begins
		}
	}
	return first, first.from
}

// disciplined reports whether the function sets the stack pointer only to what its copy is.
func (f *function) disciplined() bool {
	for n, i := range f.code {
		if i.op != opGlobalSet || i.index != 0 {
			continue
		}
		if before := f.code[max(0, n-1)]; before.op != opLocalTee && before.op != opLocalGet || before.index != stackPointer {
			return false
		}
	}
	return true
}

func (a *analysis) editLocal(g group, words map[uint64]uint64) {
	if len(g.list) == 1 {
		return
	}
	local := g.list[0].local
	word, ok := words[local]
	if !ok {
		word = a.newLocal()
		words[local] = word
	}
	first := g.list[0]
	end := first.end(a.code)
	for _, acc := range g.list[1:] {
		if acc.straight == first.straight {
			end = max(end, acc.end(a.code))
		}
		a.replace(acc, get(word))
	}
	a.instead[first.to] = appendUnsigned([]byte{opI32WrapI64, opLocalTee}, word)
	if end > first.end(a.code) {
		b := appendUnsigned(append(a.instead[first.to], opI32Load8U, 0), end-1)
		b = append(append(b, opDrop), get(word)...)
		a.instead[first.to] = b
	}
}
