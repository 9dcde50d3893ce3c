package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"waymark/cmd/harness/internal/extism"
	"waymark/cmd/internal/stop"
	"waymark/host/sandbox"
	"waymark/internal/reexec"
	"waymark/test/built"
	"waymark/test/testenv"
	"waymark/test/wasmtest"
)

var update = flag.Bool("update", false, "write what the scripts' cmp commands see into the scripts")

// TestMain makes the test binary the command under test: it is harness when it
// is called so.
func TestMain(m *testing.M) {
	reexec.Main(sandbox.CompileRole(), extism.Role()) // as a child that compiles or runs a module
	testenv.UseMemory()
	testscript.Main(m, map[string]func(){"harness": harnessMain})
}

// envChild has a harness under test compile in a process of its own, as the real
// one does. The others don't: that is limited to 30 s, which are too short under
// the race detector on a busy machine.
const envChild = "WAYMARK_TEST_CHILD"

// envTime is how long one call of a harness under test may take, where no
// configuration says so. What a user waits for is too short for a machine that
// stands still for a moment.
const envTime = "WAYMARK_TEST_TIME"

// envPunctual has a harness under test end in the time that the real one has.
const envPunctual = "WAYMARK_TEST_PUNCTUAL"

// harnessMain is main without a limit for compiling, and with a long one for
// running.
func harnessMain() {
	program := reexec.Main(sandbox.CompileRole(), extism.Role())
	compiler := program
	if os.Getenv(envChild) == "" {
		compiler = nil
	}
	limit, _ := time.ParseDuration(os.Getenv(envTime)) // 0 when it isn't set
	stop.Main(func(ctx context.Context) int {
		if os.Getenv(envPunctual) == "" { // a machine may stand still for a moment
			stop.Allow(ctx, time.Minute)
		}
		a := app{compiler: compiler, extism: extism.NewChild(program), time: limit, stdout: os.Stdout, stderr: os.Stderr}
		return a.run(ctx, os.Args[1:])
	})
}

// TestScripts runs testdata/script. The scripts find modules in $MODULES.
func TestScripts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	modules, cache := filepath.Join(dir, "modules"), built.CacheHome()
	writeModules(t, modules)
	warm(t, cache, filepath.Join(modules, "notes.wasm"))
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			for name, value := range map[string]string{
				"HOME": env.WorkDir + "/home", "XDG_STATE_HOME": env.WorkDir + "/state", "XDG_CACHE_HOME": cache,
				"XDG_CONFIG_HOME": env.WorkDir + "/config", "TMPDIR": env.WorkDir + "/tmp",
				"MODULES": modules, "CI": "", envTime: "59s",
				// Nothing may be downloaded, and little compiled.
				"GOCACHE": goEnv(t, "GOCACHE"), "GOMODCACHE": goEnv(t, "GOMODCACHE"), "GOPROXY": "off", "GOTOOLCHAIN": "local",
			} {
				env.Setenv(name, value)
			}
			env.Values[processesKey{}] = processes{}
			return errors.Join(os.MkdirAll(env.WorkDir+"/home", 0o700), os.MkdirAll(env.WorkDir+"/tmp", 0o700), built.ShareKey(env.WorkDir+"/state/waymark/key"))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"launch": cmdLaunch, "await": cmdAwait, "halt": cmdHalt, "exit": cmdExit, "normal": cmdNormal,
		},
		Condition: conditions,
	})
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// writeModules puts the modules of the scripts into a directory.
func writeModules(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	module, err := built.Guest(t.Context(), "./testdata/notes")
	if err != nil {
		t.Fatal(err)
	}
	notes, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	const describe = `{"abi":1,"name":"small","version":"1.0.0","resolvers":[{"name":"one","kinds":["command"],"reads":["*.md"]}]}`
	one := func(file string) string {
		return `{"resources":[{"kind":"command","path":"` + file + `","content":{"file":"` + file + `"},"name":"n"}]}`
	}
	for name, data := range map[string][]byte{
		"notes":   notes,
		"cut":     notes[:len(notes)/2],
		"text":    []byte("#!/bin/sh\n"),
		"small":   wasmtest.File{Describe: describe, Resolve: one("a.md")}.Bytes(),
		"other":   wasmtest.File{Describe: describe, Resolve: one("b.md")}.Bytes(),
		"abi2":    wasmtest.File{Describe: `{"abi":2,"name":"x","version":"1","resolvers":[]}`, Resolve: "{}"}.Bytes(),
		"half":    wasmtest.File{Describe: describe, NoResolve: true}.Bytes(),
		"net":     wasmtest.File{Describe: describe, Resolve: "{}", Imports: []string{"extism:host/env http_request"}}.Bytes(),
		"nosense": wasmtest.File{Describe: describe, Resolve: "{"}.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".wasm"), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
