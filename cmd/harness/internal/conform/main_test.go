package conform_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waymark/cmd/harness/internal/conform"
	"waymark/cmd/harness/internal/extism"
	"waymark/host"
	"waymark/host/sandbox"
	"waymark/internal/reexec"
	"waymark/test/built"
	"waymark/test/testenv"
)

// cacheDir is shared by all tests: compiling a Go guest takes seconds.
var cacheDir = built.CodeCache()

// child runs modules in the stock Extism SDK.
var child *extism.Child

func TestMain(m *testing.M) {
	child = extism.NewChild(reexec.Main(extism.Role()))
	testenv.UseMemory()
	os.Exit(m.Run())
}

// options are those of a test: a deadline that a busy machine doesn't reach,
// and fuel in its place, which doesn't depend on the machine.
func options(only ...string) host.Options {
	return host.Options{
		CacheDir: cacheDir, KeyDir: cacheDir, Only: only, Limits: sandbox.Limits{Time: time.Minute},
	}
}

// guest builds a module once and returns its path.
func guest(t testing.TB, pkg string) string {
	t.Helper()
	path, err := built.Guest(context.Background(), pkg)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// write makes a file of a module.
func write(t testing.TB, wasm []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "module.wasm")
	if err := os.WriteFile(path, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func check(t testing.TB, file string, opts host.Options) *conform.Report {
	t.Helper()
	r, err := conform.Check(t.Context(), conform.Options{File: file, Host: opts, Extism: child})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// lines spells what a report has against a module.
func lines(r *conform.Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		if f.Severity != conform.Pass {
			_, _ = fmt.Fprintf(&b, "%s %s %s: %s %v\n", f.Severity, f.Rule, f.Resolver, f.Detail, f.Workspaces)
		}
	}
	return b.String()
}
