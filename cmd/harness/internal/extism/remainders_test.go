package extism_test

import (
	"fmt"
	"strings"
	"testing"

	"waymark/cmd/harness/internal/extism"
	"waymark/test/wasmtest"
)

// TestRemainders: the SDK's host computes what ours does. It is for arm64, where the
// remainders that wazero 1.12.0 compiles are wrong, as soon as more values are alive than
// there are registers.
func TestRemainders(t *testing.T) {
	var b strings.Builder
	b.WriteString(`(module (memory 1) (data (i32.const 0) "\e8\03\00\00\00\00\00\00\07")
		(func (export "resolve") (result i32) (i32.const 0))
		(func (export "describe") (result i32) (local $r i64)`)
	const alive = 30
	for i := range alive {
		fmt.Fprintf(&b, "(local $v%d i64)", i)
	}
	for i := range alive {
		fmt.Fprintf(&b, "(local.set $v%d (i64.load offset=%d (i32.const 0)))", i, 8*i)
	}
	b.WriteString("(local.set $r (i64.rem_u (local.get $v0) (local.get $v1)))")
	for i := range alive {
		fmt.Fprintf(&b, "(i64.store offset=%d (i32.const 4096) (local.get $v%d))", 8*i, i)
	}
	b.WriteString("(if (i64.ne (local.get $r) (i64.const 6)) (then (unreachable))) (i32.const 0)))")
	m, err := extism.Load(t.Context(), wasmtest.MustWAT(b.String()), extism.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	if a := m.Describe(t.Context()); a.Crash != "no output" {
		t.Errorf("it came to another end than the module's: %q", a.Crash)
	}
}
