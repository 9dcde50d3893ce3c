// Package asbuild builds resolver modules from AssemblyScript, for tests.
//
// # Guarantees
//
// A build is what the compiler makes of the source as it is now. The compiler
// and what else package-lock.json names is installed once, into a directory
// whose name is a hash of that, so that a later run installs nothing
// and needs no network. The source directory is left as it is: no node_modules
// appears in it.
//
// Where npm is missing, or the registry can't be reached, a test is skipped and
// says so; with WAYMARK_REQUIRE_ALL it fails.
//
// # Concurrency
//
// Everything may be called by many goroutines and processes at once. Whoever
// installs does so in a directory of their own, and the first one is kept.
//
// # Limits
//
// It needs node and npm in PATH. Old installations aren't removed; each has
// some 100 MB.
package asbuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ErrMissing says that what installs and runs the compiler isn't there.
var ErrMissing = errors.New("no AssemblyScript compiler")

// requireAll names the environment variable that turns skips into failures.
const requireAll = "WAYMARK_REQUIRE_ALL"

// Module builds the project in a directory and returns the module.
func Module(t testing.TB, dir string) []byte {
	t.Helper()
	wasm, err := Build(t.Context(), dir)
	Need(t, err)
	return wasm
}

// NodeModules returns a directory with what the project's package-lock.json
// names, installed. It is shared: don't change anything in it.
func NodeModules(t testing.TB, dir string) string {
	t.Helper()
	path, err := install(t.Context(), dir)
	Need(t, err)
	return path
}

// Need skips the test when err is ErrMissing, and fails it with any other.
func Need(t testing.TB, err error) {
	t.Helper()
	switch {
	case errors.Is(err, ErrMissing) && os.Getenv(requireAll) == "":
		t.Skipf("SKIPPED: %v", err)
	case err != nil:
		t.Fatal(err)
	}
}

// Build builds the project in a directory.
//
// # Errors
//
// ErrMissing, and what the compiler has against the source.
func Build(ctx context.Context, dir string) ([]byte, error) {
	modules, err := install(ctx, dir)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "waymark-as-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := Copy(work, dir); err != nil {
		return nil, err
	}
	if err := os.Symlink(modules, filepath.Join(work, "node_modules")); err != nil {
		return nil, err
	}
	out := filepath.Join(work, "module.wasm")
	cmd := exec.CommandContext(ctx, "node", filepath.Join("node_modules", "assemblyscript", "bin", "asc.js"),
		"--config", "asconfig.json", "--target", "release", "--outFile", out)
	cmd.Dir = work
	if err := run(cmd); err != nil {
		return nil, fmt.Errorf("build %s: %w", dir, err)
	}
	return os.ReadFile(out)
}

// Copy copies what a build reads of a project. Links become what they lead to:
// the kit is linked into the projects of this repository.
func Copy(to, dir string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"package.json", "asconfig.json"} {
		if err := copyFile(filepath.Join(to, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	for _, name := range []string{"assembly", "sdk"} {
		if err := copyTree(filepath.Join(to, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func copyTree(to, from string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		source, target := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		info, err := os.Stat(source)
		switch {
		case err != nil:
			return err
		case info.IsDir():
			err = copyTree(target, source)
		default:
			err = copyFile(target, source)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

func run(cmd *exec.Cmd) error {
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, strings.TrimSpace(text.String()))
	}
	return nil
}
