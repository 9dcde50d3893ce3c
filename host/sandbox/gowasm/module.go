package gowasm

import (
	"encoding/binary"
	"fmt"
)

// goType is the type of the functions that Go compiles: where to begin, and whether to unwind.
const goType = "\x60\x01\x7f\x01\x7f"

// module is what is known of one.
type module struct {
	sections []section
	types    []bool   // whether a function type is that of Go's functions
	funcs    []uint64 // types of the functions that have code
	bodies   [][]byte
	known    addresses
}

type section struct {
	id    byte
	whole []byte
	body  []byte
}

// Shrink returns a module that does the same as one that Go has compiled, and becomes
// less native code. Functions that don't look like Go's stay as they are.
//
// # Errors
//
// The module is damaged, or has instructions that Go doesn't use.
func Shrink(wasm []byte) ([]byte, error) { return shrink(wasm, false) }

// shrink does it; checked has the result trap when a stack pointer isn't what it is taken
// for.
func shrink(wasm []byte, checked bool) ([]byte, error) {
	m, err := readModule(wasm)
	if err != nil {
		return nil, err
	}
	m.compact()
	out := []byte(preamble)
	for _, s := range m.sections {
		if s.id != secCode {
			out = append(out, s.whole...)
			continue
		}
		code, err := m.rewriteCode(checked)
		if err != nil {
			return nil, err
		}
		out = append(appendUnsigned(append(out, s.id), uint64(len(code))), code...)
	}
	return out, nil
}

func readModule(wasm []byte) (*module, error) {
	if len(wasm) < len(preamble) || string(wasm[:len(preamble)]) != preamble {
		return nil, errDamaged
	}
	m := &module{known: addresses{}}
	c := &cursor{buf: wasm, pos: len(preamble)}
	for c.err == nil && c.pos < len(wasm) {
		start := c.pos
		id := c.byte()
		size := c.unsigned()
		body := c.pos
		c.skip(size)
		if c.err != nil {
			break
		}
		s := section{id, wasm[start:c.pos], wasm[body:c.pos]}
		m.sections = append(m.sections, s)
		if err := m.read(s); err != nil {
			return nil, err
		}
	}
	if len(m.funcs) != len(m.bodies) {
		return nil, errDamaged
	}
	return m, c.err
}

func (m *module) read(s section) error {
	c := &cursor{buf: s.body}
	switch s.id {
	case secType:
		for n := c.unsigned(); n > 0 && c.err == nil; n-- {
			from := c.pos
			c.skip(1)
			c.skip(c.unsigned())
			c.skip(c.unsigned())
			m.types = append(m.types, string(s.body[from:c.pos]) == goType)
		}
	case secFunction:
		for n := c.unsigned(); n > 0 && c.err == nil; n-- {
			m.funcs = append(m.funcs, c.unsigned())
		}
	case secCode:
		for n := c.unsigned(); n > 0 && c.err == nil; n-- {
			size := c.unsigned()
			from := c.pos
			c.skip(size)
			m.bodies = append(m.bodies, s.body[from:c.pos])
		}
	case secData: // none is to be expected there
		for n := 0; n+8 <= len(s.body); n++ {
			m.known.add(binary.LittleEndian.Uint64(s.body[n:]), uint64(len(m.bodies)))
		}
	}
	return c.err
}

func (m *module) rewriteCode(checked bool) ([]byte, error) {
	out := appendUnsigned(nil, uint64(len(m.bodies)))
	for _, body := range m.bodies {
		f, err := readFunction(body)
		if err != nil {
			return nil, err
		}
		f.addresses(m.known, uint64(len(m.bodies)))
	}
	for n, body := range m.bodies {
		if t := m.funcs[n]; t < uint64(len(m.types)) && m.types[t] {
			f, err := readFunction(body)
			if err != nil {
				return nil, fmt.Errorf("function %d: %w", n, err)
			}
			if f.compiled() {
				f.checked = checked
				f.frames(m.known[uint64(n)])
				base := f.base
				if f, err = readFunction(f.written()); err != nil {
					return nil, fmt.Errorf("function %d: %w", n, err)
				}
				f.base = base
				f.straighten(m.known[uint64(n)])
				if f, err = readFunction(f.written()); err != nil {
					return nil, fmt.Errorf("function %d: %w", n, err)
				}
				f.narrow()
				body = f.written()
			}
		}
		out = append(appendUnsigned(out, uint64(len(body))), body...)
	}
	return out, nil
}

// addresses finds the code addresses that a function has. Where a call returns to also
// stands for the number before it: a function that recovers from a panic goes on before
// its call of what runs deferred functions.
func (f *function) addresses(known addresses, functions uint64) {
	for _, i := range f.code {
		if i.op == opI64Const && i.constant > 0 {
			known.add(uint64(i.constant), functions)
			known.add(uint64(i.constant)-1, functions)
		}
	}
}
