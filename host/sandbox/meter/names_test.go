package meter_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"waymark/host/sandbox/meter"
)

// trapping is a module whose function "run" calls one that traps; functions 0
// to 2 are an import and these two.
func trapping(custom ...[]byte) []byte {
	m := wasm(types(sig(tt(), tt())), imports(join("env", "f", 0, 0)), functions(0, 0), exports("run", 1),
		code(fn(none, call, 2), fn(none, unreachable)))
	for _, c := range custom {
		m = append(m, c...)
	}
	return m
}

func trace(t *testing.T, code []byte) string {
	t.Helper()
	res, err := meter.Rewrite(code, meter.Options{Wrap: wrapAll})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	r := wazero.NewRuntime(ctx)
	defer func() { _ = r.Close(ctx) }()
	newBank().provide(ctx, t, r)
	compiled, err := r.CompileModule(ctx, res.Wasm)
	if err != nil {
		t.Fatal(err)
	}
	if err := stubs(ctx, r, compiled); err != nil {
		t.Fatal(err)
	}
	mod, err := r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	_, err = mod.ExportedFunction("run").Call(ctx)
	if err == nil {
		t.Fatal("no trap")
	}
	return err.Error()
}

func TestNamesInTraces(t *testing.T) {
	t.Parallel()
	text := trace(t, trapping(nameSection(0, "imported", 1, "caller", 2, "callee")))
	if !strings.Contains(text, ".callee()") || !strings.Contains(text, ".caller()") {
		t.Error(text)
	}
}

// Names are for people: what is wrong with them is left out, and no more.
func TestNamesThatLie(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		custom []byte
		want   string // a name that has to be there all the same
	}{
		"an unknown function":  {nameSection(1, "caller", 99, "nobody"), ".caller()"},
		"an injected function": {nameSection(1, "caller", 3, "tick", 4, "done"), ".caller()"},
		"out of order":         {nameSection(2, "callee", 1, "caller"), ".callee()"},
		"twice":                {nameSection(2, "callee", 2, "other"), ".callee()"},
		"not UTF-8":            {nameSection(1, "\xff\xfe", 2, "callee"), ".callee()"},
		"very long":            {nameSection(1, strings.Repeat("n", 5000), 2, "callee"), ".callee()"},
		"more than there are":  {section(0, "name", 1, string(join(num(1<<30), 2, "callee"))), ".callee()"},
		"too long by itself":   {section(0, "name", 1, 200, 1, 1), ""},
		"cut":                  {section(0, "name", 1, string(join(2, 1, "caller", 2, 50))), ".caller()"},
		"nothing":              {section(0, "name"), ""},
		"locals":               {section(0, "name", 2, string(join(1, 1, 1, 77, "local"))), ""},
		"module name first":    {section(0, "name", 0, string(join("mod")), 1, string(join(1, 2, "callee"))), ".callee()"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if text := trace(t, trapping(c.custom)); !strings.Contains(text, c.want) {
				t.Error(text)
			}
		})
	}
}

func TestCustomSections(t *testing.T) {
	t.Parallel()
	debug := section(0, ".debug_info", bytes.Repeat([]byte("secret"), 1000))
	res, err := meter.Rewrite(trapping(debug), meter.Options{})
	if err != nil || bytes.Contains(res.Wasm, []byte("secret")) {
		t.Error("debug information is kept", err)
	}
	refused(t, append(trapping(), 0, 1, 5), meter.Options{}, "too early")
	refused(t, trapping(section(0, "\xff")), meter.Options{}, "UTF-8")
}

func TestResult(t *testing.T) {
	t.Parallel()
	res, err := meter.Rewrite(wasm(types(sig(tt(i32, i64), tt(f64)), sig(tt(), tt())),
		imports(join("env", "f", 0, 0), join("env", "g", 3, i32, 0)), functions(1), memory(1),
		section(7, list(join("mem", 2, 0), join("f", 0, 0), join("run", 0, 1))), section(8, 1), code(fn(none))), meter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Imports) != 2 || res.Imports[0].Type.String() != "(i32 i64) -> (f64)" || res.Imports[1].Kind != meter.KindGlobal {
		t.Error(res.Imports)
	}
	if len(res.Exports) != 3 || res.Exports[0].Kind != meter.KindMemory || res.Exports[2].Type.String() != "() -> ()" {
		t.Error(res.Exports)
	}
	if !res.HasStart {
		t.Error("the start function was forgotten")
	}
}

// TestManyNames: of names of functions, which nobody needs, what is too much is dropped.
func TestManyNames(t *testing.T) {
	t.Parallel()
	const n = 2000
	long := strings.Repeat("n", 1000)
	names, bodies := []any{}, []body{}
	for i := range n {
		names, bodies = append(names, i, long), append(bodies, fn(none))
	}
	module := append(wasm(types(sig(tt(), tt())), functions(make([]byte, n)...), code(bodies...)), nameSection(names...)...)
	res, err := meter.Rewrite(module, meter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if kept := bytes.Count(res.Wasm, []byte(long)); kept < 500 || kept*len(long) > 1<<20 {
		t.Errorf("%d names of 1,000 bytes are kept", kept)
	}
}
