//go:build !wasip1

package c_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestMain removes what was built: a process is shared by all tests, and by all
// runs of a fuzz target.
func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := buildDir(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

var buildDir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "waymark-c-kit-*") })

// strict is what the header must stand.
var strict = []string{"-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wno-sign-conversion", "-Werror"}

var errNoCompiler = errors.New("no C compiler; install Debian's clang-19, lld-19, wasi-libc and libclang-rt-19-dev-wasm32")

// errShort is why the short form compiles nothing.
var errShort = errors.New("compiles C")

// compile compiles the probe with the first of some compilers that is there and
// has what the flags ask for, and returns where it is.
func compile(name string, compilers []string, flags ...string) (string, error) {
	if testing.Short() {
		return "", errShort
	}
	dir, err := buildDir()
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, name)
	err = errNoCompiler
	for _, compiler := range compilers {
		path, lookErr := exec.LookPath(compiler)
		if lookErr != nil {
			continue
		}
		args := append(append(append([]string{}, strict...), flags...), "-o", out, "testdata/probe.c")
		text, runErr := exec.CommandContext(context.Background(), path, args...).CombinedOutput()
		if runErr == nil {
			return out, nil
		}
		err = fmt.Errorf("%s: %w\n%s", compiler, runErr, text)
		if !bytes.Contains(text, []byte("san")) { // else its sanitizers come in a package that isn't there
			break
		}
	}
	return "", err
}

// native is the probe as a program that stops at the first undefined behavior.
var native = sync.OnceValues(func() (string, error) {
	return compile("probe", []string{"gcc", "clang-19", "clang"}, "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
})

// module is the probe for the sandbox.
var module = sync.OnceValues(func() ([]byte, error) {
	path, err := compile("probe.wasm", []string{"clang-19", "clang-20", "clang-21", "clang"},
		"--target=wasm32-wasi", "-mexec-model=reactor", "-O2", "-Wl,--stack-first", "-Wl,-z,stack-size=262144")
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// need skips a test for which there is no compiler, or no time, or fails it.
func need(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, errShort):
		t.Skip(err)
	case errors.Is(err, errNoCompiler) && os.Getenv("WAYMARK_REQUIRE_ALL") == "":
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}

// The kit in a file of its own, as a second file sees it, and in another
// dialect of C.
func TestHeader(t *testing.T) {
	if testing.Short() {
		need(t, errShort)
	}
	dir := t.TempDir()
	user := filepath.Join(dir, "user.c")
	if err := os.WriteFile(user, []byte("#include \"waymark.h\"\n#include \"waymark.h\"\nwm_str f(void) { return wm_text(\"x\"); }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, compiler := range []string{"clang-19", "gcc"} {
		path, err := exec.LookPath(compiler)
		if err != nil {
			continue
		}
		found = true
		for _, std := range []string{"-std=c11", "-std=gnu11", "-std=c17"} {
			for _, source := range []string{user, "testdata/probe.c"} {
				args := append(append([]string{}, strict...), std, "-I.", "-fsyntax-only", source)
				if text, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput(); err != nil {
					t.Errorf("%s %s: %v\n%s", compiler, strings.Join(args, " "), err, text)
				}
			}
		}
	}
	if !found {
		need(t, errNoCompiler)
	}
}
