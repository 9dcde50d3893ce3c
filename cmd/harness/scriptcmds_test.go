package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"waymark/test/built"
	"waymark/test/process"
)

// timeout is how long a script waits for what should come at once. It is there
// to end a test that hangs, not to measure.
const timeout = 5 * time.Minute

// warm compiles a module into the shared cache. The scripts run side by side;
// each would do it for itself, and all of them slowly.
func warm(t *testing.T, cache, module string) {
	t.Helper()
	dir := t.TempDir()
	if err := built.ShareKey(dir + "/state/waymark/key"); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	harness := filepath.Join(dir, "harness")
	if err := os.Symlink(self, harness); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), harness, "inspect", module)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+dir+"/state", "XDG_CACHE_HOME="+cache)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// conditions are what scripts ask for besides what testscript knows.
func conditions(cond string) (bool, error) {
	if cond == "root" {
		return os.Geteuid() == 0, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

type processesKey struct{}

// processes are the background processes of one script, by name.
type processes map[string]*process.Process

func all(ts *testscript.TestScript) processes {
	list, ok := ts.Value(processesKey{}).(processes)
	if !ok {
		ts.Fatalf("no processes in this script")
	}
	return list
}

// cmdLaunch starts a program in the background and waits until its output
// matches: launch NAME REGEXP PROGRAM ARGS…
func cmdLaunch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: launch NAME REGEXP PROGRAM [ARGS…]")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, lookPath(ts, args[2]), args[3:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), os.Environ()
	for _, name := range []string{"HOME", "PATH", "TMPDIR", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOTOOLCHAIN", envTime} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	p, err := process.Start(cmd)
	ts.Check(err)
	ts.Defer(func() { cancel(); p.Kill() })
	all(ts)[args[0]] = p
	awaitOutput(ts, args[0], args[1])
}

func lookPath(ts *testscript.TestScript, name string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	ts.Fatalf("there is no %s in PATH", name)
	return ""
}

// cmdAwait waits until the output of a process matches: await NAME REGEXP
func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await NAME REGEXP")
	}
	awaitOutput(ts, args[0], args[1])
}

func awaitOutput(ts *testscript.TestScript, name, pattern string) {
	re, err := regexp.Compile("(?m)" + pattern)
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	ts.Check(all(ts)[name].Await(ctx, re))
}

// cmdHalt ends a process, which must end well, and keeps what it has printed:
// halt NAME [FILE]
func cmdHalt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: halt NAME [FILE]")
	}
	p := all(ts)[args[0]]
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	_, err := p.Stop(ctx)
	ts.Check(err)
	if len(args) > 1 {
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(p.Output()), 0o600))
	}
}

// cmdExit runs a command that must exit with a code, and say in one line what
// is wrong: exit CODE COMMAND ARGS…
func cmdExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE COMMAND [ARGS…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != want {
		ts.Fatalf("%v, want exit code %d", err, want)
	}
	if text := ts.ReadFile("stderr"); !regexp.MustCompile(`(?m)^harness: .+$`).MatchString(text) {
		ts.Fatalf("stderr has no line that begins with harness:\n%s", text)
	}
}

// cmdNormal writes the standard output of the last command to a file, without
// what differs between machines, toolchains and runs: normal FILE
func cmdNormal(ts *testscript.TestScript, _ bool, args []string) {
	text := strings.ReplaceAll(ts.ReadFile("stdout"), ts.Getenv("WORK"), "WORK")
	text = strings.ReplaceAll(text, ts.Getenv("MODULES"), "MODULES")
	for _, r := range []struct{ pattern, with string }{
		{`[0-9a-f]{64}`, "HASH"},
		{`\b[0-9]+(\.[0-9]+)?(µs|ms|s)\b`, "TIME"},
		{`\b[0-9]{1,3}(,[0-9]{3})+\b`, "NUMBER"},
		{`\b[0-9]+(\.[0-9]+)? MiB\b`, "SIZE"},
		{`[0-9]+ fuel, fuel_max is ([0-9]+) .*`, "N fuel, fuel_max is $1"},
		{`("(fuel|duration_ns|peak_memory)": )[1-9][0-9]*`, "${1}1"},
		{`(\S) {2,}`, "$1  "}, // columns are as wide as what was in them
	} {
		text = regexp.MustCompile(r.pattern).ReplaceAllString(text, r.with)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}
