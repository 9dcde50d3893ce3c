package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"waymark/test/built"
	"waymark/test/wasmtest"
)

// TestCheckScripts runs testdata/check, which has modules of its own: what each
// rule finds is tested in internal/conform.
func TestCheckScripts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cache, abi2 := built.CacheHome(), filepath.Join(dir, "abi2.wasm")
	wasm := wasmtest.File{Describe: `{"abi":2,"name":"x","version":"1","resolvers":[]}`, Resolve: "{}"}.Bytes()
	if err := os.WriteFile(abi2, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	modules := map[string]string{"ABI2": abi2}
	for name, pkg := range map[string]string{
		"GOOD": "./internal/conform/testdata/good", "BAD": "./internal/conform/testdata/bad",
	} {
		path, err := built.Guest(t.Context(), pkg)
		if err != nil {
			t.Fatal(err)
		}
		warm(t, cache, path)
		modules[name] = path
	}
	frozen, err := filepath.Abs("../../abi/testdata/v1/modules/c-kit/module.wasm")
	if err != nil {
		t.Fatal(err)
	}
	modules["C"] = frozen
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/check",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			for name, value := range map[string]string{
				"HOME": env.WorkDir + "/home", "XDG_STATE_HOME": env.WorkDir + "/state", "XDG_CACHE_HOME": cache,
				"TMPDIR": env.WorkDir + "/tmp",
			} {
				env.Setenv(name, value)
			}
			for name, path := range modules {
				env.Setenv(name, path)
			}
			return errors.Join(os.MkdirAll(env.WorkDir+"/tmp", 0o700), built.ShareKey(env.WorkDir+"/state/waymark/key"))
		},
	})
}
