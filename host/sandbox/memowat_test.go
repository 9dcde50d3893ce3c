package sandbox_test

import (
	"fmt"
	"strings"

	"waymark/test/wasmtest"
)

// unitGuest is a module made of steps, each of which adds to a transcript that
// is its only warning. It is put together from the text format, so that it can
// do what no SDK would.
type unitGuest struct {
	data strings.Builder
	code strings.Builder
	at   int // in data
}

// text puts a string into the module's memory and returns the instruction that
// makes a kernel block of it.
func (g *unitGuest) text(s string) string {
	at := g.at
	g.at += len(s)
	g.data.WriteString(s)
	return fmt.Sprintf("(call $text (i32.const %d) (i32.const %d))", at, len(s))
}

func (g *unitGuest) add(format string, args ...any) *unitGuest {
	fmt.Fprintf(&g.code, "    "+format+"\n", args...)
	return g
}

// begin begins a unit. It says "+" and the value when that was remembered, "!"
// when there is an error, else "-".
func (g *unitGuest) begin(key string) *unitGuest {
	return g.add("(call $said (call $memo_begin %s))", g.text(key))
}

// end ends a unit with a value. It says "!" on an error, else ".".
func (g *unitGuest) end(value string) *unitGuest {
	return g.add("(call $memo_end %s) (call $ended)", g.text(value))
}

// endEmpty ends a unit with no block at all.
func (g *unitGuest) endEmpty() *unitGuest {
	return g.add("(call $memo_end (i64.const 0)) (call $ended)")
}

// unit begins a unit, and if it isn't remembered ends it with the content of a
// file, which goes into the transcript behind "-".
func (g *unitGuest) unit(key, path string) *unitGuest {
	g.add("(local.set $n (call $memo_begin %s)) (call $said (local.get $n))", g.text(key))
	return g.add("(if (i64.eqz (local.get $n)) (then (local.set $n (call $fs_read %s (i64.const 0) (i64.const 1000))) "+
		"(call $memo_end (local.get $n)) (call $copy (local.get $n)) (call $ended)))", g.text(path))
}

// copied copies within the kernel's memory, between offsets in a block of a
// text, and adds the block to the transcript.
func (g *unitGuest) copied(text string, to, from, n string) *unitGuest {
	return g.add("(local.set $n %s) (call $block_copy (i64.add (local.get $n) (i64.const %s)) (i64.add (local.get $n) (i64.const %s)) "+
		"(i64.const %s)) (call $copy (local.get $n))", g.text(text), to, from, n)
}

// repeat runs what add wrote n times.
func (g *unitGuest) repeat(n int, steps func(*unitGuest)) *unitGuest {
	g.add("(local.set $i (i32.const %d)) (loop $again", n)
	steps(g)
	return g.add("(br_if $again (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))")
}

func (g *unitGuest) bytes() []byte {
	const textAt, outAt = 1024, 1 << 20
	head, tail := `{"resources":[],"warnings":["`, `"]}`
	return wasmtest.MustWAT(fmt.Sprintf(`(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "length" (func $length (param i64) (result i64)))
  (import "extism:host/env" "load_u8" (func $load_u8 (param i64) (result i32)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (import "extism:host/env" "error_get" (func $error_get (result i64)))
  (import "extism:host/env" "error_set" (func $error_set (param i64)))
  (import "extism:host/user" "fs_read" (func $fs_read (param i64 i64 i64) (result i64)))
  (import "extism:host/user" "memo_begin" (func $memo_begin (param i64) (result i64)))
  (import "extism:host/user" "memo_end" (func $memo_end (param i64)))
  (import "extism:host/user" "block_copy" (func $block_copy (param i64 i64 i64)))
  (memory (export "memory") 64)
  (global $out (mut i32) (i32.const %[1]d))
  (data (i32.const 0) %[2]s) (data (i32.const %[3]d) %[4]s) (data (i32.const %[1]d) %[5]s)
  (func $text (param $at i32) (param $size i32) (result i64) (local $block i64) (local $i i32)
    (local.set $block (call $alloc (i64.extend_i32_u (local.get $size))))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $i) (local.get $size)))
      (call $store_u8 (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))
        (i32.load8_u offset=%[3]d (i32.add (local.get $at) (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $next)))
    (local.get $block))
  (func $say (param $c i32)
    (i32.store8 (global.get $out) (local.get $c))
    (global.set $out (i32.add (global.get $out) (i32.const 1))))
  (func $copy (param $block i64) (local $i i64) ;; of a block, into the transcript
    (block $done (loop $next
      (br_if $done (i64.ge_u (local.get $i) (call $length (local.get $block))))
      (call $say (call $load_u8 (i64.add (local.get $block) (local.get $i))))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br $next))))
  (func $failed (result i32)
    (if (i64.eqz (call $error_get)) (then (return (i32.const 0))))
    (call $error_set (i64.const 0))
    (call $say (i32.const 33))
    (i32.const 1))
  (func $said (param $value i64)
    (if (call $failed) (then (return)))
    (if (i64.eqz (local.get $value)) (then (call $say (i32.const 45)) (return)))
    (call $say (i32.const 43))
    (call $copy (local.get $value)))
  (func $ended (if (call $failed) (then (return))) (call $say (i32.const 46)))
  (func (export "describe") (result i32) (local $block i64)
    (drop (call $memo_begin (call $text (i32.const 0) (i32.const 1)))) ;; there is nothing to remember
    (call $memo_end (i64.const 0))
    (local.set $block (call $alloc (i64.const %[6]d)))
    (call $answer (i32.const 0) (i32.const %[6]d)))
  (func $answer (param $at i32) (param $size i32) (result i32) (local $block i64) (local $i i32)
    (local.set $block (call $alloc (i64.extend_i32_u (local.get $size))))
    (loop $next
      (call $store_u8 (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))
        (i32.load8_u (i32.add (local.get $at) (local.get $i))))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $size))))
    (call $output_set (local.get $block) (i64.extend_i32_u (local.get $size)))
    (i32.const 0))
  (func (export "resolve") (result i32) (local $n i64) (local $i i32)
    (global.set $out (i32.const %[7]d))
%[8]s
    (call $say (i32.const 34)) (call $say (i32.const 93)) (call $say (i32.const 125)) ;; %[9]s
    (call $answer (i32.const %[1]d) (i32.sub (global.get $out) (i32.const %[1]d)))))`,
		outAt, wasmtest.Quote(unitDescription), textAt, wasmtest.Quote(g.data.String()), wasmtest.Quote(head),
		len(unitDescription), outAt+len(head), g.code.String(), tail))
}

const unitDescription = `{"abi":1,"name":"units","version":"1","resolvers":[{"name":"r","kinds":["instruction_file"],"reads":["**"]}]}`
