package git

// What a git that doesn't end, or doesn't stop talking, comes to is tested from
// inside: no repository makes the real one do so for sure.

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waymark/internal/reexec"
	"waymark/workspace/launch"
)

// script is a runner of a shell script in git's place; the bounds of a profile
// don't matter to it.
func script(t *testing.T, launcher *launch.Program, text string) *runner {
	t.Helper()
	path := filepath.Join(t.TempDir(), "git")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return &runner{program: path, launcher: launcher, home: t.TempDir()}
}

func launchers(t *testing.T) map[string]*launch.Program {
	t.Helper()
	program, err := launch.Find(reexec.Main(launch.Role()))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*launch.Program{"by the shim": program, "itself": nil}
}

// TestKilled: git is ended with all that it has started.
func TestKilled(t *testing.T) {
	t.Parallel()
	for way, launcher := range launchers(t) {
		r := script(t, launcher, "sleep 1000 &\necho $! >&2\necho $!\nwait\n")
		ctx, cancel := context.WithCancel(t.Context())
		pid := ""
		err := r.run(ctx, &command{dir: "/", env: r.environment()}, func(in io.Reader) error {
			var line [16]byte
			n, err := in.Read(line[:])
			pid = strings.TrimSpace(string(line[:n]))
			cancel()
			if err == nil {
				_, err = io.Copy(io.Discard, in)
			}
			return err
		})
		if !errors.Is(err, context.Canceled) || pid == "" {
			t.Errorf("%s: it ends with %v", way, err)
		}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
			if err != nil || strings.Contains(string(stat), ") Z ") {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: what it has started lives on: %s", way, stat)
			}
		}
	}
}

// TestTalks: git is ended when it says more than anybody reads, and what it says is
// wrong is kept short.
func TestTalks(t *testing.T) {
	t.Parallel()
	for way, launcher := range launchers(t) {
		r := script(t, launcher, "while :; do echo 0123456789012345678901234567890123456789012345678901234567890123456789; done | cat\n")
		if out, err := r.output(t.Context(), &command{dir: "/", env: r.environment()}); !errors.Is(err, errTooMuch) || len(out) > maxList+1 {
			t.Errorf("%s: it ends with %v after %d bytes", way, err, len(out))
		}
		r = script(t, launcher, "i=0; while [ $i -lt 2000 ]; do echo 'fatal: no \x1b[31m' >&2; i=$((i+1)); done; exit 7\n")
		_, err := r.output(t.Context(), &command{dir: "/", env: r.environment()})
		no, ok := errors.AsType[*failure](err)
		if !ok || no.code != 7 || no.text != "no [31m" {
			t.Errorf("%s: it ends with %q", way, err)
		}
	}
}
