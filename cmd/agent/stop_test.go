package main

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"waymark/host/sandbox"
	"waymark/test/built"
	"waymark/test/process"
	"waymark/test/testenv"
	"waymark/test/wasmtest"
)

// stopHome is where an agent that is to be stopped lives.
type stopHome struct {
	t          *testing.T
	dir, agent string
	builtin    string
	env        []string
	digests    []string // of wild modules
}

func newStopHome(t *testing.T, b *things, cache string) *stopHome {
	t.Helper()
	h := &stopHome{t: t, dir: testenv.SocketDir(t), agent: selfAsAgent(t), builtin: b.builtin}
	h.env = append(os.Environ(), "HOME="+h.dir, "XDG_STATE_HOME="+h.dir+"/state", "XDG_CACHE_HOME="+cache,
		"XDG_CONFIG_HOME="+h.dir+"/config", "XDG_RUNTIME_DIR=", "WAYMARK_SOCKET="+h.dir+"/a.sock",
		envBuiltin+"="+h.builtin, envPunctual+"=1")
	h.put("ws/AGENTS.md", "# Hello\n")
	if err := built.ShareKey(h.dir + "/state/waymark/key"); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *stopHome) put(path, text string) string {
	h.t.Helper()
	path = filepath.Join(h.dir, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		h.t.Fatal(err)
	}
	return path
}

func (h *stopHome) command(args ...string) *exec.Cmd {
	cmd := exec.Command(h.agent, args...)
	cmd.Env, cmd.Dir = h.env, h.dir
	return cmd
}

func (h *stopHome) start(args ...string) *process.Owned {
	h.t.Helper()
	return process.StartOwned(h.t, h.command(args...))
}

// wild puts modules there that run on for ever, longer than anybody waits.
func (h *stopHome) wild(inDescribe bool) (flags []string) {
	h.t.Helper()
	for i := range 3 {
		name := fmt.Sprintf("wild%d", i)
		module := wasmtest.File{
			Describe: `{"abi":1,"name":"` + name + `","version":"1","resolvers":[{"name":"r","kinds":["command"],"reads":["*.md"]}]}`, Endless: true,
		}.Bytes()
		if inDescribe {
			module = wasmtest.MustWAT(`(module
				(func (export "describe") (result i32) (loop $again (br $again)) (i32.const 0))
				(func (export "resolve") (result i32) (i32.const 0)))`)
		}
		h.put("plugins/"+name+".wasm", string(module))
		sum := sha256.Sum256(module)
		h.digests = append(h.digests, hex.EncodeToString(sum[:]))
	}
	return []string{"--plugins", h.dir + "/plugins", "--config", h.put("wild.toml", "[limits]\ntime = \"1m\"\n")}
}

// locked locks a database, as a program that hangs would.
func locked(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
}

// TestStop: a signal ends the agent, whatever hangs.
func TestStop(t *testing.T) {
	t.Parallel()
	b := build(t)
	b.warm(t)
	cases := map[string]func(t *testing.T, h *stopHome) *process.Owned{
		"nothing": func(_ *testing.T, h *stopHome) *process.Owned {
			p := h.start("run", "--root", "ws")
			p.Prints("stored: ")
			return p
		},
		"modules that resolve": func(_ *testing.T, h *stopHome) *process.Owned {
			p := h.start(append([]string{"-v", "run", "--root", "ws"}, h.wild(false)...)...)
			p.Until("a module runs", h.runs)
			return p
		},
		"modules that describe": func(_ *testing.T, h *stopHome) *process.Owned {
			p := h.start(append([]string{"run", "--root", "ws"}, h.wild(true)...)...)
			p.Until("a module runs", h.runs)
			return p
		},
		"modules that resolve once": func(_ *testing.T, h *stopHome) *process.Owned {
			p := h.start(append([]string{"resolve", "ws"}, h.wild(false)...)...)
			p.Until("a module runs", h.runs)
			return p
		},
		"standard error": func(t *testing.T, h *stopHome) *process.Owned {
			cmd := h.command("-v", "run", "--root", "ws")
			cmd.Stderr = process.FullPipe(t)
			p := process.StartOwned(t, cmd)
			p.Until("it listens", h.listens)
			return p
		},
		"standard output": func(t *testing.T, h *stopHome) *process.Owned {
			cmd := h.command("run", "--root", "ws")
			cmd.Stdout = process.FullPipe(t)
			p := process.StartOwned(t, cmd)
			p.Until("it has found something", func() bool {
				out, err := h.command("snapshot").Output()
				return err == nil && strings.Contains(string(out), "AGENTS.md")
			})
			return p
		},
		"a configuration on a dead disk": func(t *testing.T, h *stopHome) *process.Owned {
			config, hangs := process.FIFO(t)
			p := h.start("run", "--root", "ws", "--config", config)
			p.Until("it reads", hangs)
			return p
		},
		"a hub on TCP": func(t *testing.T, h *stopHome) *process.Owned {
			address, accepted := process.Deaf(t)
			p := h.start("run", "--root", "ws", "--url", "tcp:"+address, "--token-file", h.put("token", "wma_x\n"))
			<-accepted
			return p
		},
		"a hub on HTTP": func(t *testing.T, h *stopHome) *process.Owned {
			address, accepted := process.Deaf(t)
			p := h.start("run", "--root", "ws", "--url", "http://"+address, "--token-file", h.put("token", "wma_x\n"))
			<-accepted
			return p
		},
		"the database": func(t *testing.T, h *stopHome) *process.Owned {
			locked(t, h.dir+"/state/waymark/hub.db")
			p := h.start("run", "--root", "ws")
			p.Until("it listens", h.listens)
			return p
		},
		"an agent that is asked": func(t *testing.T, h *stopHome) *process.Owned {
			address, accepted := process.Deaf(t)
			p := h.start("status", "--listen", "tcp:"+address, "--listen-token-file", h.put("token", "x\n"))
			<-accepted
			return p
		},
	}
	for name, hang := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newStopHome(t, &b, b.cache)
			hang(t, h).Ends(syscall.SIGTERM)
		})
	}
	t.Run("any moment", func(t *testing.T) {
		h := newStopHome(t, &b, b.cache)
		rng := testenv.Rand(t)
		for range 8 {
			p := h.start(append([]string{"run", "--root", "ws"}, h.wild(rng.IntN(2) == 0)...)...)
			<-time.After(time.Duration(rng.IntN(400)) * time.Millisecond)
			p.Ends([]syscall.Signal{syscall.SIGTERM, syscall.SIGINT}[rng.IntN(2)])
		}
	})
	t.Run("a child that is stopped", func(t *testing.T) {
		h := newStopHome(t, &b, t.TempDir()) // everything has to be compiled
		p := h.start("run", "--root", "ws")
		var child int
		p.Until("it has a child that compiles", func() bool { child = compilerOf(p.PID()); return child != 0 })
		if err := syscall.Kill(child, syscall.SIGSTOP); err != nil {
			t.Skipf("the child had ended: %v", err)
		}
		p.Ends(syscall.SIGTERM)
		for until := time.Now().Add(process.Timeout); syscall.Kill(child, 0) == nil; {
			if time.Now().After(until) {
				_ = syscall.Kill(child, syscall.SIGKILL)
				t.Fatal("the child is left behind")
			}
		}
	})
}

// runs reports whether a wild module is running, as its record says.
func (h *stopHome) runs() bool {
	const toState, running = 24, 2 // before the digest in a slot; what is there while a call goes on
	records, _ := filepath.Glob(h.dir + "/state/waymark/running/*.run")
	for _, record := range records {
		data, _ := os.ReadFile(record)
		for _, digest := range h.digests {
			for rest := data; ; {
				i := bytes.Index(rest, []byte(digest))
				if i < toState {
					break
				}
				if rest[i-toState] == running {
					return true
				}
				rest = rest[i+len(digest):]
			}
		}
	}
	return false
}

func (h *stopHome) listens() bool {
	_, err := os.Stat(h.dir + "/a.sock")
	return err == nil
}

// compilerOf returns the child of a process that compiles, or 0. One that was
// just forked doesn't yet: stopped, it would hold up the thread that waits for
// it to begin.
func compilerOf(pid int) int {
	child := childOf(pid)
	if words, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child)); !bytes.Contains(words, []byte(sandbox.CompileRole().Name)) {
		return 0
	}
	return child
}

// childOf returns a child of a process, 0 while there is none.
func childOf(pid int) (child int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		if _, err := fmt.Sscan(strings.TrimSpace(string(text)), &child); err == nil {
			return child
		}
	}
	return 0
}
