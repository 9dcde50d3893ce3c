package supervisor_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"waymark/internal/reexec"
	"waymark/workspace/supervisor"
)

var program *reexec.Program

// TestMain lets the test binary be what holds processes, and an agent that is
// killed.
func TestMain(m *testing.M) {
	program = reexec.Main(append(supervisor.Roles(), reexec.Role{Name: "agent", Main: agentMain})...)
	os.Exit(m.Run())
}

// patience is for what happens at once, on a machine that stands still.
const patience = 2 * time.Minute

// options are those of a supervisor in a directory of the test's own, which is
// ended after the test.
func options(t testing.TB, limits supervisor.Limits) supervisor.Options {
	t.Helper()
	line, err := program.CommandLine(supervisor.RoleSupervise)
	if err != nil {
		t.Fatal(err)
	}
	sockets, err := os.MkdirTemp("", "wm") // a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	return supervisor.Options{
		Dir: filepath.Join(t.TempDir(), "state", "processes"), Socket: filepath.Join(sockets, "s"), Program: line, Limits: limits,
	}
}

// open opens the supervisor of a test, and stops it in the end.
func open(t testing.TB, o supervisor.Options) supervisor.Client {
	t.Helper()
	c, err := supervisor.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := c.Stop(ctx); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Errorf("stop: %v", err)
		}
		_ = c.Close()
	})
	return c
}

// sh is a command line of the shell.
func sh(command string) *supervisor.Spec {
	return &supervisor.Spec{
		Argv: []string{"sh", "-c", command}, Dir: os.TempDir(), Command: command,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")},
	}
}

// start starts a command that must start.
func start(t testing.TB, c supervisor.Client, spec *supervisor.Spec) supervisor.Info {
	t.Helper()
	info, attached, err := c.Start(t.Context(), spec)
	if err != nil || attached {
		t.Fatalf("start: %v, attached %v", err, attached)
	}
	return info
}

// wait waits for the end of a process.
func wait(t testing.TB, c supervisor.Client, id string) supervisor.Info {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	info, err := c.Wait(ctx, id)
	if err != nil {
		t.Fatalf("wait: %v", err)
	}
	return info
}

// output reads from an offset to the end of what there is. It fails where
// something is missing in between.
func output(t testing.TB, c supervisor.Client, id string, from int64) []byte {
	t.Helper()
	var all []byte
	for at := from; ; {
		p, err := c.Read(t.Context(), id, at, 0, 0)
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		if p.Offset != at {
			t.Fatalf("at %d there is nothing; %d is next", at, p.Offset)
		}
		if len(p.Data) == 0 {
			return all
		}
		all = append(all, p.Data...)
		at += int64(len(p.Data))
	}
}

func code(i supervisor.Info) int {
	if i.ExitCode == nil {
		return -1
	}
	return *i.ExitCode
}

func TestHeld(t *testing.T) {
	t.Parallel()
	c := open(t, options(t, supervisor.Limits{}))
	info := start(t, c, sh("echo out; echo err >&2; exit 3"))
	if got := wait(t, c, info.ID); got.Running || code(got) != 3 || got.Usage == nil || got.Usage.OutputLen != 8 || got.ExitedAtUnix == nil {
		t.Errorf("it ended as %+v", got)
	}
	if got := string(output(t, c, info.ID, 0)); got != "out\nerr\n" {
		t.Errorf("it wrote %q", got)
	}
	if got := string(output(t, c, info.ID, 4)); got != "err\n" {
		t.Errorf("from 4 on it wrote %q", got)
	}
	info = start(t, c, sh("sleep 1000"))
	if got, err := c.Get(t.Context(), info.ID); err != nil || !got.Running || got.PID == 0 || got.ExitCode != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if all, err := c.List(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
	if err := c.Signal(t.Context(), info.ID, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if got := wait(t, c, info.ID); code(got) != 128+15 {
		t.Errorf("it ended as %+v", got)
	}
	if err := c.Signal(t.Context(), info.ID, syscall.SIGTERM); !errors.Is(err, supervisor.ErrExited) {
		t.Errorf("a signal to what has ended: %v", err)
	}
	if _, err := c.Get(t.Context(), "nobody"); !errors.Is(err, supervisor.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
}
