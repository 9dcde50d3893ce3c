package meter_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"waymark/host/sandbox/meter"
	"waymark/test/wasmtest"
)

// TestState: with Options.State all mutable globals are exported, and what a
// memory begins with is in a section that wazero passes over.
func TestState(t *testing.T) {
	wasm := wasmtest.MustWAT(`(module
		(memory 2)
		(global $a (mut i32) (i32.const 1))
		(global $b i64 (i64.const 2))
		(global $c (mut f64) (f64.const 3))
		(data (i32.const 70000) "far")
		(data (i32.const 10) "near")
		(data (i32.const 12) "xx")
		(func (export "f") (result i32) (i32.load8_u (i32.const 10))))`)
	res, err := meter.Rewrite(wasm, meter.Options{State: true, Wrap: []string{"f"}})
	if err != nil {
		t.Fatal(err)
	}
	if res.Fixed != "" || res.MutableGlobals != 4 || res.Segments != 2 {
		t.Errorf("fixed %q, %d globals, %d segments", res.Fixed, res.MutableGlobals, res.Segments)
	}
	data, err := meter.Data(res.Wasm)
	if err != nil || len(data) != 2 || data[0].Offset != 10 || string(data[0].Bytes) != "nexx" || data[1].Offset != 70000 || string(data[1].Bytes) != "far" {
		t.Errorf("data %+v, %v", data, err)
	}
	mod := instantiate(t, res.Wasm)
	if b, _ := mod.Memory().ReadByte(10); b != 0 {
		t.Errorf("wazero puts %#x into memory", b)
	}
	want := []api.ValueType{api.ValueTypeI32, api.ValueTypeF64, api.ValueTypeI64, api.ValueTypeI64}
	for i, typ := range want {
		g, ok := mod.ExportedGlobal(meter.GlobalExport(i)).(api.MutableGlobal)
		if !ok || g.Type() != typ {
			t.Errorf("global %d: %v", i, g)
		}
	}
	if mod.ExportedGlobal(meter.GlobalExport(len(want))) != nil {
		t.Error("more globals than there are")
	}
}

// TestWithoutState: nothing of it is there when nobody asks for it, and none of
// it in a module whose state the host can't set.
func TestWithoutState(t *testing.T) {
	plain := wasmtest.MustWAT(`(module (memory 1) (global (mut i32) (i32.const 1)) (data (i32.const 10) "near") (func (export "f")))`)
	tables := wasmtest.MustWAT(`(module (memory 1) (table 1 funcref) (data (i32.const 10) "near")
		(func (export "f") (table.set (i32.const 0) (ref.null func))))`)
	// A global of 16 bytes: (global (mut v128) (v128.const …)).
	wide := wasmtest.WithSection(plain, 6, join(1, v128, 1, vec, 12, bytes.Repeat([]byte{7}, 16), end))
	for _, tt := range []struct {
		name  string
		wasm  []byte
		state bool
		fixed string
	}{{"not asked for", plain, false, ""}, {"tables", tables, true, "tables"}, {"vectors", wide, true, "vectors"}} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := meter.Rewrite(tt.wasm, meter.Options{State: tt.state})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(res.Fixed, tt.fixed) || (res.Fixed == "") != (tt.fixed == "") {
				t.Errorf("fixed %q", res.Fixed)
			}
			data, err := meter.Data(res.Wasm)
			if err != nil || len(data)+res.Segments+res.MutableGlobals != 0 || bytes.Contains(res.Wasm, []byte(meter.GlobalPrefix)) {
				t.Errorf("%d segments, %v, %+v", len(data), err, res)
			}
			if b, _ := instantiate(t, res.Wasm).Memory().ReadByte(10); b != 'n' {
				t.Errorf("memory holds %#x", b)
			}
		})
	}
}

// TestStateIsReserved: a guest can't export what looks like a global's, and a
// custom section of its own is dropped.
func TestStateIsReserved(t *testing.T) {
	_, err := meter.Rewrite(wasmtest.MustWAT(`(module (func (export "waymark:global:0")))`), meter.Options{State: true})
	if err == nil {
		t.Error("the name isn't reserved")
	}
	section := join(meter.DataSection, 1, 0, i32Const, 5, end, 3, []byte("abc"))
	wasm := append(wasmtest.MustWAT(`(module (memory 1) (func (export "f")))`), join(0, string(section))...)
	res, err := meter.Rewrite(wasm, meter.Options{State: true})
	if err != nil {
		t.Fatal(err)
	}
	if data, err := meter.Data(res.Wasm); len(data) != 0 || err != nil {
		t.Errorf("it makes up %+v, %v", data, err)
	}
}

// FuzzData: what isn't a section of data is an error, or nothing.
func FuzzData(f *testing.F) {
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
	f.Add(append([]byte("\x00asm\x01\x00\x00\x00"), join(0, string(join(meter.DataSection, 1, 0, i32Const, 5, end, 3, []byte("abc"))))...))
	f.Add(append([]byte("\x00asm\x01\x00\x00\x00"), join(0, string(join(meter.DataSection, 9, 0, i32Const, 5)))...))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		data, err := meter.Data(wasm)
		if err != nil && data != nil {
			t.Errorf("%d segments and %v", len(data), err)
		}
		for _, s := range data {
			if len(s.Bytes) > len(wasm) {
				t.Errorf("a segment of %d bytes out of %d", len(s.Bytes), len(wasm))
			}
		}
	})
}

// instantiate makes an instance with stand-ins for what the meter imports.
func instantiate(t *testing.T, wasm []byte) api.Module {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, runtimeConfig())
	t.Cleanup(func() { _ = r.Close(ctx) })
	new(bank).provide(ctx, t, r)
	mod, err := r.Instantiate(ctx, wasm)
	if err != nil {
		t.Fatal(err)
	}
	return mod
}
