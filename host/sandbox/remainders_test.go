package sandbox_test

import (
	"fmt"
	"strings"
	"testing"

	"waymark/host/sandbox"
)

// dividing is a module that traps where it is given a wrong remainder, when it is
// initialized and when it is run. More values are alive then than there are registers.
func dividing(t *testing.T) []byte {
	var b strings.Builder
	b.WriteString(`(data (i32.const 600000) "\e8\03\00\00\00\00\00\00\07\00\00\00\00\00\00\00")
		(func $check (local $r i64)`)
	const alive = 30
	for i := range alive {
		fmt.Fprintf(&b, "(local $v%d i64)", i)
	}
	for i := range alive {
		fmt.Fprintf(&b, "(local.set $v%d (i64.load offset=%d (i32.const 600000)))", i, 8*i)
	}
	b.WriteString("(local.set $r (i64.rem_u (local.get $v0) (local.get $v1)))")
	for i := range alive {
		fmt.Fprintf(&b, "(i64.store offset=%d (i32.const 610000) (local.get $v%d))", 8*i, i)
	}
	b.WriteString("(if (i64.ne (local.get $r) (i64.const 6)) (then (unreachable))))")
	return stateful(t, b.String(), "(call $check)", "(call $check)")
}

// TestRemainders: whichever way a module is loaded, its remainders are right. It is
// for arm64, where those that wazero 1.12.0 compiles aren't.
func TestRemainders(t *testing.T) {
	wasm, dir := dividing(t), t.TempDir()
	resolve := func(m *sandbox.Module) { statesOf(t, m, t.TempDir(), "r") }
	resolve(load(t, sandbox.New(sandbox.Options{Output: true, CacheDir: dir}), wasm, sandbox.Limits{}))
	resolve(load(t, sandbox.New(sandbox.Options{Output: true, CacheDir: dir}), wasm, sandbox.Limits{})) // from what was kept
	resolve(load(t, sandbox.New(sandbox.Options{Output: true, NoImages: true}), wasm, sandbox.Limits{}))
	resolve(loadAhead(t, sandbox.Options{Output: true}, wasm, ahead(t, wasm), sandbox.Limits{}))
	resolve(loadAhead(t, sandbox.Options{Output: true}, wasm, []byte("of another machine"), sandbox.Limits{}))
}
