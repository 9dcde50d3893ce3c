package meter_test

import (
	"encoding/binary"
	"slices"
)

// The tests write modules as lists of sections, and bodies as bytes with the
// names below. join takes bytes, small ints (as unsigned LEB128), strings (with
// their length before them) and byte slices (as they are).

const (
	i32, i64, f64, v128, funcref, externref = 0x7f, 0x7e, 0x7c, 0x7b, 0x70, 0x6f

	void = 0x40

	unreachable, block, loop, if_, else_, end         = 0x00, 0x02, 0x03, 0x04, 0x05, 0x0b
	br, brIf, brTable, return_, call, callIndirect    = 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11
	drop, selectT                                     = 0x1a, 0x1c
	localGet, localSet, localTee, globalGet           = 0x20, 0x21, 0x22, 0x23
	globalSet, tableGet, tableSet                     = 0x24, 0x25, 0x26
	i32Load, i32Load8, i32Store, memorySize           = 0x28, 0x2d, 0x36, 0x3f
	i64Load, i64Store                                 = 0x29, 0x37
	memoryGrow, i32Const, i64Const, f64Const          = 0x40, 0x41, 0x42, 0x44
	i32Eqz, i32LtU, i32Add, i32Sub, i32Mul, i32DivS   = 0x45, 0x49, 0x6a, 0x6b, 0x6c, 0x6d
	i64Add, i64DivS, i32Wrap, refNull, refIs, refFunc = 0x7c, 0x7f, 0xa7, 0xd0, 0xd1, 0xd2
	misc, vec                                         = 0xfc, 0xfd
	i32And, i32Or, i32Shl, i64Or                      = 0x71, 0x72, 0x74, 0x84
)

type num uint32  // an unsigned LEB128 where a plain int would be a byte
type snum int64  // a signed LEB128
type body []byte // a function body without its length

func join(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case byte:
			b = append(b, p)
		case int:
			if p > 255 {
				panic("use num")
			}
			b = append(b, byte(p))
		case num:
			b = binary.AppendUvarint(b, uint64(p))
		case snum:
			b = appendSigned(b, int64(p))
		case string:
			b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
		case []byte:
			b = append(b, p...)
		case body:
			b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
		case [][]byte:
			b = binary.AppendUvarint(b, uint64(len(p)))
			for _, e := range p {
				b = append(b, e...)
			}
		default:
			panic("join: unknown type")
		}
	}
	return b
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

func repeat(n int, parts ...any) []byte { return slices.Repeat(join(parts...), n) }

// list is a vector of entries.
func list(entries ...[]byte) [][]byte { return entries }

func section(id byte, content ...any) []byte { return join(id, string(join(content...))) }

func wasm(sections ...[]byte) []byte {
	return append([]byte("\x00asm\x01\x00\x00\x00"), slices.Concat(sections...)...)
}

func types(entries ...[]byte) []byte { return section(1, list(entries...)) }

func sig(params, results []byte) []byte { return join(0x60, string(params), string(results)) }

func tt(t ...byte) []byte { return t }

func imports(entries ...[]byte) []byte { return section(2, list(entries...)) }

func functions(typeIndices ...byte) []byte { return section(3, string(typeIndices)) }

func table(minimum int) []byte { return section(4, 1, funcref, 0, num(minimum)) }

func memory(pages int) []byte { return section(5, 1, 0, num(pages)) }

func globals(entries ...[]byte) []byte { return section(6, list(entries...)) }

// exports takes pairs of name and function index.
func exports(pairs ...any) []byte {
	var entries [][]byte
	for i := 0; i < len(pairs); i += 2 {
		entries = append(entries, join(pairs[i], 0, num(pairs[i+1].(int))))
	}
	return section(7, entries)
}

// code takes bodies without locals, or fn's results.
func code(bodies ...body) []byte {
	var entries [][]byte
	for _, b := range bodies {
		entries = append(entries, join(b))
	}
	return section(10, entries)
}

// fn is a body; locals are groups of a count and a type each.
func fn(locals [][]byte, parts ...any) body { return join(locals, join(parts...), end) }

func elements(entries ...[]byte) []byte { return section(9, list(entries...)) }

func data(entries ...[]byte) []byte { return section(11, list(entries...)) }

// at is an active data segment.
func at(offset int, content string) []byte {
	return join(0, i32Const, snum(offset), end, content)
}

// one is a module with one exported function "run" of the given type.
func one(params, results []byte, locals [][]byte, parts ...any) []byte {
	return wasm(types(sig(params, results)), functions(0), table(4), memory(1), exports("run", 0), code(fn(locals, parts...)))
}

// placed is a section of an assembled module.
type placed struct {
	id         byte
	start, end int
}

// splitSections finds the sections of a module whose sections are well formed.
func splitSections(code []byte) (list []placed) {
	for pos := 8; pos < len(code); {
		size, n := binary.Uvarint(code[pos+1:])
		end := pos + 1 + n + int(size)
		list = append(list, placed{code[pos], pos, end})
		pos = end
	}
	return list
}

// withoutCustom drops custom sections.
func withoutCustom(code []byte) []byte {
	out := slices.Clone(code[:8])
	for _, s := range splitSections(code) {
		if s.id != 0 {
			out = append(out, code[s.start:s.end]...)
		}
	}
	return out
}
