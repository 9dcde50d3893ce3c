package built_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/test/built"
)

const project = "../../examples/gemini"

func TestAssemblyScript(t *testing.T) {
	wasm := built.AssemblyScript(t, project)
	if !bytes.HasPrefix(wasm, []byte("\x00asm\x01\x00\x00\x00")) {
		t.Error("it isn't a wasm module")
	}
	if again := built.AssemblyScript(t, project); !bytes.Equal(wasm, again) {
		t.Error("a second build differs")
	}
}

func TestAssemblyScriptMistake(t *testing.T) {
	modules := built.NodeModules(t, project) // or skip
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../cmd/harness/internal/toolchain/templates/assemblyscript")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"package.json", "package-lock.json", "asconfig.json", "assembly/index.ts"} {
		if err := os.Rename(filepath.Join(dir, name+".tmpl"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "sdk"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := built.BuildAssemblyScript(t.Context(), dir) // without the kit
	if err == nil || errors.Is(err, built.ErrMissing) || !strings.Contains(err.Error(), "assembly/index.ts") {
		t.Errorf("got %v, want what the compiler says", err)
	}
	if again := built.NodeModules(t, dir); again != modules {
		t.Errorf("a project of another name has its own %s, not %s", again, modules)
	}
}

func TestAssemblyScriptMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := built.BuildAssemblyScript(t.Context(), project); !errors.Is(err, built.ErrMissing) {
		t.Errorf("got %v, want ErrMissing", err)
	}
}
