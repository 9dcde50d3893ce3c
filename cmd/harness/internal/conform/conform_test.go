package conform_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/cmd/harness/internal/conform"
	"waymark/host/plugin"
	"waymark/host/sandbox"
	"waymark/test/wasmtest"
)

// TestSound: what every agent runs passes, and so does a plain resolver, of
// which nothing is reported.
func TestSound(t *testing.T) {
	t.Parallel()
	for pkg, warns := range map[string][]string{
		"waymark/plugins/builtin": {"describe", "request", "rows"},
		"./testdata/good":         nil,
	} {
		t.Run(filepath.Base(pkg), func(t *testing.T) {
			t.Parallel()
			opts := options()
			if pkg == "waymark/plugins/builtin" { // an agent gives it so much
				if testing.Short() {
					opts.Only = []string{"mcp-config"} // context has by far the most files
				}
				opts.FileLimits.Opens, opts.FileLimits.Entries, opts.Limits.Response = 32768, 400_000, 4<<20
			}
			r := check(t, guest(t, pkg), opts)
			for _, f := range r.Findings {
				if f.Severity == conform.Fail || f.Severity == conform.Warn && !slices.Contains(warns, f.Rule) {
					t.Errorf("%s %s %s: %s %v", f.Severity, f.Rule, f.Resolver, f.Detail, f.Workspaces)
				}
			}
			if r.Runs < 60 {
				t.Errorf("only %d runs", r.Runs)
			}
			if passed := len(r.Findings) - r.Warns; passed < 14 {
				t.Errorf("%d rules have passed: %+v", passed, r.Findings)
			}
		})
	}
}

// fixed is a module with fixed answers; %s is the name of its resolver.
func fixed(describe, resolve string) []byte {
	return wasmtest.File{Describe: describe, Resolve: resolve}.Bytes()
}

const (
	description = `{"abi":1,"name":"fixed","version":"1.0.0","resolvers":[{"name":"r","kinds":["instruction_file"],"summary":"s","reads":["AGENTS.md"]}]}`
	nothing     = `{"resources":[]}`
)

// TestRejected: what no agent would take fails at once, with what to do.
func TestRejected(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wasm   []byte
		detail string
	}{
		"another ABI":      {fixed(strings.Replace(description, `"abi":1`, `"abi":2`, 1), nothing), "it speaks ABI version 2, this host speaks version 1"},
		"no resolve":       {wasmtest.File{Describe: description, NoResolve: true}.Bytes(), `no exported function "resolve"`},
		"unknown import":   {wasmtest.File{Describe: description, Imports: []string{"env abort"}}.Bytes(), "unknown import env abort"},
		"a command":        {wasmtest.File{Describe: description, Exports: []string{"_start"}}.Bytes(), "it is a command"},
		"declares servers": {fixed(strings.Replace(description, "instruction_file", "mcp_server", 1), nothing), "declares mcp_server"},
		"climbs up":        {fixed(strings.Replace(description, "AGENTS.md", "../AGENTS.md", 1), nothing), "invalid pattern"},
		"not wasm":         {[]byte("#!/bin/sh\n"), "not WebAssembly"},
		"cut off":          {fixed(description, nothing)[:200], "the file ends in the middle of a section"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := check(t, write(t, c.wasm), options())
			if r.Fails != 1 || r.Findings[0].Rule != "module" || !strings.Contains(r.Findings[0].Detail, c.detail) || r.Findings[0].Hint == "" {
				t.Errorf("want %q, got %+v", c.detail, r.Findings)
			}
		})
	}
}

// TestDescribed: a name that is taken, and files that aren't shown, are warned of.
func TestDescribed(t *testing.T) {
	t.Parallel()
	describe := strings.NewReplacer("fixed", "waymark", "AGENTS.md", "plugin.json").Replace(description)
	r := check(t, write(t, fixed(describe, nothing)), options())
	for _, want := range []string{
		"warn describe : its name is that of the built-in module",
		"warn describe r: its reads name plugin.json, which holds MCP servers or hooks",
	} {
		if !strings.Contains(lines(r), want) {
			t.Errorf("no %q in\n%s", want, lines(r))
		}
	}
}

// TestHooksOfSettings: what an agent takes out of hooks is told beforehand.
func TestHooksOfSettings(t *testing.T) {
	t.Parallel()
	for reads, want := range map[string]bool{".claude/settings.json": true, "**": true, "hooks-of-mine.json": false} {
		describe := strings.NewReplacer("AGENTS.md", reads, `"instruction_file"`, `"hook"`).Replace(description)
		r := check(t, write(t, fixed(describe, nothing)), options())
		if got := strings.Contains(lines(r), "warn describe r: its hooks lose their words"); got != want {
			t.Errorf("with %s: %v\n%s", reads, got, lines(r))
		}
	}
}

// TestAnswers: modules that don't look at what they are asked.
func TestAnswers(t *testing.T) {
	t.Parallel()
	emits := func(row string) string { return `{"resources":[` + row + `]}` }
	for name, c := range map[string]struct {
		wasm         []byte
		rule, detail string
	}{
		"answers everybody": {fixed(description, nothing), "request", "for a resolver that it doesn't have"},
		"any version":       {fixed(description, nothing), "request", "of ABI version 2"},
		"not UTF-8":         {fixed(description, emits(`{"kind":"instruction_file","path":"AGENTS.md","name":"`+"\xff"+`"}`)), "sample", "bad answer"},
		"not JSON":          {fixed(description, "none"), "empty", "bad answer"},
		"finds itself":      {fixed(description, emits(`{"kind":"instruction_file","path":"."}`)), "empty", "it finds 1 resource in an empty workspace"},
		"invents a status":  {fixed(description, emits(`{"kind":"instruction_file","path":".","status":"oversize"}`)), "rows", "its status is not for a resolver to give"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			misdeed{"r", c.rule, c.detail}.found(t, check(t, write(t, c.wasm), options()))
		})
	}
}

// smallBuffer has room for requests up to a length, as C programs like to have.
func smallBuffer(room int) []byte {
	return wasmtest.MustWAT(fmt.Sprintf(`(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (import "extism:host/env" "error_set" (func $error_set (param i64)))
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (memory (export "memory") 1)
  (data (i32.const 16) %[1]s)
  (data (i32.const 4096) %[2]s)
  (func $text (param $at i32) (param $size i32) (result i64) (local $block i64) (local $i i32)
    (local.set $block (call $alloc (i64.extend_i32_u (local.get $size))))
    (loop $next
      (call $store_u8 (i64.add (local.get $block) (i64.extend_i32_u (local.get $i))) (i32.load8_u (i32.add (local.get $at) (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $size))))
    (local.get $block))
  (func (export "describe") (result i32)
    (call $output_set (call $text (i32.const 16) (i32.const %[3]d)) (i64.const %[3]d))
    (i32.const 0))
  (func (export "resolve") (result i32)
    (if (i64.gt_u (call $input_length) (i64.const %[5]d))
      (then (call $error_set (call $text (i32.const 4096) (i32.const 8))) (return (i32.const 1))))
    (call $output_set (call $text (i32.const 4112) (i32.const %[4]d)) (i64.const %[4]d))
    (i32.const 0)))`, wasmtest.Quote(description), wasmtest.Quote("too long\x00\x00\x00\x00\x00\x00\x00\x00"+nothing), len(description), len(nothing), room))
}

// TestLaterHosts: a module that takes the requests of today, but not those that
// version 1 allows, won't run in later hosts.
func TestLaterHosts(t *testing.T) {
	t.Parallel()
	misdeed{"r", "request", "it refuses a request with unknown fields: resolver error: too long"}.
		found(t, check(t, write(t, smallBuffer(170)), options()))
}

// TestKeep: the workspaces can be looked at afterwards. Without a process to run the
// module in elsewhere that is left out.
func TestKeep(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	o := conform.Options{File: guest(t, "./testdata/good"), Host: options(), Dir: dir}
	r, err := conform.Check(t.Context(), o)
	if err != nil || !r.OK() {
		t.Fatal(err, lines(r))
	}
	skipped(t, r, "there is no process to do that in")
	fifos, err := filepath.Glob(dir + "/*-fifo/workspace/rules/alpha.md")
	if err != nil || len(fifos) != 1 {
		t.Errorf("no pipe in %s: %v %v", dir, fifos, err)
	}
	if _, err := conform.Check(t.Context(), o); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("it was used again: %v", err)
	}
}

// TestErrors: what isn't the module's fault.
func TestErrors(t *testing.T) {
	t.Parallel()
	if _, err := conform.Check(t.Context(), conform.Options{File: "no-such.wasm"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that isn't there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := conform.Check(ctx, conform.Options{File: guest(t, "./testdata/good"), Host: options()}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestConfigured: the operator's entry for the module counts: what it narrows,
// and where its configuration says that there are files.
func TestConfigured(t *testing.T) {
	t.Parallel()
	opts := options()
	opts.Plugins = []plugin.Entry{{Name: "good", Reads: []string{"other/**"}}}
	r := check(t, guest(t, "./testdata/good"), opts)
	if !strings.Contains(lines(r), "became a resource") {
		t.Errorf("reads were narrowed to nothing, and yet:\n%s", lines(r))
	}
}

// TestHeadRoom: what stays within a limit, but only just, is warned of.
func TestHeadRoom(t *testing.T) {
	t.Parallel()
	opts := options()
	opts.FileLimits.Opens, opts.Caps.MaxResources = 600, 500 // where it stops
	opts.Plugins = []plugin.Entry{{Name: "good", Limits: sandbox.Limits{Memory: 8 << 20}}}
	r := check(t, guest(t, "./testdata/good"), opts)
	for _, what := range []string{"opens", "memory"} {
		if !r.OK() || !strings.Contains(lines(r), "warn budget rules: it uses more than 75% of the limit "+what+" [crowd]") {
			t.Errorf("nothing about %s:\n%s", what, lines(r))
		}
	}
}
