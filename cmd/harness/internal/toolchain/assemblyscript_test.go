package toolchain_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/cmd/harness/internal/toolchain"
	"waymark/test/built"
)

// newAssemblyScript makes a scaffold without what npm would install.
func newAssemblyScript(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "acme-rules")
	if err := toolchain.Write(dir, "acme-rules", toolchain.AssemblyScript); err != nil {
		t.Fatal(err)
	}
	return dir
}

// emptyPath makes PATH a directory with the programs of these names, which do
// nothing.
func emptyPath(t *testing.T, programs ...string) {
	t.Helper()
	dir := t.TempDir()
	for _, p := range programs {
		if err := os.WriteFile(filepath.Join(dir, p), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

func TestAssemblyScriptMissing(t *testing.T) {
	dir := newAssemblyScript(t)
	for _, tt := range []struct {
		programs  []string
		tool, how string
	}{
		{nil, "node", "apt install nodejs npm"},
		{[]string{"node"}, "the AssemblyScript compiler", "apt install nodejs npm; then run npm ci in " + dir},
		{[]string{"node", "npm"}, "the AssemblyScript compiler", "run npm ci in " + dir},
	} {
		emptyPath(t, tt.programs...)
		_, err := toolchain.Build(t.Context(), dir, toolchain.Options{})
		var missing *toolchain.MissingError
		if !errors.As(err, &missing) || missing.Tool != tt.tool || !strings.HasSuffix(missing.How, tt.how) {
			t.Errorf("with %q: %v, want %s missing, and %s", tt.programs, err, tt.tool, tt.how)
		}
	}
}

// TestAssemblyScript builds a scaffold twice, with what its lock file names.
func TestAssemblyScript(t *testing.T) {
	var wasms [2][]byte
	for i := range wasms {
		dir := newAssemblyScript(t)
		if err := os.Symlink(built.NodeModules(t, dir), filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
		wasm, err := toolchain.Build(t.Context(), dir, toolchain.Options{Offline: true})
		if err != nil {
			t.Fatal(err)
		}
		if wasm != filepath.Join(dir, "acme-rules.wasm") {
			t.Errorf("it is %s", wasm)
		}
		if wasms[i], err = os.ReadFile(wasm); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			break
		}
		if !bytes.Contains(wasms[i], []byte("assembly/index/describe")) {
			t.Error("it doesn't name its functions")
		}
		index := filepath.Join(dir, "assembly", "index.ts")
		if err := os.WriteFile(index, []byte("export function describe(): i32 { return nothing; }\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = toolchain.Build(t.Context(), dir, toolchain.Options{})
		if err == nil || !strings.Contains(err.Error(), "assembly/index.ts(1,") {
			t.Errorf("a mistake in the source: %v", err)
		}
		if kept, err := os.ReadFile(wasm); err != nil || !bytes.Equal(kept, wasms[0]) {
			t.Errorf("a failed build doesn't leave the module as it was (%v)", err)
		}
	}
	if !bytes.Equal(wasms[0], wasms[1]) {
		t.Error("two builds differ")
	}
	if bytes.Contains(wasms[0], []byte(os.TempDir())) {
		t.Error("the module holds a path of this machine")
	}
}
