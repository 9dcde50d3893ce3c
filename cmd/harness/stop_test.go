package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"waymark/test/built"
	"waymark/test/process"
	"waymark/test/testenv"
	"waymark/test/wasmtest"
)

// gone requires that a process group ends.
func gone(t *testing.T, text string) {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(process.Timeout); syscall.Kill(-pid, 0) == nil; {
		if time.Now().After(until) {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
			t.Fatal("what was started is left behind")
		}
	}
}

// TestStop: a signal ends the harness, whatever hangs.
func TestStop(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	type home struct {
		dir string
		env []string
	}
	newHome := func(t *testing.T) home {
		t.Helper()
		h := home{dir: t.TempDir()}
		endless := wasmtest.File{Describe: `{"abi":1,"name":"wild","version":"1","resolvers":[{"name":"r","kinds":["command"],"reads":["*.md"]}]}`, Endless: true}
		// A compiler that doesn't end, and leaves a child behind that doesn't either.
		const compiler = "#!/bin/sh\ntrap '' TERM INT\necho $$ > \"$HOME/pid\"\nmv \"$HOME/pid\" \"$HOME/compiling\"\nsleep 300 &\nwait\nsleep 300\n"
		if err := errors.Join(
			os.Symlink(self, filepath.Join(h.dir, "harness")),
			os.WriteFile(filepath.Join(h.dir, "wild.wasm"), endless.Bytes(), 0o600),
			os.MkdirAll(filepath.Join(h.dir, "ws"), 0o700), os.MkdirAll(filepath.Join(h.dir, "bin"), 0o700), os.MkdirAll(filepath.Join(h.dir, "src"), 0o700),
			os.WriteFile(filepath.Join(h.dir, "src/resolver.c"), []byte("int x;\n"), 0o600),
			os.WriteFile(filepath.Join(h.dir, "bin/clang-99"), []byte(compiler), 0o700),
			built.ShareKey(h.dir+"/state/waymark/key"),
		); err != nil {
			t.Fatal(err)
		}
		h.env = append(os.Environ(), "HOME="+h.dir, "XDG_STATE_HOME="+h.dir+"/state", "XDG_CACHE_HOME="+cache, "XDG_CONFIG_HOME="+h.dir,
			"PATH="+h.dir+"/bin:"+os.Getenv("PATH"), envTime+"=10m", envPunctual+"=1")
		return h
	}
	command := func(h home, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(h.dir, "harness"), args...)
		cmd.Env, cmd.Dir = h.env, h.dir
		return cmd
	}
	cases := map[string]func(*testing.T, home) *process.Owned{
		"a module that is run": func(t *testing.T, h home) *process.Owned {
			p := process.StartOwned(t, command(h, "run", "wild.wasm", "ws"))
			p.Uses(time.Second / 2) // to start takes less
			return p
		},
		"a module that is watched": func(t *testing.T, h home) *process.Owned {
			p := process.StartOwned(t, command(h, "watch", "wild.wasm", "ws"))
			p.Uses(time.Second / 2) // to start takes less
			return p
		},
		"a module that is checked": func(t *testing.T, h home) *process.Owned {
			p := process.StartOwned(t, command(h, "check", "wild.wasm"))
			p.Uses(time.Second / 2) // to start takes less
			return p
		},
		"standard error and output": func(t *testing.T, h home) *process.Owned {
			cmd := command(h, "-v", "watch", "wild.wasm", "ws")
			cmd.Stderr, cmd.Stdout = process.FullPipe(t), process.FullPipe(t)
			p := process.StartOwned(t, cmd)
			p.Uses(time.Second / 2) // to start takes less
			return p
		},
		"a compiler": func(t *testing.T, h home) *process.Owned {
			p := process.StartOwned(t, command(h, "build", "src"))
			p.Until("it compiles", func() bool { _, err := os.Stat(h.dir + "/compiling"); return err == nil })
			return p
		},
	}
	for name, hang := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			hang(t, h).Ends(syscall.SIGTERM)
			if pid, err := os.ReadFile(h.dir + "/compiling"); err == nil {
				gone(t, string(pid))
			}
		})
	}
	t.Run("any moment", func(t *testing.T) {
		h, rng := newHome(t), testenv.Rand(t)
		for range 8 {
			p := process.StartOwned(t, command(h, "run", "wild.wasm", "ws"))
			<-time.After(time.Duration(rng.IntN(400)) * time.Millisecond)
			p.Ends([]syscall.Signal{syscall.SIGTERM, syscall.SIGINT}[rng.IntN(2)])
		}
	})
}
