package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/test/wasmtest"
)

// loadTalking loads the probe for an author, who is shown what it writes.
func loadTalking(t *testing.T) *sandbox.Module {
	t.Helper()
	wasm, err := probeWasm()
	if err != nil {
		t.Fatal(err)
	}
	return load(t, sandbox.New(sandbox.Options{CacheDir: cacheDir, Output: true}), wasm, sandbox.Limits{Time: time.Minute})
}

// TestOutput: an author is shown what a guest writes, in its order and bounded;
// nobody else is. It costs the same for both.
func TestOutput(t *testing.T) {
	author, other := loadTalking(t), loadProbe(t, sandbox.Limits{Time: time.Minute})
	for op, want := range map[string]string{
		"print": "^on stdout\non stderr\nand on stdout again\n$",
		"panic": `^panic: probe: this is the panic text\n\ngoroutine 1 \[running\]:\nmain\.misdeed\(.*\)\n\twaymark/host/sandbox/testdata/probe/main\.go:[0-9]+`,
		"flood": `(?s)^0 of a flood\n.*\n… [0-9]+ bytes are not shown …\n.*\n39999 of a flood\npanic: after the flood\n\ngoroutine 1 .*main\.misdeed`,
		"calls": "^$",
	} {
		t.Run(op, func(t *testing.T) {
			ops := map[string]any{"op": op}
			shown, err := ask(t.Context(), t, author, openRun(t, t.TempDir(), vfs.Limits{}), "wasi", ops)
			hidden, other := ask(t.Context(), t, other, openRun(t, t.TempDir(), vfs.Limits{}), "wasi", ops)
			if !regexp.MustCompile(want).MatchString(shown.Output) || len(shown.Output) > 65<<10 {
				t.Errorf("%d bytes of output: %.300q", len(shown.Output), shown.Output)
			}
			if hidden.Output != "" {
				t.Errorf("nobody asked for %.100q", hidden.Output)
			}
			if shown.Fuel != hidden.Fuel {
				t.Errorf("%d fuel when shown, %d when not", shown.Fuel, hidden.Fuel)
			}
			if (err == nil) != (other == nil) || err != nil && err.Error() != other.Error() {
				t.Errorf("%v when shown, %v when not", err, other)
			}
		})
	}
}

// TestWhereItPanicked: the place in the guest's own source, also when the panic
// is the standard library's, and when much was written before.
func TestWhereItPanicked(t *testing.T) {
	m := loadProbe(t, sandbox.Limits{Time: time.Minute})
	const place = `, in main\.misdeed \(waymark/host/sandbox/testdata/probe/main\.go:[0-9]+\)$`
	for op, want := range map[string]string{
		"panic":   "crashed: unreachable: panic: probe: this is the panic text" + place,
		"flood":   "crashed: unreachable: panic: after the flood" + place,
		"library": "panic: strings: negative Repeat count" + place,
	} {
		_, err := ask(t.Context(), t, m, openRun(t, t.TempDir(), vfs.Limits{}), "wasi", map[string]any{"op": op})
		if err == nil || !regexp.MustCompile(want).MatchString(err.Error()) {
			t.Errorf("%s: %v", op, err)
		}
	}
}

// TestWithheldOutput: where a guest is and what it writes says as much of what it
// has read as its own words.
func TestWithheldOutput(t *testing.T) {
	const token = "ghp_0123456789"
	ask := func(m *sandbox.Module) (*sandbox.Result, *sandbox.RunError) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte("panic "+token), 0o600); err != nil {
			t.Fatal(err)
		}
		root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
		if err != nil {
			t.Fatal(err)
		}
		filter, err := vfs.View{Reads: []string{".mcp.json"}, MCPOnly: true}.Compile()
		if err != nil {
			t.Fatal(err)
		}
		run := root.Begin(filter, vfs.Limits{})
		res, err := ask(t.Context(), t, m, run, "tokens", map[string]any{})
		var failed *sandbox.RunError
		if !errors.As(err, &failed) {
			t.Fatalf("got %v", err)
		}
		if err := errors.Join(run.Close(), root.Close()); err != nil {
			t.Fatal(err)
		}
		return res, failed
	}
	res, err := ask(loadProbe(t, sandbox.Limits{Time: time.Minute}))
	if res.Output != "" || err.Where != "" || err.Stack != nil || strings.Contains(err.Error(), "main.") {
		t.Errorf("an agent is told %q, %v, in %q of %q", res.Output, err, err.Where, err.Stack)
	}
	res, err = ask(loadTalking(t))
	if !strings.Contains(res.Output, token) || strings.Contains(err.Error(), token) {
		t.Errorf("an author is told %q and %v: want all in the one, nothing in the other", res.Output, err)
	}
}

// TestNamedFunctions: a trap says where it was as far as the module names its
// functions.
func TestNamedFunctions(t *testing.T) {
	wasm := wasmtest.MustWAT(`(module
		(func $quit unreachable)
		(func $deep (param i32) (result i32) (call $quit) (local.get 0))
		(func (export "describe") (result i32) (call $deep (i32.const 1)))
		(func (export "resolve") (result i32) (i32.const 0)))`)
	named := func(names ...string) []byte {
		var entries [][]byte
		for i, name := range names {
			if name != "" {
				entries = append(entries, slices.Concat(wasmtest.LEB(uint32(i)), wasmtest.Name(name)))
			}
		}
		functions := wasmtest.Vector(entries)
		return wasmtest.WithSection(wasm, 0, slices.Concat(wasmtest.Name("name"), []byte{1}, wasmtest.LEB(uint32(len(functions))), functions))
	}
	for _, c := range []struct {
		wasm []byte
		want string
	}{
		{named("abort", "(*T).deep", "describe"), "describe fails: crashed: unreachable, in (*T).deep, called by describe"},
		{named("", "", "describe"), "describe fails: crashed: unreachable, in describe"},
		{wasm, "describe fails: crashed: unreachable"},
	} {
		_, err := newHost(t).Load(t.Context(), c.wasm, sandbox.Limits{Time: time.Minute})
		var rejected *sandbox.RejectError
		if !errors.As(err, &rejected) || rejected.Reason != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// TestWhereTimeRanOut: an author is told which functions were running; the error
// doesn't say, since another run is somewhere else.
func TestWhereTimeRanOut(t *testing.T) {
	wasm := wasmtest.File{Describe: `{"abi":1,"name":"m","version":"1","resolvers":[{"name":"r","kinds":["command"],"reads":["*.md"]}]}`, Endless: true}.Bytes()
	var entries [][]byte
	for i := range 20 { // more than there are: those don't count
		entries = append(entries, slices.Concat(wasmtest.LEB(uint32(i)), wasmtest.Name("round"+strconv.Itoa(i))))
	}
	functions := wasmtest.Vector(entries)
	wasm = wasmtest.WithSection(wasm, 0, slices.Concat(wasmtest.Name("name"), []byte{1}, wasmtest.LEB(uint32(len(functions))), functions))
	m := load(t, newHost(t), wasm, sandbox.Limits{Time: 200 * time.Millisecond})
	_, err := ask(t.Context(), t, m, openRun(t, t.TempDir(), vfs.Limits{}), "r", map[string]any{})
	var failed *sandbox.RunError
	if !errors.As(err, &failed) || !errors.Is(err, sandbox.ErrDeadline) {
		t.Fatalf("got %v", err)
	}
	if len(failed.Stack) != 1 || !strings.HasPrefix(failed.Stack[0], "round") {
		t.Errorf("the stack is %q", failed.Stack)
	}
	if failed.Where != "" || strings.Contains(err.Error(), "round") {
		t.Errorf("it is said to be in %q: %v", failed.Where, err)
	}
}
