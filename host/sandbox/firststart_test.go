package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/test/testenv"
)

// firstStartDir names the environment variable that makes this program the process
// that TestKilledFirstStart kills.
const firstStartDir = "WAYMARK_TEST_FIRST_START"

// TestKilledFirstStart: a process that is killed while it fills an empty cache, at
// any moment, leaves nothing that a later one would take for code, or would not get
// over.
func TestKilledFirstStart(t *testing.T) {
	if dir := os.Getenv(firstStartDir); dir != "" {
		if _, err := start(t, dir, nil); err != nil {
			t.Fatal(err)
		}
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("kills processes")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	first := func(dir string, after time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), after) // which kills it, by SIGKILL
		defer cancel()
		c := exec.CommandContext(ctx, self, "-test.run=^TestKilledFirstStart$")
		c.Env = append(os.Environ(), firstStartDir+"="+dir)
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL { //nolint:forcetypeassert // on Linux
			return fmt.Errorf("%w\n%s", err, out)
		}
		return err
	}
	whole := t.TempDir()
	began := time.Now()
	if err := first(whole, 10*time.Minute); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	want, err := start(t, whole, nil)
	if err != nil {
		t.Fatal(err)
	}
	random := testenv.Rand(t)
	killed := 0
	for range testenv.Rounds(3, 12, 200) {
		dir := t.TempDir()
		for range 1 + random.IntN(2) { // the second finds what the first has left
			if first(dir, time.Duration(random.Int64N(int64(took)))) != nil {
				killed++
			}
		}
		var logs bytes.Buffer
		for range 2 { // the second finds what this process has kept
			logs.Reset()
			got, err := start(t, dir, &logs)
			if err != nil || got != want {
				t.Fatalf("after a kill it answers %q, %v, and should %q\n%s", got, err, want, logs.String())
			}
		}
		if logs.Len() > 0 {
			t.Errorf("the second start says %s", logs.String())
		}
	}
	t.Logf("%d were killed", killed)
}

// start loads a module as a process does that has just begun, and says what a run of
// it answers.
func start(t *testing.T, dir string, logs io.Writer) (string, error) {
	t.Helper()
	if logs == nil {
		logs = io.Discard
	}
	var functions strings.Builder // so that there is something to compile and to keep
	for i := range 300 {
		fmt.Fprintf(&functions, "(func (param i32 i32) (result i32) (i32.div_s (i32.load (i32.const %d)) (i32.mul (local.get 1) (i32.const %d))))", i, i)
	}
	h := sandbox.New(sandbox.Options{
		CacheDir: filepath.Join(dir, "code"), KeyDir: filepath.Join(dir, "state"), Logger: slog.New(slog.NewTextHandler(logs, nil)),
	})
	m, err := h.Load(t.Context(), stateful(t, functions.String(), "", ""), sandbox.Limits{Time: time.Minute})
	if err != nil {
		return "", err
	}
	root, err := vfs.OpenRoot(t.TempDir(), vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	filter, err := vfs.View{}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	run := root.Begin(filter, vfs.Limits{})
	res, err := m.Resolve(t.Context(), &abi.Request{ABI: abi.Version, Resolver: "r"}, run)
	answer := fmt.Sprintf("%s, %d units", m.Digest(), res.Fuel)
	if m.Instances().Image {
		answer += ", from an image"
	}
	return answer, errors.Join(err, run.Close(), root.Close(), m.Close())
}

// TestUnwritableState: where neither code nor key can be kept, whatever the reason, a
// start says so, and is as any other.
func TestUnwritableState(t *testing.T) {
	whole, err := start(t, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	half := t.TempDir() // the key's directory can't be made
	if err := os.WriteFile(filepath.Join(half, "state"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dirs := map[string]string{"in a file": file, "no key": half}
	if runtime.GOOS == "linux" {
		dirs["in a system that nobody writes to"] = "/proc"
	}
	for name, dir := range dirs {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				var logs bytes.Buffer
				got, err := start(t, dir, &logs)
				if err != nil || got != whole {
					t.Errorf("it answers %q, %v, and should %q", got, err, whole)
				}
				if !strings.Contains(logs.String(), "compile cache not used") {
					t.Errorf("it says %q", logs.String())
				}
			}
		})
	}
}
