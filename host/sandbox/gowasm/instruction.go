package gowasm

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Opcodes and other bytes of the format: core specification 2.0, chapter 5.
const (
	secType      = 1
	secFunction  = 3
	secCode      = 10
	secData      = 11
	secDataCount = 12

	opUnreachable  = 0x00
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opDrop         = 0x1a
	opSelect       = 0x1b
	opLocalGet     = 0x20
	opLocalSet     = 0x21
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opI32Load      = 0x28
	opI32Load8U    = 0x2d
	opI64Load      = 0x29
	opI64Load32U   = 0x35
	opI32Store     = 0x36
	opI64Store32   = 0x3e
	opMemorySize   = 0x3f
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opI32Eq        = 0x46
	opI32Ne        = 0x47
	opI32LtU       = 0x49
	opI32GeU       = 0x4f
	opI32Add       = 0x6a
	opI32Sub       = 0x6b
	opI64Add       = 0x7c
	opI64Sub       = 0x7d
	opI64Mul       = 0x7e
	opI64And       = 0x83
	opI64Shl       = 0x86
	opI64ShrU      = 0x88
	opI32WrapI64   = 0xa7
	opI64ExtendU   = 0xad
	opPrefixFC     = 0xfc

	typeI32   = 0x7f
	typeI64   = 0x7e
	blockVoid = 0x40
)

const preamble = "\x00asm\x01\x00\x00\x00"

var errDamaged = errors.New("the module is damaged")

// cursor reads a module; what lies beyond its end is an error, kept until the end.
type cursor struct {
	buf []byte
	pos int
	err error
}

func (c *cursor) byte() byte {
	if c.pos >= len(c.buf) {
		c.err = errDamaged
		return 0
	}
	c.pos++
	return c.buf[c.pos-1]
}

func (c *cursor) skip(n uint64) {
	if n > uint64(len(c.buf)-c.pos) { //nolint:gosec // not negative
		c.err, c.pos = errDamaged, len(c.buf)
		return
	}
	c.pos += int(n) //nolint:gosec // bounded above
}

func (c *cursor) unsigned() uint64 {
	v, n := binary.Uvarint(c.buf[c.pos:])
	if n <= 0 {
		c.err, c.pos = errDamaged, len(c.buf)
		return 0
	}
	c.pos += n
	return v
}

func (c *cursor) signed() (v int64) {
	for shift := 0; c.err == nil && shift < 70; shift += 7 {
		b := c.byte()
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			break
		}
	}
	return v
}

// instruction is one of a function, and which bytes of its body it takes.
type instruction struct {
	op       byte
	sub      uint64 // after opPrefixFC
	index    uint64 // of a local, global or function; of a label, in a table the largest
	constant int64  // of i32.const and i64.const
	offset   uint64 // of a load or store
	from, to int
}

func (i instruction) loads() bool  { return i.op >= opI32Load && i.op <= opI64Load32U }
func (i instruction) stores() bool { return i.op >= opI32Store && i.op <= opI64Store32 }

// sizes of what is loaded and stored, from i32.load on.
var sizes = [...]uint64{4, 8, 4, 8, 1, 1, 2, 2, 1, 1, 2, 2, 4, 4, 4, 8, 4, 8, 1, 2, 1, 2, 4}

// size is how many bytes a load or store touches.
func (i instruction) size() uint64 { return sizes[i.op-opI32Load] }

// next reads an instruction.
func (c *cursor) next() instruction {
	i := instruction{from: c.pos}
	i.op = c.byte()
	switch op := i.op; {
	case op == opBlock || op == opLoop || op == opIf:
		c.signed()
	case op == opBr || op == opBrIf || op == opCall || op >= opLocalGet && op <= opGlobalSet:
		i.index = c.unsigned()
	case op == opBrTable:
		n := c.unsigned()
		if n >= uint64(len(c.buf)) { // one more than there is room for, or none at all
			c.err = errDamaged
		}
		for n++; c.err == nil && n > 0; n-- {
			i.index = max(i.index, c.unsigned())
		}
	case op == opCallIndirect:
		c.unsigned()
		c.unsigned()
	case i.loads() || i.stores():
		c.unsigned()
		i.offset = c.unsigned()
	case op == opMemorySize || op == opMemoryGrow:
		c.skip(1)
	case op == opI32Const || op == opI64Const:
		i.constant = c.signed()
	case op == opF32Const:
		c.skip(4)
	case op == opF64Const:
		c.skip(8)
	case op == opPrefixFC:
		switch i.sub = c.unsigned(); {
		case i.sub == 10:
			c.skip(2)
		case i.sub == 11:
			c.skip(1)
		case i.sub > 7:
			c.err = fmt.Errorf("an instruction that isn't known here: fc %x", i.sub)
		}
	case op <= 1 || op == opElse || op == opEnd || op == opReturn || op == opDrop || op == opSelect || op >= 0x45 && op <= 0xc4:
	default:
		c.err = fmt.Errorf("an instruction that isn't known here: %x", op)
	}
	i.to = c.pos
	return i
}

// effect is how many values an instruction takes from the operand stack and how many it
// leaves there; ok is false where that is for others to know, with control flow.
func (i instruction) effect() (takes, leaves int, ok bool) {
	switch op := i.op; {
	case op == 1:
		return 0, 0, true
	case op == opDrop, op == opLocalSet, op == opGlobalSet:
		return 1, 0, true
	case op == opSelect:
		return 3, 1, true
	case op == opLocalGet, op == opGlobalGet, op == opMemorySize, op >= opI32Const && op <= opF64Const:
		return 0, 1, true
	case op == opLocalTee, i.loads(), op == opMemoryGrow:
		return 1, 1, true
	case i.stores():
		return 2, 0, true
	case op == 0x45 || op == 0x50: // eqz
		return 1, 1, true
	case op <= 0x66 && op >= 0x46: // comparisons
		return 2, 1, true
	case op >= 0x67 && op <= 0x69, op >= 0x79 && op <= 0x7b, op >= 0x8b && op <= 0x91, op >= 0x99 && op <= 0x9f:
		return 1, 1, true
	case op >= 0x6a && op <= 0xa6:
		return 2, 1, true
	case op >= 0xa7 && op <= 0xc4: // conversions
		return 1, 1, true
	case op == opPrefixFC && i.sub <= 7:
		return 1, 1, true
	case op == opPrefixFC:
		return 3, 0, true
	}
	return 0, 0, false
}

func appendUnsigned(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }
