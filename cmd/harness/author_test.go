package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"waymark/cmd/harness/internal/toolchain"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestAuthorScripts runs testdata/author: what new, build and sdk do. They need
// the go command; that what they make finds something is tested where there is
// an agent, in test/authors.
func TestAuthorScripts(t *testing.T) {
	t.Parallel()
	env := map[string]string{}
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env[name] = strings.TrimSpace(string(out))
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/author",
		UpdateScripts: *update,
		Condition:     clangCondition,
		Setup: func(e *testscript.Env) error {
			for name, value := range env {
				e.Setenv(name, value)
			}
			// For scripts that take everything else out of PATH.
			for dir := range strings.SplitSeq(e.Getenv("PATH"), string(filepath.ListSeparator)) {
				if path := filepath.Join(dir, "harness"); e.Getenv("HARNESS") == "" && exists(path) {
					e.Setenv("HARNESS", path)
				}
			}
			// Nothing may be downloaded.
			e.Setenv("GOPROXY", "off")
			e.Setenv("GOTOOLCHAIN", "local")
			e.Setenv("HOME", e.WorkDir+"/home")
			e.Setenv("WASI_SDK_PATH", os.Getenv("WASI_SDK_PATH"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exit": cmdExit},
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// clangCondition is [clang]: whether modules in C can be built. Where nothing
// may be left out it always is, but for the short form, which needs only Go.
func clangCondition(cond string) (bool, error) {
	if cond != "clang" {
		return conditions(cond)
	}
	return !testing.Short() && (os.Getenv("WAYMARK_REQUIRE_ALL") != "" || clangWorks()), nil
}

// clangWorks tries: of what clang needs, a machine may have a part.
var clangWorks = sync.OnceValue(func() bool {
	dir, err := os.MkdirTemp("", "waymark-clang-")
	if err != nil {
		return false
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.WriteFile(filepath.Join(dir, "main.c"), []byte("int nothing;\n"), 0o600); err != nil {
		return false
	}
	_, err = toolchain.Build(context.Background(), dir, toolchain.Options{Output: filepath.Join(dir, "probe.wasm")})
	return err == nil
})
