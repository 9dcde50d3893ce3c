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

var program *reexec.Program

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
		reexec.Role{Name: "grow", Main: func([]string) int {
			limits := reexec.Limits{Time: time.Minute, Memory: 64 << 20}
			if err := reexec.Confine(limits); err != nil {
				_, _ = fmt.Fprintln(os.Stdout, err)
				return 1
			}
			go reexec.WatchMemory(limits.Memory, func() {
				_, _ = fmt.Fprintln(os.Stdout, "too much memory")
				os.Exit(3)
			})
			var kept [][]byte
			for range 1 << 20 {
				kept = append(kept, make([]byte, 1<<20))
			}
			return len(kept)
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

func TestMemory(t *testing.T) {
	cmd, err := program.Command(t.Context(), "grow")
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || string(out) != "too much memory\n" {
		t.Errorf("a child that takes all memory ends with %v and prints %q", err, out)
	}
}
