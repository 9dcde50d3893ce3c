package extism_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"waymark/cmd/harness/internal/extism"
	"waymark/host/vfs"
	"waymark/test/testenv"
	"waymark/test/wasmtest"
)

// guest is a module with some fields and the bodies of its two functions.
func guest(fields, describe, resolve string) []byte {
	return wasmtest.MustWAT(fmt.Sprintf(`(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "length" (func $length (param i64) (result i64)))
  (import "extism:host/env" "load_u8" (func $load_u8 (param i64) (result i32)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (import "extism:host/user" "fs_stat" (func $fs_stat (param i64) (result i64)))
  (memory (export "memory") 1)
  (func $hello (result i32) (local $h i64)
    (local.set $h (call $alloc (i64.const 2)))
    (call $store_u8 (local.get $h) (i32.const 104)) (call $store_u8 (i64.add (local.get $h) (i64.const 1)) (i32.const 105))
    (call $output_set (local.get $h) (i64.const 2)) (i32.const 0))
  %s
  (func (export "describe") (result i32) %s)
  (func (export "resolve") (result i32) (local $h i64) (local $i i64) %s))`, fields, describe, resolve))
}

const (
	hello   = "(call $hello)"
	forever = "(loop $again (br $again)) (i32.const 0)"
	// ownSuccessor makes a block its own successor in the list that the kernel
	// walks: the 4 bytes of its size lie 8 before it, and 12 is what it keeps of
	// each.
	ownSuccessor = `(local.set $h (call $alloc (i64.const 64)))
    (call $store_u8 (i64.sub (local.get $h) (i64.const 8)) (i32.const 244))
    (call $store_u8 (i64.sub (local.get $h) (i64.const 7)) (i32.const 255))
    (call $store_u8 (i64.sub (local.get $h) (i64.const 6)) (i32.const 255))
    (call $store_u8 (i64.sub (local.get $h) (i64.const 5)) (i32.const 255))
    (drop (call $length (i64.const 60000))) (i32.const 0)`
)

func question(t *testing.T) extism.Question {
	t.Helper()
	return extism.Question{Root: t.TempDir(), View: vfs.View{Reads: []string{"**"}}, Input: []byte("{}")}
}

// TestFaults: whatever a module does that nothing in the SDK bounds, there is an
// end of it, and a line that says which.
func TestFaults(t *testing.T) {
	t.Parallel()
	const late, gone, refused = "takes longer than ", "ended its process: ", "can't be loaded: "
	for name, c := range map[string]struct {
		wasm    []byte
		answers int // before it
		text    string
	}{
		"a loop":                      {guest("", hello, forever), 1, late},
		"a loop in describe":          {guest("", forever, hello), 0, late},
		"a loop in _initialize":       {guest(`(func (export "_initialize") (loop $again (br $again)))`, hello, hello), 0, late},
		"a loop in start":             {guest(`(func $start (loop $again (br $again))) (start $start)`, hello, hello), 0, late},
		"a loop of calls":             {guest("", hello, `(loop $again (drop (call $length (i64.const 0))) (br $again)) (i32.const 0)`), 1, late},
		"a list that goes in circles": {guest("", hello, ownSuccessor), 1, late},
		"a huge table":                {guest("(table $t 1 funcref)", hello, `(drop (table.grow $t (ref.null func) (i32.const 400000000))) (i32.const 0)`), 1, gone},
		"no module":                   {[]byte("#!/bin/sh\n"), 0, refused + "invalid magic number"},
		"another host's imports":      {wasmtest.File{Describe: "{}", Resolve: "{}", Imports: []string{"env abort"}}.Bytes(), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := extism.Job{Wasm: c.wasm, Limits: extism.Limits{Time: 300 * time.Millisecond}, Questions: []extism.Question{question(t), question(t)}}
			if c.text == gone || c.text == "" {
				job.Limits.Time = time.Minute
			}
			answers, err := child.Run(t.Context(), job)
			// A machine that stands still keeps what is to be answered before from it, too.
			for len(answers) < c.answers && job.Limits.Time < time.Minute {
				job.Limits.Time *= 4
				answers, err = child.Run(t.Context(), job)
			}
			if c.text == "" { // it loads, but doesn't link
				if err != nil || len(answers) != 3 || !answers[0].Failed || !strings.Contains(answers[0].Crash, "env") {
					t.Errorf("got %+v, %v", answers, err)
				}
				return
			}
			var fault *extism.Fault
			if !errors.As(err, &fault) || !strings.HasPrefix(fault.Text, c.text) || strings.Contains(fault.Text, "\n") {
				t.Errorf("got %v, want %q", err, c.text)
			}
			if len(answers) != c.answers {
				t.Errorf("%d answers before, want %d: %+v", len(answers), c.answers, answers)
			}
		})
	}
}

// TestTraps: what ends a call doesn't end the process, and every question is
// answered on an instance of its own.
func TestTraps(t *testing.T) {
	t.Parallel()
	count := guest(`(global $runs (mut i32) (i32.const 0))`, hello,
		`(global.set $runs (i32.add (global.get $runs) (i32.const 1))) (if (i32.gt_u (global.get $runs) (i32.const 1)) (then (return (i32.const 7)))) (call $hello)`)
	for name, c := range map[string]struct {
		wasm  []byte
		crash string
	}{
		"a trap":                {guest("", hello, "(unreachable)"), "wasm error: unreachable"},
		"deep recursion":        {guest("(func $deep (call $deep))", hello, "(call $deep) (i32.const 0)"), "stack overflow"},
		"an instance each time": {count, ""},
	} {
		if testenv.Race && c.crash == "stack overflow" {
			continue // what the detector keeps of three stacks is more than the child may have
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers, err := child.Run(t.Context(), extism.Job{Wasm: c.wasm, Questions: []extism.Question{question(t), question(t), question(t)}})
			if err != nil || len(answers) != 4 {
				t.Fatalf("%d answers, %v", len(answers), err)
			}
			if string(answers[0].Output) != "hi" {
				t.Errorf("describe: %+v", answers[0])
			}
			for _, a := range answers[1:] {
				if a.Failed != (c.crash != "") || !strings.Contains(a.Crash, c.crash) || !a.Failed && string(a.Output) != "hi" {
					t.Errorf("got %+v, want %q", a, c.crash)
				}
			}
		})
	}
}

// TestMemory: the memory of a module, and that of the kernel, end at the limit.
// A host that has no room says so, and the guest goes on.
func TestMemory(t *testing.T) {
	t.Parallel()
	hoard := guest("", hello, `(loop $again (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    (if (i32.gt_u (memory.size) (i32.const 128)) (then (unreachable)))
    (drop (call $hello))
    (loop $again (local.set $i (i64.add (local.get $i) (i64.const 1))) (br_if $again (i64.ne (call $alloc (i64.const 1048576)) (i64.const 0))))
    (if (i64.gt_u (local.get $i) (i64.const 8)) (then (unreachable)))
    (i32.const 0)`)
	answers, err := child.Run(t.Context(), extism.Job{Wasm: hoard, Limits: extism.Limits{Memory: 8 << 20}, Questions: []extism.Question{question(t)}})
	if err != nil || len(answers) != 2 || answers[1].Failed {
		t.Errorf("%+v, %v", answers, err)
	}
}

// TestCanceled: who gives up gets the context's error, and nothing is left.
func TestCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := child.Run(ctx, extism.Job{Wasm: guest("", forever, hello), Limits: extism.Limits{Time: time.Hour}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestOrphan: a child ends when nobody is interested any more, also in the
// middle of a module that doesn't.
func TestOrphan(t *testing.T) {
	t.Parallel()
	// The child is to end with its standard input: not with the thread that has
	// started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd, err := program.Command(t.Context(), extism.Role().Name)
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	job := extism.Job{Wasm: guest("", hello, forever), Limits: extism.Limits{Time: time.Hour}, Questions: []extism.Question{question(t)}}
	if err := json.NewEncoder(stdin).Encode(job); err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(stdout).Decode(new(any)); err != nil { // that of describe
		t.Fatal(err)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait() // go test's own deadline ends a test that hangs here
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).ExitStatus() != 1 {
		t.Errorf("it ended with %v", err)
	}
}

// TestViews: a question says what there is to see, and how much of it.
func TestViews(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	// It asks for files "e" and "f", and answers with what it is told of the last.
	wasm := guest("", hello, `(local.set $h (call $alloc (i64.const 1))) (call $store_u8 (local.get $h) (i32.const 101))
    (local.set $i (call $fs_stat (local.get $h)))
    (call $store_u8 (local.get $h) (i32.const 102)) (local.set $i (call $fs_stat (local.get $h)))
    (call $output_set (local.get $i) (call $length (local.get $i))) (i32.const 0)`)
	all := vfs.View{Reads: []string{"**"}}
	answers, err := child.Run(t.Context(), extism.Job{Wasm: wasm, Questions: []extism.Question{
		{Root: dir, View: all}, {Root: filepath.Join(dir, "f"), View: all}, {Root: dir, View: vfs.View{Reads: []string{"g"}}},
		{Root: dir, View: all, Limits: vfs.Limits{Entries: 1}},
	}})
	if err != nil || len(answers) != 5 {
		t.Fatalf("%+v, %v", answers, err)
	}
	for i, want := range []string{`{"type":"file","size":4}`, `{"type":"file","size":4}`, `{"errno":"ENOENT","message":"no such file or directory"}`, ""} {
		if a := answers[i+1]; string(a.Output) != want || a.Failed != (want == "") {
			t.Errorf("question %d: %q %s, want %q", i, a.Output, a.Crash, want)
		}
	}
	if _, err := child.Run(t.Context(), extism.Job{Wasm: wasm, Questions: []extism.Question{{Root: filepath.Join(dir, "none"), View: all}}}); err == nil || errors.As(err, new(*extism.Fault)) {
		t.Errorf("a root that isn't there: %v", err)
	}
}
