package authors_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"waymark/test/built"
)

// TestExamples builds every resolver in examples, runs its fixtures and holds it
// to the ABI, all with the harness. Nothing is built into the tree.
func TestExamples(t *testing.T) {
	long(t)
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

// TestExamplesCopied takes every example out of the repository, as harness new
// --from does, builds it there without a network and runs its fixtures.
func TestExamplesCopied(t *testing.T) {
	examples, err := os.ReadDir("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	h := newHome(t)
	for _, e := range examples {
		if !e.IsDir() || e.Name() == "chat" { // which is a program to read
			continue
		}
		t.Run(e.Name(), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "elsewhere")
			h.harness(t, "new", "--from", e.Name(), "--dir", dir)
			sameFiles(t, filepath.Join("../../examples", e.Name()), dir)
			if _, err := os.Stat(filepath.Join(dir, "testdata")); err != nil {
				prepareCopy(t, h, dir)
				return
			}
			if _, err := os.Stat(filepath.Join(dir, "main.go")); err != nil {
				long(t)
			}
			if _, err := os.Stat(filepath.Join(dir, "package.json")); err == nil {
				if err := os.Symlink(built.NodeModules(t, dir), filepath.Join(dir, "node_modules")); err != nil {
					t.Fatal(err)
				}
			}
			h.harness(t, "build", "--offline", dir)
			h.harness(t, "test", filepath.Join(dir, "elsewhere.wasm"))
		})
	}
}

// sameFiles requires that a copy has all files of an example that are under
// version control: the harness names them by patterns, and a new kind of file
// could be missing.
func sameFiles(t *testing.T, example, dir string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", ".")
	cmd.Dir = example
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("SKIPPED: not a git repository: %v", err)
	}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		want, err := os.Stat(filepath.Join(example, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.Stat(filepath.Join(dir, name))
		switch {
		case err != nil:
			t.Errorf("the copy lacks %s: add it to examples.go", name)
		case !want.IsDir() && (got.Size() != want.Size() || got.Mode()&0o111 == 0 != (want.Mode()&0o111 == 0)):
			t.Errorf("the copy's %s has %d bytes and mode %s, the example's %d and %s", name, got.Size(), got.Mode(), want.Size(), want.Mode())
		}
	}
}

// prepareCopy makes what a copy of the workspace template needs, with the
// programs in PATH.
func prepareCopy(t *testing.T, h *home, dir string) {
	t.Helper()
	if out, err := h.command(t.Context(), dir, "./prepare.sh").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"agent", "plugins/cursor-rules.wasm"} {
		if info, err := os.Stat(filepath.Join(dir, "build", name)); err != nil || info.Size() == 0 {
			t.Errorf("build/%s: %v", name, err)
		}
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
	if err := built.CopyAssemblyScript(work, dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(built.NodeModules(t, dir), filepath.Join(work, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return work
}

// tooSlow is what the harness says when a module can't be compiled in the time
// that a user would wait. A machine that stands still is no news about it.
const tooSlow = "compiling it takes more than"

// harness runs the harness where the test is. A test whose toolchain is missing
// is skipped.
func (h *home) harness(t *testing.T, args ...string) string {
	t.Helper()
	var out []byte
	err := errors.New("not run yet")
	for tries := 0; err != nil && (tries == 0 || tries < 20 && bytes.Contains(out, []byte(tooSlow))); tries++ {
		cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "harness"), args...)
		cmd.Env = h.env
		out, err = cmd.CombinedOutput()
	}
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
