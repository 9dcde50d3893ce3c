package sandbox_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waymark/host/sandbox"
	"waymark/test/wasmtest"
)

const smallDescription = `{"abi":1,"name":"small","version":"1","resolvers":[{"name":"one","kinds":["command"]}]}`

// TestShape: what a module is made of is reported whether it would be admitted or
// not.
func TestShape(t *testing.T) {
	t.Parallel()
	wasm := wasmtest.File{
		Describe: smallDescription, Resolve: "{}", Imports: []string{"extism:host/env http_request", "no\x1bsuch thing"}, Exports: []string{"more"}, Start: true,
		Memory: 2000, // more than a run may have by default
	}.Bytes()
	got, err := sandbox.ShapeOf(wasm)
	if err != nil {
		t.Fatal(err)
	}
	i64 := "(i64) -> (i64)"
	want := &sandbox.Shape{
		Imports: []sandbox.Symbol{
			{Module: "extism:host/env", Name: "alloc", Kind: "function", Type: i64},
			{Module: "extism:host/env", Name: "store_u8", Kind: "function", Type: "(i64 i32) -> ()"},
			{Module: "extism:host/env", Name: "output_set", Kind: "function", Type: "(i64 i64) -> ()"},
			{Module: "extism:host/env", Name: "http_request", Kind: "function", Type: i64},
			{Module: "nosuch", Name: "thing", Kind: "function", Type: i64},
		},
		Exports: []sandbox.Symbol{
			{Name: "describe", Kind: "function", Type: "() -> (i32)"},
			{Name: "resolve", Kind: "function", Type: "() -> (i32)"},
			{Name: "more", Kind: "function", Type: "() -> ()"},
		},
		Start: true, Functions: 3, CodeBytes: got.CodeBytes, LargestFunction: got.LargestFunction,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got.LargestFunction <= 0 || got.CodeBytes < got.LargestFunction {
		t.Errorf("code of %d bytes, the largest function %d", got.CodeBytes, got.LargestFunction)
	}
	for _, bad := range [][]byte{nil, []byte("text"), wasm[:len(wasm)/2]} {
		if _, err := sandbox.ShapeOf(bad); !errors.Is(err, sandbox.ErrRejected) {
			t.Errorf("%.10q: %v", bad, err)
		}
	}
}

// TestAdmissible: the reason and what to do about it come apart.
func TestAdmissible(t *testing.T) {
	t.Parallel()
	good := wasmtest.File{Describe: smallDescription, Resolve: "{}"}
	if err := sandbox.Admissible(good.Bytes(), sandbox.Limits{}); err != nil {
		t.Error(err)
	}
	good.NoResolve = true
	err := sandbox.Admissible(good.Bytes(), sandbox.Limits{})
	var reject *sandbox.RejectError
	if !errors.As(err, &reject) || reject.Reason != `no exported function "resolve"` || reject.Hint == "" {
		t.Errorf("%#v", err)
	}
	large := wasmtest.File{Describe: smallDescription, Resolve: "{}", Memory: 3}.Bytes()
	if err := sandbox.Admissible(large, sandbox.Limits{Memory: 2 << 16}); !errors.Is(err, sandbox.ErrRejected) {
		t.Errorf("more memory than it may have: %v", err)
	}
}
