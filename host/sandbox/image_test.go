package sandbox_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/sandbox/guesttest"
	"waymark/host/vfs"
	"waymark/test/built"
	"waymark/test/testenv"
	"waymark/test/wasmtest"
)

func builtinWasm(t *testing.T) []byte {
	t.Helper()
	path, err := built.Guest(t.Context(), "waymark/plugins/builtin")
	if err != nil {
		t.Fatal(err)
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// workspace is a directory with something for every built-in resolver.
func workspace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range map[string]string{
		"AGENTS.md":                   "# Agents\n",
		"sub/CLAUDE.md":               "more\n@../AGENTS.md\n",
		".mcp.json":                   `{"mcpServers":{"a":{"command":"b"}}}`,
		"skills/one/SKILL.md":         "---\nname: one\ndescription: the first\n---\ntext\n",
		".claude/skills/two/SKILL.md": "---\nname: two\ndescription: [a, list\n---\n",
		".cursor/rules/x.mdc":         "---\nalwaysApply: true\n---\nrule\n",
	} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// imaged fails where there could be an image and isn't.
func imaged(t *testing.T, how *sandbox.Instances) {
	t.Helper()
	switch {
	case how == nil:
		t.Error("the module is refused")
	case runtime.GOOS == "linux" && !how.Image:
		t.Errorf("no image: %s", how.Reason)
	}
}

// TestImageOfBuiltin: runs of the built-in resolvers are the same with images
// and without, and so are instances before and after, to the last byte.
func TestImageOfBuiltin(t *testing.T) {
	wasm, dir := builtinWasm(t), workspace(t)
	imaged(t, guesttest.Compare(t, wasm, guesttest.Options{CacheDir: cacheDir, Dir: dir, Rounds: 2}))
	if testenv.Rounds(0, 1, 1) == 0 {
		return // what follows compiles, under the race detector for a minute; TestImageOfProbe does the same
	}
	native := ahead(t, wasm)
	imaged(t, guesttest.Compare(t, wasm, guesttest.Options{CacheDir: cacheDir, Native: native, Dir: dir, Rounds: 2}))
	sameStates(t, wasm, native, dir, "context")
}

// TestImageOfProbe: the same with a module that uses all of WASI, and fails in
// all ways.
func TestImageOfProbe(t *testing.T) {
	wasm, err := probeWasm()
	if err != nil {
		t.Fatal(err)
	}
	dir := workspace(t)
	var requests []abi.Request
	for _, op := range []string{"calls", "world", "panic", "error", "exit", "memory", "output"} {
		requests = append(requests, abi.Request{
			ABI: abi.Version, Resolver: "wasi", Root: abi.Root{Name: "root"}, Config: abi.RawJSON(`{"op":"` + op + `"}`),
		})
	}
	imaged(t, guesttest.Compare(t, wasm, guesttest.Options{CacheDir: cacheDir, Dir: dir, Requests: requests, Rounds: 2}))
	native := ahead(t, wasm)
	imaged(t, guesttest.Compare(t, wasm, guesttest.Options{CacheDir: cacheDir, Native: native, Dir: dir, Requests: requests, Rounds: 2}))
	sameStates(t, wasm, native, dir, "wasi")
}

// ahead is what a build makes of a module.
func ahead(t testing.TB, wasm []byte) []byte {
	t.Helper()
	var native bytes.Buffer
	if err := sandbox.Ahead(t.Context(), &native, wasm); err != nil {
		t.Fatal(err)
	}
	return native.Bytes()
}

// sameStates compares instances with images, made at once and ahead of time, and
// without, from inside.
func sameStates(t *testing.T, wasm, native []byte, dir, resolver string) {
	t.Helper()
	plain := load(t, sandbox.New(sandbox.Options{CacheDir: cacheDir, Output: true, NoImages: true}), wasm, sandbox.Limits{})
	want := statesOf(t, plain, dir, resolver)
	image := load(t, sandbox.New(sandbox.Options{CacheDir: cacheDir, Output: true}), wasm, sandbox.Limits{})
	compareStates(t, "with an image", statesOf(t, image, dir, resolver), want)
	early := loadAhead(t, sandbox.Options{CacheDir: cacheDir, Output: true}, wasm, native, sandbox.Limits{})
	compareStates(t, "with one made ahead", statesOf(t, early, dir, resolver), want)
}

// loadAhead loads a module with what a build has made of it.
func loadAhead(t testing.TB, opts sandbox.Options, wasm, native []byte, limits sandbox.Limits) *sandbox.Module {
	t.Helper()
	limits.Time = time.Minute
	read := func() ([]byte, error) { return wasm, nil }
	m, err := sandbox.New(opts).LoadNative(t.Context(), fmt.Sprintf("%x", sha256.Sum256(wasm)), read, bytes.NewReader(native), limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// statesOf are those of instances before and after a run, of which the later ones
// have found pages that were made ready.
func statesOf(t *testing.T, m *sandbox.Module, dir, resolver string) (states []*sandbox.State) {
	t.Helper()
	input, err := json.Marshal(abi.Request{ABI: abi.Version, Resolver: resolver, Root: abi.Root{Name: "root"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		before, after, err := m.States(t.Context(), input, openRun(t, dir, vfs.Limits{}))
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, before, after)
	}
	return states
}

func compareStates(t *testing.T, how string, list, wanted []*sandbox.State) {
	t.Helper()
	for i, want := range wanted {
		got := list[i]
		for at := range want.Memory {
			if at < len(got.Memory) && got.Memory[at] != want.Memory[at] {
				t.Errorf("%s, state %d: memory differs at %#x", how, i, at)
				break
			}
		}
		if len(got.Memory) != len(want.Memory) || !bytes.Equal(got.Blocks, want.Blocks) || !bytes.Equal(got.Random, want.Random) {
			t.Errorf("%s, state %d: memory of %d and %d bytes, blocks of %d and %d", how, i, len(got.Memory), len(want.Memory), len(got.Blocks), len(want.Blocks))
		}
		if !reflect.DeepEqual(got.Globals, want.Globals) || got.Figures != want.Figures {
			t.Errorf("%s, state %d:\n%v %s\nwant\n%v %s", how, i, got.Globals, got.Figures, want.Globals, want.Figures)
		}
	}
}

// plainModules are those whose instances can't begin with an image, and why.
var plainModules = []struct{ name, fields, describe, reason string }{
	{"table.set", `(table 2 funcref)`, `(table.set (i32.const 0) (ref.null func))`, "tables"},
	{"table.grow", `(table 2 funcref)`, `(drop (table.grow 0 (ref.null func) (i32.const 1)))`, "tables"},
	{"table.fill", `(table 2 funcref)`, `(table.fill 0 (i32.const 0) (ref.null func) (i32.const 1))`, "tables"},
	{"table.copy", `(table 2 funcref)`, `(table.copy (i32.const 0) (i32.const 1) (i32.const 1))`, "tables"},
	{"table.init", `(table 2 funcref) (elem $e func 0)`, `(table.init $e (i32.const 0) (i32.const 0) (i32.const 1))`, "tables"},
	{"elem.drop", `(table 2 funcref) (elem $e func 0)`, `(elem.drop $e)`, "element segments"},
	{"memory.init", `(data $d "abc")`, `(memory.init $d (i32.const 70000) (i32.const 0) (i32.const 3))`, "data segments"},
	{"data.drop", `(data $d "abc")`, `(data.drop $d)`, "data segments"},
	{"funcref global", `(global $r (mut funcref) (ref.null func))`, `(global.set $r (ref.null func))`, "globals"},
	{"externref global", `(global $r (mut externref) (ref.null extern))`, ``, "globals"},
	{"open", ``, `(i32.store8 (i32.const 600) (i32.const 46)) (drop (call $path_open (i32.const 3) (i32.const 0) (i32.const 600) (i32.const 1) (i32.const 0) (i64.const 0) (i64.const 0) (i32.const 0) (i32.const 608)))`, "descriptors"},
	{"close", ``, `(drop (call $fd_close (i32.const 0)))`, "descriptors"},
	{"listing", ``, `(drop (call $fd_readdir (i32.const 3) (i32.const 700) (i32.const 100) (i64.const 0) (i32.const 608)))`, "descriptors"},
}

// TestPlain: a module that changes what no image holds has plain instances, says
// why, and does the same.
func TestPlain(t *testing.T) {
	for _, tt := range plainModules {
		t.Run(tt.name, func(t *testing.T) {
			wasm := stateful(t, tt.fields, tt.describe, tt.describe)
			for _, native := range [][]byte{nil, ahead(t, wasm)} {
				how := guesttest.Compare(t, wasm, guesttest.Options{Native: native})
				if how == nil || how.Image || !strings.Contains(how.Reason, tt.reason) {
					t.Errorf("got %+v", how)
				}
			}
		})
	}
}

// TestImage: what a module does before it is asked for anything is the same for
// those that begin with an image.
func TestImage(t *testing.T) {
	for _, tt := range []struct{ name, fields, describe, resolve string }{
		{name: "nothing"},
		{"globals", `(global $a (mut i32) (i32.const 1)) (global $b (mut i64) (i64.const -1)) (global $c (mut f32) (f32.const 1.5)) (global $d (mut f64) (f64.const nan)) (global $e i32 (i32.const 7))`,
			`(global.set $a (i32.const -2)) (global.set $b (i64.const 0x7fffffffffffffff)) (global.set $c (f32.const -0.0)) (global.set $d (f64.const 1e300))`,
			`(call $say (i64.extend_i32_u (global.get $a))) (call $say (global.get $b)) (call $say (i64.extend_i32_u (i32.reinterpret_f32 (global.get $c)))) (call $say (i64.reinterpret_f64 (global.get $d)))
			 (global.set $a (i32.const 99)) (global.set $b (i64.const 99)) (global.set $c (f32.const 99)) (global.set $d (f64.const 99))`},
		{"memory", ``,
			`(drop (memory.grow (i32.const 40))) (i64.store (i32.const 2000000) (i64.const 42))`,
			`(call $say (i64.load (i32.const 2000000))) (call $say (i64.extend_i32_u (memory.size))) (call $say (i64.load (i32.const 700000)))
			 (memory.fill (i32.const 600) (i32.const 255) (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 600)))
			 (call $say (i64.extend_i32_u (memory.grow (i32.const 3)))) (call $say (i64.load (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 8))))`},
		{"clock", ``,
			`(drop (call $clock_time_get (i32.const 0) (i64.const 0) (i32.const 600)))
			 (i64.store (i32.const 620) (i64.const 0)) (i32.store (i32.const 636) (i32.const 1)) (i64.store (i32.const 640) (i64.const 5000000000))
			 (drop (call $poll_oneoff (i32.const 620) (i32.const 700) (i32.const 1) (i32.const 760)))`,
			`(drop (call $clock_time_get (i32.const 0) (i64.const 0) (i32.const 600))) (call $say (i64.load (i32.const 600)))
			 (drop (call $clock_time_get (i32.const 1) (i64.const 0) (i32.const 600))) (call $say (i64.load (i32.const 600)))`},
		{"random", ``,
			`(drop (call $random_get (i32.const 600) (i32.const 13)))`,
			`(drop (call $random_get (i32.const 600) (i32.const 8))) (call $say (i64.load (i32.const 600)))`},
		{"logs and output", ``,
			`(call $say (i64.const 5)) (i32.store (i32.const 600) (i32.const 0)) (i32.store (i32.const 604) (i32.const 10)) (drop (call $fd_write (i32.const 2) (i32.const 600) (i32.const 1) (i32.const 620)))`,
			`(call $say (i64.const 6)) (i32.store (i32.const 600) (i32.const 0)) (i32.store (i32.const 604) (i32.const 20)) (drop (call $fd_write (i32.const 2) (i32.const 600) (i32.const 1) (i32.const 620))) unreachable`},
		{"preopen", ``, // which wazero opens when it is asked for the first time
			`(call $say (i64.extend_i32_u (call $fd_filestat_get (i32.const 3) (i32.const 600))))`,
			`(call $say (i64.extend_i32_u (call $fd_filestat_get (i32.const 3) (i32.const 600)))) (call $say (i64.load (i32.const 608)))
			 (call $say (i64.extend_i32_u (call $fd_readdir (i32.const 3) (i32.const 700) (i32.const 400) (i64.const 0) (i32.const 608)))) (call $say (i64.load (i32.const 608)))
			 (i32.store8 (i32.const 600) (i32.const 46))
			 (call $say (i64.extend_i32_u (call $path_open (i32.const 3) (i32.const 0) (i32.const 600) (i32.const 1) (i32.const 0) (i64.const 0) (i64.const 0) (i32.const 0) (i32.const 608)))) (call $say (i64.load (i32.const 608)))`},
		{"preopen later", ``, ``,
			`(i32.store8 (i32.const 600) (i32.const 46))
			 (call $say (i64.extend_i32_u (call $path_open (i32.const 3) (i32.const 0) (i32.const 600) (i32.const 1) (i32.const 0) (i64.const 0) (i64.const 0) (i32.const 0) (i32.const 608)))) (call $say (i64.load (i32.const 608)))`},
		{"blocks", ``,
			`(drop (call $alloc (i64.const 700000)))`,
			`(call $say (call $alloc (i64.const 300000))) (call $say (call $load_u64 (i64.const 100064)))`},
		{"tables", `(table 3 5 funcref) (elem (i32.const 1) func $say $say)`, ``,
			`(call_indirect (param i64) (i64.const 7) (i32.const 2)) (call_indirect (param i64) (i64.const 7) (i32.const 0))`},
		{"stack", `(func $deep (param i32) (result i32) (if (result i32) (local.get 0) (then (i32.add (i32.const 1) (call $deep (i32.sub (local.get 0) (i32.const 1))))) (else (i32.const 0))))`,
			`(drop (call $deep (i32.const 100)))`, `(call $say (i64.extend_i32_u (call $deep (i32.const 1000)))) (drop (call $deep (i32.const 100000000)))`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wasm := stateful(t, tt.fields, tt.describe, tt.resolve)
			imaged(t, guesttest.Compare(t, wasm, guesttest.Options{Dir: workspace(t)}))
			native := ahead(t, wasm)
			imaged(t, guesttest.Compare(t, wasm, guesttest.Options{Native: native, Dir: workspace(t)}))
			sameStates(t, wasm, native, workspace(t), "r")
		})
	}
}

// stateful is a module that does something in describe, and something in
// resolve, before each answers. $say logs a number.
func stateful(t *testing.T, fields, describe, resolve string) []byte {
	t.Helper()
	return statefulWith(t, "", fields, describe, resolve)
}

// statefulWith is stateful with more imports.
func statefulWith(t *testing.T, imports, fields, describe, resolve string) []byte {
	t.Helper()
	const description = `{"abi":1,"name":"stateful","version":"1.0.0","resolvers":[{"name":"r","kinds":["skill"],"reads":["**"]}]}`
	quoted := strings.ReplaceAll(description, `"`, `\"`)
	return wasmtest.MustWAT(`(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "load_u64" (func $load_u64 (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "log_info" (func $log_info (param i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock_time_get (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_close" (func $fd_close (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_filestat_get" (func $fd_filestat_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_readdir" (func $fd_readdir (param i32 i32 i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open" (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))` + imports + `
  (memory 12 64)
  (data (i32.const 0) "` + quoted + `")
  (data (i32.const 500) "{\"resources\":[]}")
  (data (i32.const 700000) "far away")
  ` + fields + `
  (func $say (param $v i64) (local $b i64) (local $i i32)
    (local.set $b (call $alloc (i64.const 16)))
    (loop $next
      (call $store_u8 (i64.add (local.get $b) (i64.extend_i32_u (local.get $i)))
        (i32.add (i32.const 65) (i32.wrap_i64 (i64.and (i64.shr_u (local.get $v) (i64.extend_i32_u (i32.shl (local.get $i) (i32.const 2)))) (i64.const 15)))))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 16))))
    (call $log_info (local.get $b)))
  (func $answer (param $at i32) (param $n i32) (result i32) (local $b i64) (local $i i32)
    (local.set $b (call $alloc (i64.extend_i32_u (local.get $n))))
    (loop $next
      (call $store_u8 (i64.add (local.get $b) (i64.extend_i32_u (local.get $i))) (i32.load8_u (i32.add (local.get $at) (local.get $i))))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (call $output_set (local.get $b) (i64.extend_i32_u (local.get $n)))
    (i32.const 0))
  (func (export "describe") (result i32) ` + describe + ` (call $answer (i32.const 0) (i32.const ` + itoa(len(description)) + `)))
  (func (export "resolve") (result i32) ` + resolve + ` (call $answer (i32.const 500) (i32.const 16))))`)
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

// TestNoMemoryFile: where the system gives no file for an image, instances are
// plain, the reason is there, and runs are the same.
func TestNoMemoryFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("images are for Linux")
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	restore := func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Error(err)
		}
	}
	defer restore()
	var logs bytes.Buffer
	h := sandbox.New(sandbox.Options{
		Logger: slog.New(slog.NewTextHandler(&logs, nil)),
		Running: func(string, time.Duration) func() { // the call of describe, after which the image is made
			return func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: limit.Max}) }
		},
	})
	m, err := h.Load(t.Context(), good().Bytes(), sandbox.Limits{Time: time.Minute})
	restore()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	if how := m.Instances(); how.Image || !strings.Contains(how.Reason, "too many open files") {
		t.Errorf("got %+v", how)
	}
	if !strings.Contains(logs.String(), "initialized anew") {
		t.Errorf("it says %q", logs.String())
	}
}
