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
	for _, c := range allocations() {
		c.Class, c.Name = ClassMemory, "memory/"+c.Name
		list = append(list, c)
	}
	return list
}

// plain is a sound module to put bombs into.
func plain() []byte { return module{}.build() }

// field is a sound module with one more field.
func field(text string) func() []byte {
	return func() []byte { return module{Fields: text}.build() }
}

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
		{Name: "table-100-million", Module: field(`(table 100000000 funcref)`), Want: rejected(`table`)},
		{Name: "table-of-externref", Module: field(`(table 100000000 externref)`), Want: rejected(`table`)},
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
		{Name: "memory-over-the-limit", Module: module{Pages: 300}.build, Want: rejected(`memory|pages`)},
		{Name: "memory-at-the-limit", Module: module{Pages: 252}.build, Want: rows()},
		{Name: "memory-twice", Module: field(`(memory 1)`), Want: rejected(`memor`)},
		{Name: "memory-imported", Module: func() []byte {
			return wasmtest.MustWAT(`(module (import "env" "memory" (memory 1)) (func (export "describe") (result i32) (i32.const 0)) (func (export "resolve") (result i32) (i32.const 0)))`)
		}, Want: rejected(`env memory`)},
		{Name: "table-imported", Module: module{Imports: `(import "env" "t" (table 100000000 funcref))`}.build, Want: rejected(`env t|table`)},
		{Name: "global-imported", Module: module{Imports: `(import "env" "g" (global i32))`}.build, Want: rejected(`env g`)},
		{Name: "data-segments-1-million", Module: func() []byte {
			return wasmtest.WithSection(plain(), dataSection, wasmtest.Repeat(1_000_000, []byte{0, 0x41, 0, 0x0b, 0}))
		}, Want: rejected(`data|segment`)},
		{Name: "data-segments-apart", Module: apart(60000), Within: time.Second, Want: ends(Rejected, Ready)},
		{Name: "data-out-of-bounds", Module: field(`(data (i32.const -1) "x")`), Want: rejected(`data|bounds|instantiate`)},
		{Name: "data-passive-8-mib", Module: later(func() string { return `(data $d "` + strings.Repeat("x", 8<<20) + `")` }), Want: ends(Rejected, Ready), Within: 2 * time.Second, Memory: 128},
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

// allocations are what grows while it runs.
func allocations() []Case {
	const flood = `(loop $l (call $log_info (call $text (i32.const 65536) (i32.const 60000)))
	  (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const %d))))`
	return []Case{
		{
			Name: "grow", Module: module{Resolve: `
    (loop $l
      (local.set $i (memory.grow (i32.const 1)))
      (if (i32.eq (local.get $i) (i32.const -1)) (then (unreachable)))
      (memory.fill (i32.shl (local.get $i) (i32.const 16)) (i32.const 7) (i32.const 65536))
      (br $l))`}.build,
			Want: ends(Crashed, Limit),
		},
		{
			Name:   "grow-at-once",
			Module: module{Resolve: `(if (i32.ne (memory.grow (i32.const 60000)) (i32.const -1)) (then (unreachable)))`}.build,
			Want:   ends(Ready, Limit),
		},
		{
			Name:   "grow-in-initialize",
			Module: module{Initialize: `(loop $l (br_if $l (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) (unreachable)`}.build,
			Want:   rejected(`unreachable|memory|limit`),
		},
		{
			Name: "table-grow", Module: module{Fields: `(table $t 1 funcref)`, Resolve: `
    (loop $l (br_if $l (i32.ne (table.grow $t (ref.null func) (i32.const 1000000)) (i32.const -1))))
    (if (i32.gt_u (table.size $t) (i32.const 1000000)) (then (unreachable)))`}.build,
			Want: ends(Ready, Limit),
		},
		{
			Name: "kernel-alloc", Module: module{Resolve: `
    (loop $l
      (if (i64.eqz (call $alloc (i64.const 1000000))) (then (unreachable)))
      (br $l))`}.build,
			Want: ends(Crashed, Limit, Deadline),
		},
		{
			Name: "kernel-alloc-touched", Module: module{Imports: kernel, Resolve: `
    (loop $l
      (local.set $n (call $alloc (i64.const 65536)))
      (if (i64.eqz (local.get $n)) (then (unreachable)))
      (call $store_u64 (local.get $n) (i64.const 1))
      (br $l))`}.build,
			Want: ends(Crashed, Limit, Deadline),
		},
		{
			Name: "kernel-alloc-huge",
			Module: module{Resolve: `(if (i64.ne (call $alloc (i64.const 0x7fffffffffffffff)) (i64.const 0)) (then (unreachable)))
			  (if (i64.ne (call $alloc (i64.const -1)) (i64.const 0)) (then (unreachable)))`}.build,
			Want: ends(Ready, Crashed, Limit),
		},
		{
			Name: "kernel-alloc-wrapping", Module: module{Imports: kernel, Resolve: `
    (local.set $n (call $alloc (i64.const 0xfffffff0)))  ;; 4 GiB less 16: too large for 32 bits and a header
    (if (local.tee $i (i64.ne (local.get $n) (i64.const 0))) (then (call $store_u64 (i64.add (local.get $n) (i64.const 0xffffff00)) (i64.const 1))))`}.build,
			Want: ends(Ready, Crashed, Limit),
		},
		{
			Name: "descriptors-open", Module: module{
				Imports: wasi("path_open", "i32 i32 i32 i32 i32 i64 i64 i32 i32"), Fields: `(data (i32.const 65536) "VICTIM.md")`,
				Resolve: `(loop $l (br_if $l (i32.eqz (call $path_open (i32.const 3) (i32.const 0) (i32.const 65536) (i32.const 9) (i32.const 0)
				  (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 65600))))) (unreachable)`,
			}.build,
			Limits: limits(2 * time.Second), Want: ends(Limit, Crashed),
		},
		{
			Name: "descriptors-directories", Module: module{
				Imports: wasi("path_open", "i32 i32 i32 i32 i32 i64 i64 i32 i32"), Fields: `(data (i32.const 65536) ".")`,
				Resolve: `(loop $l (br_if $l (i32.eqz (call $path_open (i32.const 3) (i32.const 0) (i32.const 65536) (i32.const 1) (i32.const 2)
				  (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 65600))))) (unreachable)`,
			}.build,
			Limits: limits(2 * time.Second), Want: ends(Limit, Crashed),
		},
		{
			Name: "descriptors-renumber", Module: module{ // one high number could make a large table
				Imports: wasi("fd_renumber", "i32 i32"),
				Resolve: `(drop (call $fd_renumber (i32.const 0) (i32.const 0x7ffffff0)))`,
			}.build,
			Want: ends(Ready, Crashed, Limit),
		},
		{
			Name: "output-100-mb", Module: module{Resolve: `
    (call $output_set (call $alloc (i64.const 100000000)) (i64.const 100000000))
    (return (i32.const 0))`}.build,
			Limits: memoryLimit(128 << 20), Memory: 200, Want: ends(Answer, Limit, Crashed),
		},
		{
			Name: "output-over-the-limit", Module: module{Resolve: `
    (call $output_set (call $alloc (i64.const 2000000)) (i64.const 2000000))
    (return (i32.const 0))`}.build,
			Want: ends(Answer).saying(`2000000 bytes, 1048576 are allowed`),
		},
		{
			Name: "error-100-mb", Module: module{Imports: kernel, Resolve: `
    (call $error_set (call $alloc (i64.const 100000000)))
    (return (i32.const 1))`}.build,
			Limits: memoryLimit(128 << 20), Memory: 200, Want: ends(Guest, Limit, Crashed),
		},
		{
			Name:   "log-flood",
			Module: module{Imports: kernel, Resolve: fmt.Sprintf(flood, 100)}.build,
			Limits: limits(2 * time.Second), Want: rows(),
		},
		{
			Name:   "log-flood-endless",
			Module: module{Imports: kernel, Resolve: `(local.set $n (call $text (i32.const 65536) (i32.const 10))) (loop $l (call $log_info (local.get $n)) (br $l))`}.build,
			Want:   ends(Deadline, Limit, Crashed),
		},
		{
			Name: "log-line-10-mb", Module: module{Imports: kernel, Resolve: `
    (call $log_info (call $alloc (i64.const 10000000)))`}.build,
			Want: ends(Ready, Limit),
		},
		{
			Name: "stderr-flood", Module: module{Imports: wasi("fd_write", "i32 i32 i32 i32"), Pages: 150, Resolve: `
    (i32.store (i32.const 65536) (i32.const 131072)) (i32.store (i32.const 65540) (i32.const 9000000))
    (loop $l
      (drop (call $fd_write (i32.const 2) (i32.const 65536) (i32.const 1) (i32.const 65544)))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 20))))
    (unreachable)`}.build,
			Want: ends(Crashed, Deadline),
		},
		{
			Name: "stack-of-kilobytes", Module: module{ // deep, and wide
				Fields:  `(func $down ` + strings.Repeat("(local i64 i64 i64 i64 i64 i64 i64 i64) ", 100) + `(call $down) (drop (local.get 700)))`,
				Resolve: `(call $down)`,
			}.build,
			Want: ends(Limit).saying(stackText), Memory: stackMemory,
		},
	}
}
