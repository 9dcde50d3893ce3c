package built

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"waymark/host/sandbox/gowasm"
)

// builtin is the package whose module is made smaller, as make does it.
const builtin = "waymark/plugins/builtin"

// Guest builds a resolver module in Go and returns the path of its .wasm file.
// pkgPath is an import path, or a relative path like ./testdata/guest.
func Guest(ctx context.Context, pkgPath string) (wasmPath string, err error) {
	t := &target{
		pkg: pkgPath, kind: ".wasm", args: []string{"-buildmode=c-shared"},
		env:  []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0"},
		then: func(path string) error { return os.Chmod(path, 0o600) },
	}
	if pkgPath == builtin {
		t.args, t.also, t.then = append(t.args, "-gcflags=waymark/...=-l"), []string{"host/sandbox/gowasm", "internal/tools/generate"}, shrink
		t.before = cutYAML
	}
	return t.path(ctx)
}

// cutYAML has the guest have the parser that make gives it.
func cutYAML(root string) (args []string, after func(), err error) {
	dir, err := os.MkdirTemp("", "yaml-")
	if err != nil {
		return nil, nil, err
	}
	overlay := filepath.Join(dir, "overlay.json")
	cmd := exec.CommandContext(context.Background(), "go", "run", "./internal/tools/generate", "yaml", "-o", dir, "-overlay", overlay)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("cut the YAML parser out: %w: %s", err, out), os.RemoveAll(dir))
	}
	return []string{"-overlay", overlay}, func() { _ = os.RemoveAll(dir) }, nil
}

func shrink(path string) error {
	wasm, err := os.ReadFile(path)
	if err == nil {
		wasm, err = gowasm.Shrink(wasm)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(path, wasm, 0o600)
}
