package built

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// ErrMissing says that what installs and runs the compiler isn't there.
var ErrMissing = errors.New("no AssemblyScript compiler")

// requireAll names the environment variable that turns skips into failures.
const requireAll = "WAYMARK_REQUIRE_ALL"

// AssemblyScript builds the AssemblyScript project in a directory and returns the
// module. It skips the test as Need does, and in the short form.
func AssemblyScript(t testing.TB, dir string) []byte {
	t.Helper()
	notShort(t)
	wasm, err := BuildAssemblyScript(t.Context(), dir)
	Need(t, err)
	return wasm
}

// NodeModules returns a directory with what the project's package-lock.json
// names, installed, or skips the test as AssemblyScript does. It is shared: don't change
// anything in it.
func NodeModules(t testing.TB, dir string) string {
	t.Helper()
	notShort(t)
	path, err := install(t.Context(), dir)
	Need(t, err)
	return path
}

// notShort skips the test in the short form, which needs nothing but Go.
func notShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("it needs npm")
	}
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

// BuildAssemblyScript builds the AssemblyScript project in a directory.
//
// # Errors
//
// ErrMissing, and what the compiler has against the source.
func BuildAssemblyScript(ctx context.Context, dir string) ([]byte, error) {
	modules, err := install(ctx, dir)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "waymark-as-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := CopyAssemblyScript(work, dir); err != nil {
		return nil, err
	}
	if err := os.Symlink(modules, filepath.Join(work, "node_modules")); err != nil {
		return nil, err
	}
	out := filepath.Join(work, "module.wasm")
	cmd := exec.CommandContext(ctx, "node", filepath.Join("node_modules", "assemblyscript", "bin", "asc.js"),
		"--config", "asconfig.json", "--target", "release", "--outFile", out)
	cmd.Dir = work
	if err := runTool(ctx, cmd); err != nil {
		return nil, fmt.Errorf("build %s: %w", dir, err)
	}
	return os.ReadFile(out)
}

// CopyAssemblyScript copies what a build reads of a project. Links become what they lead to:
// the kit is linked into the projects of this repository.
func CopyAssemblyScript(to, dir string) error {
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

// install makes sure that what the project needs is installed, and returns the
// directory.
func install(ctx context.Context, dir string) (string, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("%w: npm is not installed; install Debian's nodejs and npm", ErrMissing)
	}
	if _, err := exec.LookPath("node"); err != nil {
		return "", fmt.Errorf("%w: node is not installed; install Debian's nodejs", ErrMissing)
	}
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return "", err
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	key, err := lockKey(lock)
	if err != nil {
		return "", err
	}
	base = filepath.Join(base, "waymark-test-npm")
	home := filepath.Join(base, key)
	modules := filepath.Join(home, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules, nil
	}
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", err
	}
	return modules, installInto(ctx, npm, home, dir)
}

// lockKey is equal for lock files that install the same, whatever the project's
// name.
func lockKey(lock []byte) (string, error) {
	var doc struct {
		Packages map[string]json.RawMessage `json:"packages"`
	}
	if err := json.Unmarshal(lock, &doc); err != nil {
		return "", fmt.Errorf("package-lock.json: %w", err)
	}
	delete(doc.Packages, "") // the project itself
	text, err := json.Marshal(doc.Packages)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// installInto installs next to home and renames, so that it is there whole or
// not at all.
func installInto(ctx context.Context, npm, home, dir string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(home), "installing-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	for _, name := range []string{"package.json", "package-lock.json"} {
		if err := copyFile(filepath.Join(tmp, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	// The user's own settings say how the registry is reached, and nothing else.
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund",
		"--global=false", "--include=dev", "--include=optional", "--cache="+filepath.Join(filepath.Dir(home), "cache"))
	cmd.Dir = tmp
	if err := runTool(ctx, cmd); err != nil {
		return fmt.Errorf("%w: npm ci: %w", ErrMissing, err)
	}
	if err := os.Rename(tmp, home); err != nil {
		if _, statErr := os.Stat(filepath.Join(home, "node_modules")); statErr == nil {
			return nil // somebody else was faster
		}
		return err
	}
	return nil
}
