package authors_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"waymark/test/guestbuild"
)

// TestExamples builds every resolver in examples, runs its fixtures and holds it
// to the ABI, all with the harness. Nothing is built into the tree.
func TestExamples(t *testing.T) {
	fixtures, err := filepath.Glob("../../examples/*/testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	byExample := map[string][]string{}
	for _, f := range fixtures {
		dir := filepath.Dir(filepath.Dir(f))
		if f, err = filepath.Abs(f); err != nil {
			t.Fatal(err)
		}
		byExample[dir] = append(byExample[dir], f)
	}
	if len(byExample) < 3 {
		t.Errorf("there are examples in %d languages, want 3", len(byExample))
	}
	h := newHome(t)
	for dir, fixtures := range byExample {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			wasm := filepath.Join(t.TempDir(), filepath.Base(dir)+".wasm")
			h.harness(t, "build", source(t, dir), "--output", wasm)
			h.harness(t, append([]string{"test", wasm}, fixtures...)...)
			// The harness reads no configuration unless told, and this machine may
			// stand still for longer than a call may take.
			out := h.harness(t, "check", "--config", filepath.Join(h.dir, ".config", "waymark", "plugin.toml"), wasm)
			// How much of its time a run needs, depends on what else the machine does.
			if strings.Count(out, "\n  warn ") > strings.Count(out, "\n  warn  budget ") {
				t.Errorf("check warns:\n%s", out)
			}
			if !strings.Contains(out, "\n  pass  extism ") {
				t.Errorf("it doesn't run on every Extism host:\n%s", out)
			}
		})
	}
}

// source returns the directory to build: a copy with what npm would install,
// where that is needed.
func source(t *testing.T, dir string) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "asconfig.json")); err != nil {
		return dir
	}
	work := filepath.Join(t.TempDir(), filepath.Base(dir))
	if err := guestbuild.CopyAssemblyScript(work, dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(guestbuild.NodeModules(t, dir), filepath.Join(work, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return work
}

// harness runs the harness where the test is. A test whose toolchain is missing
// is skipped.
func (h *home) harness(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "harness"), args...)
	cmd.Env = h.env
	out, err := cmd.CombinedOutput()
	switch text := string(out); {
	case err == nil:
		return text
	case args[0] == "build" && strings.Contains(text, " is missing: ") && os.Getenv("WAYMARK_REQUIRE_ALL") == "":
		t.Skipf("SKIPPED: %s", text)
	default:
		t.Fatalf("harness %s: %v\n%s", strings.Join(args, " "), err, text)
	}
	return ""
}
