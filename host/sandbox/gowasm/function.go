package gowasm

// stackPointer is, in a function that Go has compiled, the local that has a copy of
// the stack pointer, which is the first global.
const stackPointer = 1

// function is one that is rewritten.
type function struct {
	body   []byte
	locals uint64 // with the two that every function has, see readFunction
	groups uint64 // declarations of locals
	// declared is where the declarations begin, without their number.
	declared int
	code     []instruction

	before  map[int][]byte // what is put before an instruction
	instead map[int][]byte // and in the place of one
	more    []byte         // types of further locals, each of which is an i32
	zero    uint64         // a local that is always 0; 0: none
	base    uint64         // a local from which the whole frame is reached; 0: none
	checked bool           // compare that local with the stack pointer after each call
}

// readFunction reads the body of a function that has the one parameter of Go's.
func readFunction(body []byte) (*function, error) {
	f := &function{body: body, locals: 1, before: map[int][]byte{}, instead: map[int][]byte{}}
	c := &cursor{buf: body}
	f.groups = c.unsigned()
	f.declared = c.pos
	for i := uint64(0); i < f.groups && c.err == nil; i++ {
		f.locals += c.unsigned()
		c.byte()
	}
	for c.err == nil && c.pos < len(body) {
		f.code = append(f.code, c.next())
	}
	return f, c.err
}

// compiled reports whether this is how Go's functions begin: with a copy of the stack
// pointer.
func (f *function) compiled() bool {
	return len(f.code) > 2 && f.code[0].op == opGlobalGet && f.code[0].index == 0 &&
		f.code[1].op == opLocalSet && f.code[1].index == stackPointer
}

// narrow makes loads and stores share addresses.
func (f *function) narrow() {
	a := &analysis{function: f, set: map[uint64]int{}}
	a.run()
	a.edit()
}

func (f *function) written() []byte {
	groups := f.groups
	if len(f.more) > 0 {
		groups++
	}
	out := appendUnsigned(nil, groups)
	out = append(out, f.body[f.declared:f.code[0].from]...)
	if n := len(f.more); n > 0 {
		out = append(appendUnsigned(out, uint64(n)), typeI32)
	}
	for n, i := range f.code {
		out = append(out, f.before[n]...)
		if other, ok := f.instead[n]; ok {
			out = append(out, other...)
			continue
		}
		out = append(out, f.body[i.from:i.to]...)
	}
	return out
}

// newLocal returns another local.
func (f *function) newLocal() uint64 {
	f.more = append(f.more, typeI32)
	return f.locals + uint64(len(f.more)) - 1
}
