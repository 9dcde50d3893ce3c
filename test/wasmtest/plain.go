package wasmtest

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
)

// plain assembles an instruction that isn't a block, with its immediates.
func (f *funcBody) plain(n node, rest []node) ([]node, error) {
	op, ok := opcodes[n.atom]
	if !ok {
		return nil, n.errorf("unknown instruction %q", n.atom)
	}
	f.out = append(f.out, op.code...)
	switch op.imm {
	case immNone:
		return rest, nil
	case immZero:
		f.out = append(f.out, 0)
		return rest, nil
	case immZeros:
		f.out = append(f.out, 0, 0)
		return rest, nil
	case immMemarg:
		return f.memarg(rest)
	case immLabels:
		return f.brTable(n, rest)
	case immIndirect:
		return f.indirect(rest)
	case immTable:
		return f.tables(rest, 1)
	case immTables:
		return f.tables(rest, 2)
	case immElem:
		return f.tableInit(n, rest)
	}
	if len(rest) == 0 {
		return nil, n.errorf("%s needs more", n.atom)
	}
	return rest[1:], f.one(op.imm, rest[0])
}

// one assembles a single immediate.
func (f *funcBody) one(imm immediate, n node) (err error) {
	var index uint32
	switch imm {
	case immLocal:
		index, err = f.m.index(f.locals, n)
	case immGlobal:
		index, err = f.m.index(f.m.names["global"], n)
	case immFunc:
		index, err = f.m.index(f.m.names["func"], n)
	case immLabel:
		index, err = f.label(n)
	case immData, immDataOnly:
		index, err = f.m.index(f.m.names["data"], n)
	case immElemOnly:
		index, err = f.m.index(f.m.names["elem"], n)
	case immRefType:
		f.out = append(f.out, valueTypes[n.atom])
		return nil
	default:
		return f.constant(imm, n)
	}
	f.out = append(f.out, leb(index)...)
	if imm == immData {
		f.out = append(f.out, 0)
	}
	return err
}

func (f *funcBody) constant(imm immediate, n node) error {
	text := strings.ReplaceAll(n.atom, "_", "")
	switch imm {
	case immI32, immI64:
		bits := map[immediate]int{immI32: 32, immI64: 64}[imm]
		v, err := strconv.ParseInt(text, 0, bits)
		if err != nil {
			var u uint64
			if u, err = strconv.ParseUint(text, 0, bits); err != nil {
				return n.errorf("%q is not a number of %d bits", n.atom, bits)
			}
			v = int64(u<<(64-bits)) >> (64 - bits)
		}
		f.out = append(f.out, sleb(v)...)
	case immF32, immF64:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return n.errorf("%q is not a number", n.atom)
		}
		if imm == immF32 {
			f.out = binary.LittleEndian.AppendUint32(f.out, math.Float32bits(float32(v)))
		} else {
			f.out = binary.LittleEndian.AppendUint64(f.out, math.Float64bits(v))
		}
	}
	return nil
}

func (f *funcBody) memarg(rest []node) ([]node, error) {
	var align, offset uint32
	for len(rest) > 0 {
		key, value, ok := strings.Cut(rest[0].atom, "=")
		if !ok || rest[0].isList() {
			break
		}
		v, err := strconv.ParseUint(value, 0, 32)
		if err != nil {
			return nil, rest[0].errorf("%v", err)
		}
		switch key {
		case "offset":
			offset = uint32(v)
		case "align":
			for ; v > 1; v >>= 1 {
				align++
			}
		}
		rest = rest[1:]
	}
	f.out = append(append(f.out, leb(align)...), leb(offset)...)
	return rest, nil
}

// brTable takes every label there is; the last is the default.
func (f *funcBody) brTable(n node, rest []node) ([]node, error) {
	var depths []uint32
	for len(rest) > 0 && !rest[0].isList() && isIndex(rest[0]) {
		depth, err := f.label(rest[0])
		if err != nil {
			return nil, err
		}
		depths, rest = append(depths, depth), rest[1:]
	}
	if len(depths) == 0 {
		return nil, n.errorf("br_table needs a label")
	}
	f.out = append(f.out, leb(uint32(len(depths)-1))...)
	for _, d := range depths {
		f.out = append(f.out, leb(d)...)
	}
	return rest, nil
}

func (f *funcBody) indirect(rest []node) ([]node, error) {
	table, rest, err := f.m.optional("table", rest)
	if err != nil {
		return nil, err
	}
	sig, rest, err := f.m.signature(rest)
	if err != nil {
		return nil, err
	}
	f.out = append(append(f.out, leb(f.m.typeOf(sig))...), leb(table)...)
	return rest, nil
}

func (f *funcBody) tables(rest []node, n int) ([]node, error) {
	for range n {
		table, after, err := f.m.optional("table", rest)
		if err != nil {
			return nil, err
		}
		f.out = append(f.out, leb(table)...)
		rest = after
	}
	return rest, nil
}

// tableInit is table.init $table $elem, or with the segment alone.
func (f *funcBody) tableInit(n node, rest []node) ([]node, error) {
	if len(rest) == 0 {
		return nil, n.errorf("table.init needs a segment")
	}
	var table uint32
	if len(rest) > 1 && !rest[1].isList() && isIndex(rest[1]) {
		var err error
		if table, rest, err = f.m.optional("table", rest); err != nil {
			return nil, err
		}
	}
	elem, err := f.m.index(f.m.names["elem"], rest[0])
	f.out = append(append(f.out, leb(elem)...), leb(table)...)
	return rest[1:], err
}

// isIndex tells an index or a name from the next instruction.
func isIndex(n node) bool {
	return n.atom != "" && !n.str && (n.atom[0] == '$' || n.atom[0] >= '0' && n.atom[0] <= '9')
}
