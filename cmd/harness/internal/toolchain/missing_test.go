package toolchain_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/cmd/harness/internal/toolchain"
)

// tool puts a program into a directory.
func tool(t *testing.T, dir, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// Toolchains that lack something, as they say it. The texts are those of
// clang 19 and Go 1.26.
func TestMissing(t *testing.T) {
	const c, golang = "main.c", "main.go"
	tests := []struct {
		name, source string
		tools        map[string]string
		tool, why    string
		how          string
	}{
		{"no go", golang, nil, "go", "no program of that name", "go.dev"},
		{"old go", golang, map[string]string{"go": `echo "go: go.mod requires go >= 1.26.0 (running go 1.22.1; GOTOOLCHAIN=local)" >&2; exit 1`},
			"a newer Go", "running go 1.22.1", "go.dev"},
		{"no clang", c, nil, "clang", "no clang in PATH", "apt install clang-19"},
		{"no wasm in clang", c, map[string]string{"clang-19": `echo "error: unable to create target: 'No available targets are compatible with triple \"wasm32-unknown-wasi\"'" >&2; exit 1`},
			"a clang for wasm32-wasi", "No available targets", "apt install"},
		{"no linker", c, map[string]string{"clang-19": `echo "clang: error: unable to execute command: Executable \"wasm-ld\" doesn't exist!" >&2; exit 1`},
			"wasm-ld", "wasm-ld", "lld-19"},
		{"no headers", c, map[string]string{"clang": `echo "/tmp/probe.c:1:10: fatal error: 'stdlib.h' file not found" >&2; exit 1`},
			"wasi-libc", "stdlib.h", "wasi-libc"},
		{"no libc", c, map[string]string{"clang-20": `echo "wasm-ld: error: cannot open crt1-reactor.o: No such file or directory" >&2; exit 1`},
			"wasi-libc", "crt1-reactor.o", "wasi-libc"},
		{"no runtime", c, map[string]string{"clang-19": `echo "wasm-ld-19: error: cannot open /usr/lib/llvm-19/lib/clang/19/lib/wasi/libclang_rt.builtins-wasm32.a: No such file or directory" >&2; exit 1`},
			"the compiler runtime for wasm32", "libclang_rt", "libclang-rt-19-dev-wasm32"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bin := t.TempDir()
			for name, script := range tt.tools {
				tool(t, bin, name, script)
			}
			t.Setenv("PATH", bin)
			t.Setenv(toolchain.EnvSDK, "")
			dir := source(t, map[string]string{tt.source: ""})
			_, err := toolchain.Build(t.Context(), dir, toolchain.Options{})
			var missing *toolchain.MissingError
			if !errors.As(err, &missing) {
				t.Fatalf("got %v, want a MissingError", err)
			}
			if missing.Tool != tt.tool || !strings.Contains(missing.Why, tt.why) || !strings.Contains(missing.How, tt.how) {
				t.Errorf("got %q, %q, %q", missing.Tool, missing.Why, missing.How)
			}
		})
	}
}

// The newest clang that can is taken, and that of a WASI SDK before all others.
func TestWhichClang(t *testing.T) {
	bin, sdk := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(sdk, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	// Writes its own name where it is told to.
	const works = `while [ "$1" != -o ]; do shift; done; echo "${0##*/}" > "$2"`
	tool(t, bin, "clang", works)
	tool(t, bin, "clang-9", works)
	tool(t, bin, "clang-19", works)
	tool(t, bin, "clang-21", "exit 1")
	tool(t, bin, "clang-format-22", works)
	tool(t, filepath.Join(sdk, "bin"), "clang", works+`; echo sdk > "$2"`)
	t.Setenv("PATH", bin)
	t.Setenv(toolchain.EnvSDK, "")
	dir := source(t, map[string]string{"main.c": ""})
	for _, want := range []string{"clang-19\n", "sdk\n"} {
		wasm, err := toolchain.Build(t.Context(), dir, toolchain.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(wasm); err != nil || string(got) != want {
			t.Errorf("built with %q, %v; want %q", got, err, want)
		}
		t.Setenv(toolchain.EnvSDK, sdk)
	}
}
