package wasmtest_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/test/wasmtest"
)

const description = `{"abi":1,"name":"wat","version":"1.0.0","resolvers":[{"name":"r","kinds":["skill"],"reads":[]}]}`

// everything uses each kind of field and immediate once. Its answer depends on
// all of them: test leaves a bit for each that works.
const everything = `
(module $everything ;; a comment
  (type $binary (func (param i32 i32) (result i32)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (table $t 4 8 funcref)
  (memory (export "memory") 1 2)
  (global $bits (mut i32) (i32.const 0))
  (global $one i32 (i32.const 1))
  (data (i32.const 16) ` + "%DESCRIBE%" + `)
  (data (offset (i32.const 1024)) "{\"warnings\":[\"" "00\"]}")
  (data $passive "passive")
  (elem (i32.const 0) $add $sub)
  (elem $more func $sub $add)
  (elem declare func $add)
  (func $add (type $binary) local.get 0 local.get 1 i32.add)
  (func $sub (param $a i32) (param $b i32) (result i32) (i32.sub (local.get $a) (local.get $b)))
  (func $pair (result i32 i64) i32.const -1 i64.const 0x7fff_ffff_ffff_ffff)
  (func $bit (param i32) (param $ok i32)
    (if (local.get $ok) (then (global.set $bits (i32.or (global.get $bits) (local.get 0))))))
  (func $answer (param $at i32) (param $n i32) (result i32) (local $block i64) (local $i i32)
    (local.set $block (call $alloc (i64.extend_i32_u (local.get $n))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $n)))
        (call $store (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))
                     (i32.load8_u (i32.add (local.get $at) (local.get $i))))
        (local.set $i (i32.add (local.get $i) (global.get $one)))
        (br $next)))
    (call $output (local.get $block) (i64.extend_i32_u (local.get $n)))
    (i32.const 0))
  (func (export "describe") (result i32) (call $answer (i32.const 16) (i32.const %LENGTH%)))
  (func $switch (param i32) (result i32)
    block $b block $a
      local.get 0
      br_table $a $b 1
    end
      i32.const 10
      return
    end
    i32.const 20)
  (func (export "resolve") (result i32) (local $x f64)
    (call $bit (i32.const 1) (i32.eq (call_indirect (type $binary) (i32.const 5) (i32.const 3) (i32.const 1)) (i32.const 2)))
    (table.init $t $more (i32.const 2) (i32.const 0) (i32.const 2))
    (call $bit (i32.const 2) (i32.eq (call_indirect $t (param i32 i32) (result i32) (i32.const 5) (i32.const 3) (i32.const 3)) (i32.const 8)))
    (memory.init $passive (i32.const 2048) (i32.const 0) (i32.const 7))
    (memory.copy (i32.const 3000) (i32.const 2048) (i32.const 7))
    (memory.fill (i32.const 3001) (i32.const 0x41) (i32.const 1))
    (call $bit (i32.const 4) (i32.eq (i32.load offset=3000 align=1 (i32.const 0)) (i32.const 0x73734170)))
    (v128.store offset=4000 (i32.const 0) (v128.load (i32.const 3000)))
    (call $bit (i32.const 4) (i32.eq (i32.load (i32.const 4000)) (i32.load (i32.const 3000))))
    (local.set $x (f64.sqrt (f64.const 2.25)))
    (call $bit (i32.const 8) (f64.eq (local.get $x) (f64.const 1.5)))
    (call $bit (i32.const 16) (i32.eq (call $switch (i32.const 0)) (i32.const 10)))
    call $pair
    i64.clz
    i32.wrap_i64
    i32.add          (; -1 + 1 ;)
    if
      unreachable
    else
      (call $bit (i32.const 32) (i32.const 1))
    end
    (drop (table.grow $t (ref.null func) (i32.const 1)))
    (call $bit (i32.const 64) (i32.eq (table.size $t) (i32.const 5)))
    (drop (if (result i32) (i32.eq (memory.grow (i32.const 1)) (i32.const 1)) (then (i32.const 1)) (else (i32.const 2))))
    (data.drop $passive) (elem.drop $more)
    (i32.store8 (i32.const 1038) (i32.add (i32.const 48) (i32.div_u (global.get $bits) (i32.const 16))))
    (i32.store8 (i32.const 1039) (i32.add (i32.const 48) (i32.rem_u (global.get $bits) (i32.const 16))))
    (call $answer (i32.const 1024) (i32.const 19))))`

// TestWAT: what is assembled is what was written.
func TestWAT(t *testing.T) {
	text := strings.NewReplacer("%DESCRIBE%", wasmtest.Quote(description), "%LENGTH%", strconv.Itoa(len(description))).Replace(everything)
	res, err := run(t, wasmtest.MustWAT(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Response.Warnings[0]; got != "7?" { // 0x7f, in digits from '0' on
		t.Errorf("bits %q", got)
	}
}

func run(t *testing.T, wasm []byte) (*sandbox.Result, error) {
	t.Helper()
	h := sandbox.New(sandbox.Options{})
	m, err := h.Load(t.Context(), wasm, sandbox.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	root, err := vfs.OpenRoot(t.TempDir(), vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	filter, err := vfs.View{}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	files := root.Begin(filter, vfs.Limits{})
	t.Cleanup(func() { _ = files.Close(); _ = root.Close() })
	return m.Resolve(t.Context(), &abi.Request{ABI: abi.Version, Resolver: "r"}, files)
}

func TestWATErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "ends too early",
		"(module":                        "ends too early",
		"(module))":                      "line 1: text after the module",
		"(modul)":                        "not a (module",
		"(module\n(fun))":                `line 2: unknown field "fun"`,
		"(module (func nope))":           `unknown instruction "nope"`,
		"(module (func i32.const))":      "i32.const needs more",
		"(module (func i32.const 1x))":   `"1x" is not a number of 32 bits`,
		"(module (func local.get $x))":   "unknown name $x",
		"(module (func block))":          "doesn't end",
		"(module (func end))":            "end without a block",
		"(module (func (if (nop))))":     "if without then",
		`(module (data "x`:               "doesn't end",
		`(module (data "\zz"))`:          "unknown escape",
		"(module (func $a) (func $a))":   "twice",
		"(module (func (result i33)))":   `unknown type "i33"`,
		"(module (func br_table))":       "br_table needs a label",
		"(module (import \"a\" \"b\"))":  "an import is",
		"(module (export \"a\" (func)))": "an export is",
	} {
		if _, err := wasmtest.WAT(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func TestWithSection(t *testing.T) {
	wasm := wasmtest.MustWAT(`(module (memory 1) (func (export "f")))`)
	if got := wasmtest.WithSection(wasm, 5, []byte{1, 0, 1}); !bytes.Equal(got, wasm) {
		t.Errorf("the same section gives %x, want %x", got, wasm)
	}
	globals := wasmtest.WithSection(wasm, 6, wasmtest.Repeat(2, []byte{0x7f, 0, 0x41, 0, 0x0b}))
	want := wasmtest.MustWAT(`(module (memory 1) (global i32 (i32.const 0)) (global i32 (i32.const 0)) (func (export "f")))`)
	if !bytes.Equal(globals, want) {
		t.Errorf("globals %x, want %x", globals, want)
	}
	if got := wasmtest.WithSection(wasm, 0, wasmtest.Name("x")); !bytes.Equal(got, append(bytes.Clone(wasm), 0, 2, 1, 'x')) {
		t.Errorf("custom %x", got)
	}
}
