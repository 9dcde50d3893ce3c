package reexec_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"waymark/internal/reexec"
)

var (
	program  *reexec.Program
	confined = reexec.Limits{Time: time.Minute, Memory: 64 << 20}
)

func TestMain(m *testing.M) {
	program = reexec.Main(
		reexec.Role{Name: "echo", Main: func(args []string) int {
			dir, _ := os.Getwd()
			_, _ = fmt.Fprintf(os.Stdout, "%q in %s, environment %q\n", args, dir, os.Environ())
			return 7
		}},
		reexec.Role{Name: "wait", Main: func([]string) int {
			_, _ = io.Copy(io.Discard, os.Stdin)
			return 0
		}},
		reexec.Role{Name: "keep", Main: func([]string) int {
			const limit = 64 << 20
			kept := make([]byte, 2*limit)
			reexec.WatchMemory(limit, func() { os.Exit(3) })
			return len(kept)
		}},
		reexec.Role{Name: "grow", Main: func([]string) int {
			if err := reexec.Confine(confined); err != nil {
				_, _ = fmt.Fprintln(os.Stdout, err)
				return 0
			}
			var kept [][]byte
			for range 1 << 10 {
				kept = append(kept, make([]byte, 1<<20))
			}
			_, _ = fmt.Fprintf(os.Stdout, "has %d MiB", len(kept))
			return 0
		}},
	)
	os.Exit(m.Run())
}

func TestRole(t *testing.T) {
	cmd, err := program.Command(t.Context(), "echo", "one", "two words")
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("ended with %v, want exit code 7", err)
	}
	if want := "[\"one\" \"two words\"] in /, environment []\n"; string(out) != want {
		t.Errorf("printed %q, want %q", out, want)
	}
}

func TestUnknownRole(t *testing.T) {
	for _, p := range []*reexec.Program{nil, {}, program} {
		if _, err := p.Command(t.Context(), "other"); err == nil || !strings.Contains(err.Error(), "reexec.Main") || p.Has("other") {
			t.Errorf("a role that main doesn't name: %v", err)
		}
	}
}

func TestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd, err := program.Command(ctx, "wait")
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := cmd.Wait(); err == nil {
		t.Error("a child whose context has ended says that all went well")
	}
	_ = stdin.Close()
}

func TestWatchMemory(t *testing.T) {
	cmd, err := program.Command(t.Context(), "keep")
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("a child that keeps too much memory ends with %v, want exit code 3", err)
	}
}

// A child that takes memory faster than it is watched is ended by the system;
// with which code depends on whose request is refused, Go's or the race
// detector's.
func TestConfine(t *testing.T) {
	cmd, err := program.Command(t.Context(), "grow")
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || len(out) != 0 {
		t.Errorf("a child that takes a GiB, with a limit of %d MiB, ends with %v and prints %q", confined.Memory>>20, err, out)
	}
}
