package built

import (
	"context"
	"os"

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
		t.args, t.also, t.then = append(t.args, "-gcflags=waymark/...=-l"), []string{"host/sandbox/gowasm"}, shrink
	}
	return t.path(ctx)
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
