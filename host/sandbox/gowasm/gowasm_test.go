package gowasm_test

import (
	"bytes"
	"crypto/rand"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"waymark/host/sandbox/gowasm"
	"waymark/test/built"
	"waymark/test/testenv"
)

// TestGo: a program that makes the runtime do what enters functions in the middle prints
// the same as before, in both engines, and is less native code.
func TestGo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds a guest and compiles it five times, which takes long")
	}
	path, err := built.Guest(t.Context(), "./testdata/guest")
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	after, err := gowasm.Shrink(before)
	if err != nil {
		t.Fatal(err)
	}
	want, large := run(t, before, wazero.NewRuntimeConfigCompiler())
	for _, said := range []string{
		"case 1: on purpose", "nil map", "divide by zero", "and again", "goroutines [", "deep ", "behind the loop", "recovered at the end: runtime error", "functions true",
	} {
		if !strings.Contains(want, said) {
			t.Errorf("the program doesn't say %q:\n%s", said, want)
		}
	}
	got, small := run(t, after, wazero.NewRuntimeConfigCompiler())
	if got != want {
		t.Errorf("it prints\n%s\nwant\n%s", got, want)
	}
	if got, _ := run(t, after, wazero.NewRuntimeConfigInterpreter()); got != want {
		t.Errorf("interpreted it prints\n%s\nwant\n%s", got, want)
	}
	checked, err := gowasm.ShrinkChecked(before)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := run(t, checked, wazero.NewRuntimeConfigCompiler()); got != want {
		t.Errorf("with checks it prints\n%s\nwant\n%s", got, want)
	}
	t.Logf("%d bytes of native code became %d", large, small)
	many, few := gowasm.Segments(before), gowasm.Segments(after)
	t.Logf("%d segments of data became %d", many, few)
	if few > many/4 {
		t.Errorf("%d segments of data became %d: has Go's linker another table of functions?", many, few)
	}
	if small > large*2/3 {
		t.Errorf("%d bytes of native code became %d: has Go's compiler another style?", large, small)
	}
}

// run runs a program, and says what it has printed and how large its native code is.
func run(t *testing.T, wasm []byte, config wazero.RuntimeConfig) (printed string, native int64) {
	t.Helper()
	dir := t.TempDir()
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := wazero.NewRuntimeWithConfig(t.Context(), config.WithCompilationCache(cache))
	wasi_snapshot_preview1.MustInstantiate(t.Context(), r)
	var out bytes.Buffer
	module, err := r.InstantiateWithConfig(t.Context(), wasm, wazero.NewModuleConfig().WithStartFunctions("_initialize").
		WithStdout(&out).WithStderr(&out).WithRandSource(rand.Reader).WithSysNanotime().WithSysWalltime().WithSysNanosleep())
	if err == nil {
		_, err = module.ExportedFunction("run").Call(t.Context())
	}
	if err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := cache.Close(t.Context()); err != nil {
		t.Error(err)
	}
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				native += info.Size()
			}
		}
		return nil
	})
	return out.String(), native
}

// TestOthers: what isn't Go's stays as it is, and what is no module is an error.
func TestOthers(t *testing.T) {
	t.Parallel()
	// (func (param i32) (result i32) (local.get 0)) and a table that is no loop's.
	other := "\x00asm\x01\x00\x00\x00" + "\x01\x06\x01\x60\x01\x7f\x01\x7f" + "\x03\x02\x01\x00" + "\x0a\x06\x01\x04\x00\x20\x00\x0b"
	got, err := gowasm.Shrink([]byte(other))
	if err != nil || string(got) != other {
		t.Errorf("got %x, %v", got, err)
	}
	for _, damaged := range []string{"", "\x00asm", other[:len(other)-1], other[:12], strings.Replace(other, "\x20\x00", "\xfd\x00", 1)} {
		if _, err := gowasm.Shrink([]byte(damaged)); err == nil {
			t.Errorf("%x is shrunk", damaged)
		}
	}
}

// TestData: data without its zeros is the same data.
func TestData(t *testing.T) {
	t.Parallel()
	random := testenv.Rand(t)
	for range testenv.Rounds(20, 200, 5000) {
		var data []byte
		for range random.IntN(20) {
			data = append(data, make([]byte, random.IntN(40))...)
			for range random.IntN(40) {
				data = append(data, byte(random.IntN(256)))
			}
		}
		got, ok := gowasm.Written(data)
		if want := bytes.TrimRight(data, "\x00"); !ok || !bytes.Equal(got, want) {
			t.Fatalf("%x became %x, %t", data, got, ok)
		}
	}
}

func FuzzShrink(f *testing.F) {
	const head = "\x00asm\x01\x00\x00\x00" + "\x01\x06\x01\x60\x01\x7f\x01\x7f" + "\x03\x02\x01\x00"
	// A function of Go: a copy of the stack pointer, a loop around a table, and a jump.
	f.Add([]byte(head + "\x0a\x1d\x01\x1b\x01\x02\x7f\x23\x00\x21\x01\x03\x40\x02\x40\x20\x00\x0e\x01\x00\x00\x0b\x41\x01\x21\x00\x0c\x00\x0b\x00\x0b"))
	// else without if, in such a function.
	f.Add([]byte(head + "\x0a\x0f\x01\x0d\x01\x01\x7f\x23\x00\x21\x01\x05\x20\x00\x0b\x01\x0b"))
	f.Fuzz(func(_ *testing.T, wasm []byte) { _, _ = gowasm.Shrink(wasm) })
}
