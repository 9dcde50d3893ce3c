// Package wasmtest assembles small resolver modules, for tests that need answers or faults
// that no SDK would produce: File from fixed answers, WAT from the WebAssembly text format,
// and WithSection for what neither can express.
//
// It has no state; everything in it is a value.
package wasmtest

import (
	"bytes"
	"encoding/binary"
)

// File is a module that answers describe and resolve with fixed bytes. Its
// sections are those of the WebAssembly core specification, section 5.5.
type File struct {
	// Imports are further imports, "module name", of functions i64 → i64.
	Imports []string
	// Exports are further names for a function that does nothing.
	Exports []string
	// Start makes that function the start function.
	Start bool
	// Describe is what describe answers; "" leaves the export out.
	Describe string
	// Resolve is what resolve answers.
	Resolve string
	// Endless makes resolve loop for ever instead.
	Endless bool
	// NoResolve leaves the export of resolve out.
	NoResolve bool
	// Memory is the number of pages; 0 means as many as the texts need.
	Memory uint32
}

// Types of functions, by index.
const (
	typeVoid   = iota // () → ()
	typeResult        // () → i32
	typeI64           // i64 → i64
	typeStore         // (i64, i32) → ()
	typeOutput        // (i64, i64) → ()
)

var funcTypes = [][]byte{
	{0x60, 0, 0}, {0x60, 0, 1, 0x7f}, {0x60, 1, 0x7e, 1, 0x7e}, {0x60, 2, 0x7e, 0x7f, 0}, {0x60, 2, 0x7e, 0x7e, 0},
}

// Bytes assembles the module.
func (f File) Bytes() []byte {
	imports := [][]byte{
		importEntry("extism:host/env alloc", typeI64),
		importEntry("extism:host/env store_u8", typeStore),
		importEntry("extism:host/env output_set", typeOutput),
	}
	for _, name := range f.Imports {
		imports = append(imports, importEntry(name, typeI64))
	}
	first := uint32(len(imports)) // the index of the first function defined here
	texts := []byte(f.Describe + f.Resolve)
	bodies := [][]byte{
		{0, 0x0b}, // nothing
		answerBody(0, uint32(len(f.Describe))),
		answerBody(uint32(len(f.Describe)), uint32(len(f.Resolve))),
	}
	if f.Endless {
		bodies[2] = []byte{0, 0x03, 0x40, 0x0c, 0, 0x0b, 0x41, 0, 0x0b} // loop; br 0; end; i32.const 0; end
	}
	exports := [][]byte{}
	export := func(name string, index uint32) {
		exports = append(exports, append(append(text(name), 0), leb(first+index)...))
	}
	if f.Describe != "" {
		export("describe", 1)
	}
	if !f.NoResolve {
		export("resolve", 2)
	}
	for _, name := range f.Exports {
		export(name, 0)
	}
	pages := max(f.Memory, uint32(len(texts)>>16)+1)

	out := []byte("\x00asm\x01\x00\x00\x00")
	out = append(out, section(1, vector(funcTypes))...)
	out = append(out, section(2, vector(imports))...)
	out = append(out, section(3, vector([][]byte{{typeVoid}, {typeResult}, {typeResult}}))...)
	out = append(out, section(5, vector([][]byte{append([]byte{0}, leb(pages)...)}))...)
	out = append(out, section(7, vector(exports))...)
	if f.Start {
		out = append(out, section(8, leb(first))...)
	}
	var code [][]byte
	for _, b := range bodies {
		code = append(code, append(leb(uint32(len(b))), b...))
	}
	out = append(out, section(10, vector(code))...)
	data := append([]byte{0, 0x41, 0, 0x0b}, append(leb(uint32(len(texts))), texts...)...)
	return append(out, section(11, vector([][]byte{data}))...)
}

// answerBody copies length bytes of memory from offset into a kernel block,
// makes it the output and returns 0.
func answerBody(offset, length uint32) []byte {
	var b bytes.Buffer
	b.Write([]byte{2, 1, 0x7e, 1, 0x7f}) // locals: 0 is the block, 1 the counter
	b.WriteByte(0x42)                    // i64.const length
	b.Write(sleb(int64(length)))
	b.Write([]byte{0x10, 0, 0x21, 0}) // call alloc; local.set 0
	if length > 0 {
		b.Write([]byte{0x03, 0x40})                               // loop
		b.Write([]byte{0x20, 0, 0x20, 1, 0xad, 0x7c, 0x20, 1})    // block + i; i
		b.Write(append([]byte{0x2d, 0}, leb(offset)...))          // i32.load8_u offset
		b.Write([]byte{0x10, 1})                                  // call store_u8
		b.Write([]byte{0x20, 1, 0x41, 1, 0x6a, 0x22, 1, 0x41})    // i++; i32.const
		b.Write(append(sleb(int64(length)), 0x49, 0x0d, 0, 0x0b)) // length; i32.lt_u; br_if 0; end
	}
	b.Write([]byte{0x20, 0, 0x42}) // local.get 0; i64.const length
	b.Write(sleb(int64(length)))
	b.Write([]byte{0x10, 2, 0x41, 0, 0x0b}) // call output_set; i32.const 0; end
	return b.Bytes()
}

func importEntry(full string, typeIndex byte) []byte {
	module, name, _ := bytes.Cut([]byte(full), []byte(" "))
	return append(append(text(string(module)), text(string(name))...), 0, typeIndex)
}

func section(id byte, body []byte) []byte {
	return append(append([]byte{id}, leb(uint32(len(body)))...), body...)
}

func vector(entries [][]byte) []byte {
	return append(leb(uint32(len(entries))), bytes.Join(entries, nil)...)
}

func text(s string) []byte { return append(leb(uint32(len(s))), s...) }

func leb(v uint32) []byte { return binary.AppendUvarint(nil, uint64(v)) }

func sleb(v int64) []byte {
	var b []byte
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
