package hostile

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"waymark/test/wasmtest"
)

func memoryCases() []Case {
	var list []Case
	for _, c := range bombs() {
		c.Class, c.Name = ClassMemory, "memory/"+c.Name
		if c.Want.Outcomes == nil && c.Want.Rows == nil {
			c.Want.Outcomes = []string{Rejected}
		}
		if c.Memory == 0 {
			c.Memory = 48 // nothing of what is declared
		}
		if c.Within == 0 {
			c.Within = 500 * time.Millisecond // decoding some megabytes
		}
		list = append(list, c)
	}
	return list
}

// plain is a sound module to put bombs into.
func plain() []byte { return module{}.build() }

// Section ids.
const (
	typeSection     = 1
	importSection   = 2
	functionSection = 3
	tableSection    = 4
	globalSection   = 6
	exportSection   = 7
	elementSection  = 9
	codeSection     = 10
	dataSection     = 11
)

// bombs are small files that ask for much before anything of them runs.
func bombs() []Case {
	return []Case{
		{Name: "tables-10000", Module: func() []byte {
			return wasmtest.WithSection(plain(), tableSection, wasmtest.Repeat(10000, []byte{0x70, 0, 0xe8, 0x07}))
		}, Want: rejected(`table`)},
		{Name: "globals-1-million", Module: func() []byte {
			return wasmtest.WithSection(plain(), globalSection, wasmtest.Repeat(1_000_000, []byte{0x7e, 1, 0x42, 0, 0x0b}))
		}, Want: rejected(`global`)},
		{Name: "locals-4-billion", Module: locals(0xffffffff), Want: rejected(`local`)},
		{Name: "locals-50000", Module: locals(50000), Want: rejected(`local`)},
		{Name: "memory-4-gib", Module: func() []byte {
			return wasmtest.WithSection(plain(), 5, []byte{1, 0, 0x80, 0x80, 0x04})
		}, Want: rejected(`memory|pages`)},
		{Name: "data-segments-1-million", Module: func() []byte {
			return wasmtest.WithSection(plain(), dataSection, wasmtest.Repeat(1_000_000, []byte{0, 0x41, 0, 0x0b, 0}))
		}, Want: rejected(`data|segment`)},
		// It may run, and its 8 MiB are there more than once then: as much as elsewhere.
		{Name: "data-segments-apart", Module: apart(60000), Memory: 96, Within: time.Second, Want: ends(Rejected, Ready)},
		{Name: "elements-5-million", Module: func() []byte {
			body := append([]byte{1, 1, 0}, wasmtest.Repeat(5_000_000, []byte{0})...)
			return wasmtest.WithSection(plain(), elementSection, body)
		}, Want: rejected(`element`)},
		{Name: "element-segments-1-million", Module: func() []byte {
			return wasmtest.WithSection(plain(), elementSection, wasmtest.Repeat(1_000_000, []byte{1, 0, 0}))
		}, Want: rejected(`element`)},
		{Name: "types-1-million", Module: func() []byte {
			return wasmtest.WithSection(plain(), typeSection, wasmtest.Repeat(1_000_000, []byte{0x60, 0, 0}))
		}, Want: rejected(`type`)},
		{Name: "type-of-100000-results", Module: func() []byte {
			body := append([]byte{1, 0x60, 0}, wasmtest.Repeat(100_000, []byte{0x7e})...)
			return wasmtest.WithSection(plain(), typeSection, body)
		}, Want: rejected(`type|parameters|results`)},
		{Name: "imports-100000", Module: func() []byte {
			entry := append(append(wasmtest.Name("extism:host/env"), wasmtest.Name("alloc")...), 0, 0)
			return wasmtest.WithSection(plain(), importSection, wasmtest.Repeat(100_000, entry))
		}, Want: rejected(`import`)},
		{Name: "exports-1-million", Module: func() []byte {
			var entries [][]byte
			for i := range 1_000_000 {
				entries = append(entries, append(wasmtest.Name(fmt.Sprint(i)), 0, 0))
			}
			return wasmtest.WithSection(plain(), exportSection, wasmtest.Vector(entries))
		}, Within: 2 * time.Second, Want: rejected(`export`)},
		{Name: "type-values-4-million", Module: func() []byte {
			entry := append([]byte{0x60, 100}, append(wasmtest.Repeat(100, []byte{0x7f})[1:], 0)...)
			return wasmtest.WithSection(plain(), typeSection, wasmtest.Repeat(40_000, entry))
		}, Memory: 96, Want: rejected(`type`)},
		{Name: "names-of-exports-9-mb", Module: func() []byte {
			var entries [][]byte
			for i := range 9_000 {
				entries = append(entries, append(wasmtest.Name(strings.Repeat("e", 1000)+fmt.Sprint(i)), 0, 0))
			}
			return wasmtest.WithSection(plain(), exportSection, wasmtest.Vector(entries))
		}, Memory: 96, Want: rejected(`names`)},
		{Name: "name-section-30-mb", Memory: 160, Within: 2 * time.Second, Module: func() []byte {
			entry := append([]byte{0}, wasmtest.Name(strings.Repeat("n", 1000))...)
			functions := wasmtest.Repeat(30_000, entry)
			body := append(append([]byte{1}, wasmtest.LEB(uint32(len(functions)))...), functions...)
			return wasmtest.WithSection(plain(), 0, append(wasmtest.Name("name"), body...))
		}, Want: ends(Ready, Rejected)},
		{Name: "counts-that-lie", Module: func() []byte { // four billion types in three bytes
			return wasmtest.WithSection(plain(), typeSection, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0x60, 0, 0})
		}, Want: rejected(`.`)},
		{Name: "custom-section-30-mib", Memory: 160, Within: 2 * time.Second, Module: func() []byte {
			return wasmtest.WithSection(plain(), 0, append(wasmtest.Name(".debug_info"), bytes.Repeat([]byte{7}, 30<<20)...))
		}, Want: ends(Ready, Rejected)},
	}
}

// locals is a module in which one function has that many.
func locals(n uint32) func() []byte {
	return func() []byte {
		body := append(append([]byte{1}, wasmtest.LEB(n)...), 0x7e, 0x0b)
		code := append(wasmtest.LEB(uint32(len(body))), body...)
		wasm := wasmtest.MustWAT(`(module (type (func)))`)
		wasm = wasmtest.WithSection(wasm, functionSection, []byte{1, 0})
		wasm = wasmtest.WithSection(wasm, exportSection, wasmtest.Vector([][]byte{
			append(wasmtest.Name("describe"), 0, 0), append(wasmtest.Name("resolve"), 0, 0),
		}))
		return wasmtest.WithSection(wasm, codeSection, append([]byte{1}, code...))
	}
}

// apart has data segments of one byte each, 128 bytes from each other in the
// order that is worst for who merges them.
func apart(n int) func() []byte {
	return func() []byte {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "(data (i32.const %d) \"x\")\n", 200000+(n-i)*128)
		}
		return module{Fields: b.String(), Pages: n*128>>16 + 4}.build()
	}
}
