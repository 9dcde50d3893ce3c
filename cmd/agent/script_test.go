package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"waymark/agent"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/stop"
	"waymark/host/plugin"
	"waymark/internal/reexec"
	"waymark/test/built"
	"waymark/test/mcp/servers"
	"waymark/test/testenv"
	"waymark/workspace/launch"
)

// envBuiltin names the built-in module of an agent under test: the test binary
// itself has none, and tests must work without make.
const envBuiltin = "WAYMARK_TEST_BUILTIN"

// envPatient has an agent under test compile by itself, without a limit of
// time: under the race detector, on a busy machine, 30 s are too short.
const envPatient = "WAYMARK_TEST_PATIENT"

// envTimeout is another timeout of an agent under test than the scripts'.
const envTimeout = "WAYMARK_TEST_PATIENCE"

// envPunctual has an agent under test end in the time that the real one has.
const envPunctual = "WAYMARK_TEST_PUNCTUAL"

var update = flag.Bool("update", false, "write what the scripts' cmp commands see into the scripts")

// TestMain makes the test binary the command under test: it is agent when it
// is called so.
func TestMain(m *testing.M) {
	testenv.OrdinaryMain()        // an agent under test, too
	reexec.Main(agent.Roles()...) // the agent under test starts this binary again to compile modules
	testscript.Main(m, map[string]func(){"agent": agentMain, "mcpserver": servers.Main, "mcpclient": servers.ClientMain})
}

// agentMain is main with another built-in module.
func agentMain() {
	cli.CompleteWithin = scriptTimeout // nobody waits for it here
	self := reexec.Main(agent.Roles()...)
	compiler := self
	if os.Getenv(envPatient) != "" {
		compiler = nil
	}
	timeout := scriptTimeout
	if text := os.Getenv(envTimeout); text != "" {
		timeout, _ = time.ParseDuration(text)
	}
	if os.Getenv(envStuck) != "" {
		stop.Haste = 5
	}
	stop.Main(func(ctx context.Context) int {
		if os.Getenv(envPunctual) == "" { // a machine may stand still for a moment
			stop.Allow(ctx, time.Minute)
		}
		a := app{stdout: os.Stdout, stderr: os.Stderr, Program: agent.Program{Compiler: compiler, Self: self, Timeout: timeout, Builtin: func() ([]byte, error) {
			return os.ReadFile(os.Getenv(envBuiltin))
		}}}
		if digest := os.Getenv(envStuck); digest != "" {
			stop.Allow(ctx, 2*time.Second) // a processor is busy until it is killed
			a.WrapRecord = func(r *plugin.Crashes) plugin.Running { return stuck{r, digest} }
		}
		return a.run(ctx, os.Args[1:])
	})
}

// envStuck is the digest of a module whose calls don't come back in an agent
// under test, as if its native code looped for ever: nothing that runs a module
// lets one do that, but for faults that nobody knows of.
const envStuck = "WAYMARK_TEST_STUCK"

type stuck struct {
	*plugin.Crashes
	digest string
}

func (s stuck) Begin(digest string, limit time.Duration) (end func()) {
	end = s.Crashes.Begin(digest, limit)
	if digest == s.digest {
		_, _ = os.Stderr.WriteString("stuck now\n")
		for spinning := uint64(0); ; { // nor is it preempted, with GODEBUG=asyncpreemptoff=1
			spinning++
		}
	}
	return end
}

// built is what the scripts need besides the test binary.
type things struct {
	builtin, panicking string // wasm files
	bin                string // a directory with the real hub
	cache              string // compiled modules, shared by all scripts
}

func build(t *testing.T) (b things) {
	t.Helper()
	ctx := t.Context()
	var err error
	if b.builtin, err = built.Guest(ctx, "waymark/plugins/builtin"); err != nil {
		t.Fatal(err)
	}
	if b.panicking, err = built.Guest(ctx, "./testdata/panicking"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	b.bin, b.cache = filepath.Join(dir, "bin"), built.CacheHome()
	if err := os.Mkdir(b.bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := built.Programs(ctx, b.bin, false, "waymark/cmd/hub"); err != nil {
		t.Fatal(err)
	}
	return b
}

// scripts are those in testdata/script. Under the race detector one in three is enough:
// it looks for places where goroutines meet, which most of them pass alike.
func scripts(t *testing.T) (files []string) {
	t.Helper()
	all, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(all) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	for i, file := range all {
		if !testenv.Race || testenv.Long() || i%3 == 0 {
			files = append(files, file)
		}
	}
	return files
}

func TestScripts(t *testing.T) {
	b := build(t)
	b.warm(t)
	testscript.Run(t, testscript.Params{
		Files:         scripts(t),
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			for name, value := range map[string]string{
				"HOME": env.WorkDir + "/home", "XDG_STATE_HOME": env.WorkDir + "/state", "XDG_CACHE_HOME": b.cache,
				"XDG_CONFIG_HOME": env.WorkDir + "/config", "XDG_RUNTIME_DIR": "",
				// A script's directory may be too long for a socket's path.
				"WAYMARK_SOCKET": filepath.Join(testenv.SocketDir(t), "a.sock"), "HUB_SOCKET": filepath.Join(testenv.SocketDir(t), "h.sock"), "SHORT": testenv.SocketDir(t),
				envBuiltin: b.builtin, "PANICKING": b.panicking,
				"WRITERS": strconv.Itoa(testenv.Rounds(8, 12, 50)),
				"PATH":    env.Getenv("PATH") + string(os.PathListSeparator) + b.bin,
			} {
				env.Setenv(name, value)
			}
			env.Values[processesKey{}] = processes{}
			return errors.Join(os.MkdirAll(env.WorkDir+"/home", 0o700), built.ShareKey(env.WorkDir+"/state/waymark/key"))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"launch": cmdLaunch, "database": cmdDatabase, "halt": cmdHalt, "await": cmdAwait, "exit": cmdExit, "get": cmdGet, "until": cmdUntil,
			"fifo": cmdFIFO, "repeat": cmdRepeat, "absent": cmdAbsent, "normal": cmdNormal,
			"module": cmdModule, "put": cmdPut, "stuck": cmdStuck, "dies": cmdDies, "tell": cmdTell,
			"timehub": cmdTimeHub, "state": cmdState, "mode": cmdMode, "call": cmdCall, "match": cmdMatch, "code": cmdCode,
			"authority": cmdAuthority, "browse": cmdBrowse,
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "all":
				return os.Getenv("WAYMARK_REQUIRE_ALL") != "", nil
			case "keymap": // see the desktop's service: scripts have all directories in one place
				return os.Geteuid() == 0 || os.TempDir() != "/tmp", nil
			case "ordinary":
				return testenv.CanBeOrdinary(), nil
			case "landlock":
				_, err := launch.Supported()
				return err == nil, nil
			case "userns":
			default:
				return false, fmt.Errorf("unknown condition %s", name)
			}
			return exec.CommandContext(t.Context(), "unshare", "-Ur", "sh", "-c", "echo 10 >/proc/sys/user/max_inotify_instances").Run() == nil, nil
		},
	})
}

// warm compiles the modules into the shared cache. The scripts run side by
// side; each would do it for itself, and all of them slowly.
func (b *things) warm(t *testing.T) {
	t.Helper()
	if out, err := b.resolveOnce(t, b.builtin); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := b.resolveOnce(t, b.panicking); err == nil { // it panics, after it was compiled
		t.Fatalf("the module that panics doesn't:\n%s", out)
	}
}

func (b *things) resolveOnce(t *testing.T, module string) ([]byte, error) {
	t.Helper()
	dir := t.TempDir()
	if err := built.ShareKey(dir + "/state/waymark/key"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), selfAsAgent(t), "resolve", dir)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+dir+"/state", "XDG_CACHE_HOME="+b.cache,
		"XDG_CONFIG_HOME="+dir, envBuiltin+"="+module, envPatient+"=1")
	return cmd.CombinedOutput()
}

// selfAsAgent returns a path by which the test binary is the agent.
func selfAsAgent(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "agent")
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}
