package hostile

import (
	"fmt"
	"strings"

	"waymark/test/wasmtest"
)

// module is a resolver module of which one part is hostile. What is left empty
// is well-behaved.
type module struct {
	// Imports and Fields are further (import …) and other fields.
	Imports, Fields string
	// Describe, Resolve, Initialize and Start are instructions that run before
	// the answer, if there is one. They may use the locals $i, $j (i32), $n, $m
	// (i64) and $x (f64), and the memory from 65536 to 131071.
	Describe, Resolve, Initialize, Start string
	// Description and Response are the answers; empty means a sound one with
	// the module's name, and no rows.
	Description, Response string
	// Pages are added to the memory.
	Pages int
}

// kernel declares those functions of the Extism kernel that the template
// doesn't use itself.
const kernel = `
  (import "extism:host/env" "free" (func $free (param i64)))
  (import "extism:host/env" "length" (func $length (param i64) (result i64)))
  (import "extism:host/env" "load_u8" (func $load_u8 (param i64) (result i32)))
  (import "extism:host/env" "load_u64" (func $load_u64 (param i64) (result i64)))
  (import "extism:host/env" "error_set" (func $error_set (param i64)))
  (import "extism:host/env" "log_info" (func $log_info (param i64)))
  (import "extism:host/env" "config_get" (func $config_get (param i64) (result i64)))
  (import "extism:host/env" "input_offset" (func $input_offset (result i64)))
  (import "extism:host/env" "input_length" (func $input_length (result i64)))`

// files declares the fs_* functions.
const files = `
  (import "extism:host/user" "fs_read" (func $fs_read (param i64 i64 i64) (result i64)))
  (import "extism:host/user" "fs_list" (func $fs_list (param i64) (result i64)))
  (import "extism:host/user" "fs_stat" (func $fs_stat (param i64) (result i64)))`

// wasi declares a function of WASI, wasi("fd_read", "i32 i32 i32 i32").
func wasi(name, params string) string {
	return fmt.Sprintf("\n  (import \"wasi_snapshot_preview1\" %q (func $%s (param %s) (result i32)))", name, name, params)
}

const (
	hostileName = "hostile"
	// describeAt and responseAt are where the answers lie.
	describeAt = 16
	responseAt = 131072
)

// describing is a sound Description.
func describing(name string) string {
	return fmt.Sprintf(`{"abi":1,"name":%q,"version":"1.0.0","resolvers":[{"name":"r","kinds":["instruction_file"],"reads":["**"]}]}`, name)
}

// wat is the module's text. It is what to look at when a case surprises.
func (m module) wat() string {
	if m.Description == "" {
		m.Description = describing(hostileName)
	}
	if m.Response == "" {
		m.Response = `{"resources":[],"warnings":[]}`
	}
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	describe, response := describeAt, responseAt
	if len(m.Description) > 65000 { // then it lies after the response
		describe = responseAt + len(m.Response)
	}
	pages := (responseAt+len(m.Response)+len(m.Description))>>16 + 1 + m.Pages
	p(`(module`)
	p(`  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))`)
	p(`  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))`)
	p(`  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))`)
	p(`  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))%s`, m.Imports)
	p(`  (memory (export "memory") %d)`, pages)
	p(`  (data (i32.const %d) %s)`, describe, wasmtest.Quote(m.Description))
	p(`  (data (i32.const %d) %s)`, response, wasmtest.Quote(m.Response))
	p(`  (func $text (param $at i32) (param $size i32) (result i64) (local $block i64) (local $i i32) ;; a kernel block of it
    (local.set $block (call $alloc (i64.extend_i32_u (local.get $size))))
    (block $words
      (loop $next
        (br_if $words (i32.gt_u (i32.add (local.get $i) (i32.const 8)) (local.get $size)))
        (call $store_u64 (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))
                         (i64.load (i32.add (local.get $at) (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 8)))
        (br $next)))
    (block $bytes
      (loop $next
        (br_if $bytes (i32.ge_u (local.get $i) (local.get $size)))
        (call $store_u8 (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))
                        (i32.load8_u (i32.add (local.get $at) (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (local.get $block))
  (func $answer (param $at i32) (param $size i32) (result i32)
    (call $output_set (call $text (local.get $at) (local.get $size)) (i64.extend_i32_u (local.get $size)))
    (i32.const 0))`)
	const locals = "(local $i i32) (local $j i32) (local $n i64) (local $m i64) (local $x f64)"
	p(`  (func (export "describe") (result i32) %s`, locals)
	p(`    %s`, m.Describe)
	p(`    (call $answer (i32.const %d) (i32.const %d)))`, describe, len(m.Description))
	p(`  (func (export "resolve") (result i32) %s`, locals)
	p(`    %s`, m.Resolve)
	p(`    (call $answer (i32.const %d) (i32.const %d)))`, response, len(m.Response))
	if m.Initialize != "" {
		p(`  (func (export "_initialize") %s %s)`, locals, m.Initialize)
	}
	if m.Start != "" {
		p("  (func $start %s %s)\n  (start $start)", locals, m.Start)
	}
	p(`%s)`, m.Fields)
	return b.String()
}

// build assembles the module, lazily: the corpus is large, and a child runs
// one case.
func (m module) build() []byte { return wasmtest.MustWAT(m.wat()) }

// later builds a module with fields that are too large to be there for nothing.
func later(fields func() string) func() []byte {
	return func() []byte { return module{Fields: fields()}.build() }
}

// victimName is the well-behaved module beside every attack.
const (
	victimName = "victim"
	victimFile = "victim.wasm"
	victimText = "VICTIM.md"
)

// victim reads one file through fs_read, as an innocent would, and fails if it
// doesn't hold what it should; its row is in Result.Victim.
func victim() []byte {
	return module{
		Imports:     kernel + files,
		Description: describing(victimName),
		Response:    `{"resources":[{"kind":"instruction_file","path":"VICTIM.md","content":{"file":"VICTIM.md"},"name":"victim"}]}`,
		Fields:      `(data (i32.const 65536) "VICTIM.md")`,
		Resolve: `
    (local.set $n (call $fs_read (call $text (i32.const 65536) (i32.const 9)) (i64.const 0) (i64.const 100)))
    (if (i64.ne (call $load_u64 (local.get $n)) (i64.const 0x746e65636f6e6e69)) (then (unreachable)))`,
	}.build()
}
