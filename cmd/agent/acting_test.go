package main

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/host/config"
)

// Commands that are called where no agent runs while one runs elsewhere.
var (
	// actingCommands change something: they leave that agent alone.
	actingCommands = map[string]string{
		"exec": "true", "kill": "5f0c", "stop": "", "root": ".", "ready": "", "resync": "",
		"sources add": "x", "sources remove": "x", "plugins retry": "", "plugins approve": "x",
		"token create": "", "token revoke": "x", "mcp approve": "x --yes", "mcp deny": "x", "mcp login": "x",
		"mcp restart": "x", "mcp call": "x__y", "mcp list": "--tools --refresh",
		"desktop start": "", "desktop stop": "", "desktop screenshot": "x.png", "desktop record": "x.mp4", "desktop forward": "vnc.sock",
	}
	// readingCommands ask it, and say so.
	readingCommands = map[string]string{
		"status": "", "snapshot": "", "why": "x", "for": "x", "doctor": "", "ps": "", "logs": "x", "git diff": "",
		"sources": "", "sources list": "", "sources show": "x", "plugins": "", "plugins list": "", "plugins approve": "", "token list": "",
		"mcp list": "", "mcp show": "x", "mcp logs": "x", "mcp search": "x",
	}
	// alone ask no agent, or, as what a client starts, only the one that runs where it was
	// started; their own tests say so.
	alone = []string{
		"run", "enroll", "resolve", "plugins try", "context", "list", "connect", "connect session-start", "mcp serve", "audit",
		"context accept", "context mend", "mcp tools",
		"config", "config check", "config approve", "config convention", "config convention add", "config defaults", "config schema", "git", "mcp", "desktop", "token", "version", "help", "completion bash", "completion zsh", "completion fish", "completion powershell",
	}
)

// TestActsHere: "the only one that runs" is for reading. Each command is one or the other,
// so that a new one isn't forgotten.
func TestActsHere(t *testing.T) {
	var walk func(cmd *cobra.Command, path string)
	walk = func(cmd *cobra.Command, path string) {
		for _, sub := range cmd.Commands() {
			walk(sub, strings.TrimPrefix(path+" "+sub.Name(), " "))
		}
		_, acts := actingCommands[path]
		_, reads := readingCommands[path]
		if cmd.Runnable() && path != "" && !acts && !reads && !slices.Contains(alone, path) {
			t.Errorf("agent %s: say in this test whether it changes something", path)
		}
	}
	newApp := func() (*app, *bytes.Buffer) {
		var out bytes.Buffer
		return &app{stdout: &out, stderr: &out, Program: agent.Program{Builtin: func() ([]byte, error) { return nil, os.ErrNotExist }}}, &out
	}
	a, _ := newApp()
	walk(a.rootCommand(), "")

	asked := elsewhere(t, 0)
	run := func(name, args string) (code int, out string) {
		a, text := newApp()
		asked.Store(0)
		code = a.run(t.Context(), append(strings.Fields(name), strings.Fields(args)...))
		return code, text.String()
	}
	for _, name := range slices.Sorted(maps.Keys(actingCommands)) {
		for _, args := range []string{actingCommands[name], strings.TrimSpace(actingCommands[name] + " --json")} {
			code, out := run(name, args)
			if strings.Contains(out, "unknown flag: --json") || strings.Contains(out, "--json is for -d") {
				continue
			}
			if code != 3 || asked.Load() > 0 || !strings.Contains(out, "name one with --listen") || !strings.Contains(out, "unix:") {
				t.Errorf("agent %s %s: exit code %d, %d requests:\n%s", name, args, code, asked.Load(), out)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(readingCommands)) {
		if code, out := run(name, readingCommands[name]); asked.Load() == 0 || !strings.Contains(out, "the only one that runs") {
			t.Errorf("agent %s %s: exit code %d, %d requests:\n%s", name, readingCommands[name], code, asked.Load(), out)
		}
	}
}

// TestStrangerAtSocket: a process that has put a socket of its own in the place of the
// agent's is shown nothing.
func TestStrangerAtSocket(t *testing.T) {
	asked := elsewhere(t, os.Getppid())
	t.Chdir("../theirs")
	for _, args := range [][]string{{"ps"}, {"stop"}, {"exec", "--", "true"}, {"token", "list"}} {
		var out bytes.Buffer
		a := &app{stdout: &out, stderr: &out, Program: agent.Program{Builtin: func() ([]byte, error) { return nil, os.ErrNotExist }}}
		if code := a.run(t.Context(), args); code == 0 || asked.Load() > 0 || !strings.Contains(out.String(), "isn't shown the token") {
			t.Errorf("agent %s: exit code %d, %d requests:\n%s", args, code, asked.Load(), out.String())
		}
	}
}

// elsewhere has something serve as the agent of another directory than the current one,
// and returns how often it was asked. The agent says that it is a process of this id, unless
// it is 0.
func elsewhere(t *testing.T, pid int) *atomic.Int64 {
	t.Helper()
	dir, err := os.MkdirTemp("", "wm") // a short path, for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, filepath.Join(dir, strings.ToLower(name)))
	}
	t.Setenv("WAYMARK_SOCKET", "")
	for _, name := range []string{"theirs", "here"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := paths.Workspace(filepath.Join(dir, "theirs"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := agent.ClaimWorkspace(context.Background(), w)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err == nil {
		err = c.Announce(listener)
	}
	if err != nil {
		t.Fatal(err)
	}
	if pid != 0 {
		err := agent.EnsureToken(agent.ControlFile(w.State))
		if err := errors.Join(err, c.Change(func(i *agent.Instance) { i.PID = pid })); err != nil {
			t.Fatal(err)
		}
	}
	var asked atomic.Int64
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, "no", http.StatusTeapot)
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		_ = c.Release()
	})
	t.Chdir(filepath.Join(dir, "here"))
	return &asked
}
