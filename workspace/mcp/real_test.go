package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"waymark/agentapi"
	"waymark/internal/reexec"
	"waymark/snapshot"
	"waymark/workspace/launch"
	"waymark/workspace/mcp"
	"waymark/workspace/supervisor"
)

var program *reexec.Program

// TestMain lets the test binary be what holds processes, what confines them, and a
// server.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve-mcp" {
		serve()
		return
	}
	program = reexec.Main(append(supervisor.Roles(), launch.Role())...)
	os.Exit(m.Run())
}

// serve is a small server, which greets on its standard output, does not know what is
// asked first, and has what it was given in what it says.
func serve() {
	_, _ = fmt.Fprintln(os.Stdout, "Welcome!")
	fmt.Fprintln(os.Stderr, "serving with", os.Getenv("KEY"))
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name            string
				ProtocolVersion string
				Arguments       map[string]string
			}
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		var result string
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"real","version":"1"},"instructions":"Use ` + os.Getenv("KEY") + `. It is a secret."}`
		case "tools/list":
			result = `{"tools":[{"name":"env","description":"Tell a variable.","inputSchema":{"type":"object"}},{"name":"read","inputSchema":{"type":"object"}},{"name":"die","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			text := os.Getenv(m.Params.Arguments["name"])
			switch m.Params.Name {
			case "die":
				os.Exit(9)
			case "read":
				data, err := os.ReadFile(m.Params.Arguments["path"])
				text = fmt.Sprint(string(data), err)
			}
			quoted, _ := json.Marshal(strconv.Itoa(os.Getpid()) + " " + text)
			result = `{"content":[{"type":"text","text":` + string(quoted) + `}]}`
		default: // older ones ignore it
			continue
		}
		_, _ = fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
	select {} // many don't notice the end of their input
}

// realWorld has a supervisor, and speaks with real processes.
func realWorld(t *testing.T, settings mcp.Settings) *world {
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
	held, err := supervisor.Open(t.Context(), supervisor.Options{
		Dir: filepath.Join(t.TempDir(), "state"), Socket: filepath.Join(sockets, "s"), Program: line,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := held.Stop(ctx); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Errorf("stop: %v", err)
		}
		_ = held.Close()
	})
	return newWorld(t, settings, func(o *mcp.Options) {
		o.Supervisor = held
		o.SetDialer(nil)
	})
}

// TestNotSpeaking: what a server writes in place of messages, and what its profile has
// refused it, is part of the reason why it isn't connected. What is only around a message
// is taken off.
func TestNotSpeaking(t *testing.T) {
	w := realWorld(t, mcp.Settings{ConnectTimeout: 3 * time.Second})
	defer w.stop()
	home := filepath.Join(filepath.Dir(w.root), "of-the-user")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(home, "kept.txt")
	if err := os.WriteFile(kept, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	const answer = `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`
	servers := map[string]struct{ script, want string }{
		"prefix":  {`printf 'INFO: {"jsonrpc":"2.0","id":1,"result":{}}\n'; cat >/dev/null`, `in place of a message it wrote "INFO: {`},
		"pretty":  {`printf '{\n  "jsonrpc": "2.0",\n  "id": 1\n}\n'; cat >/dev/null`, `what it writes isn't one message in a line: "{ \"jsonrpc\": \"2.0\", \"id\": 1 }"`},
		"framed":  {`printf 'Content-Length: 9\r\n\r\n{"id":1}'; cat >/dev/null`, "it frames its messages as a language server does"},
		"exits":   {`echo 'Usage: server [flags]'; exit 2`, `it ended with exit code 2: in place of a message it wrote "Usage: server [flags]"`},
		"late":    {`cat >/dev/null`, "it hasn't answered within 3s (connect_timeout in [mcp] of the configuration)"},
		"refused": {`cat ` + kept, "its profile doesn't let it have " + kept + ": 'agent mcp approve --read " + kept + " refused' would"},
		"colors":  {`read first; printf '\357\273\277\033[32m{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}\033[0m\n'; while read line; do case $line in *'"initialize"'*) id=${line#*'"id":'}; id=${id%%,*}; printf '\033[1m` + strings.Replace(answer, "%s", "%s", 1) + `\033[0m\r\n' "$id";; esac; done`, ""},
	}
	entries := map[string]definition{}
	for name, s := range servers {
		w.write(name+".sh", s.script+"\n", 0o600)
		entries[name] = definition{"command": "sh", "args": []string{filepath.Join(w.root, name+".sh")}}
	}
	w.configure(entries)
	for name := range servers {
		w.approve(name)
	}
	w.tools("?wait=1m")
	for name, s := range servers {
		if _, err := launch.Supported(); err != nil && name == "refused" {
			continue
		}
		d := w.detail(name)
		if !strings.Contains(d.Error, s.want) || (s.want == "") != (d.Outcome == snapshot.OutcomeConnected) {
			t.Errorf("%s is %s: %s, want %s", name, d.Outcome, d.Error, s.want)
		}
	}
}

// TestReal: a process under the supervisor, spoken with by the SDK, and confined where
// the kernel can.
func TestReal(t *testing.T) {
	w := realWorld(t, mcp.Settings{})
	defer w.stop()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// A copy in the workspace, which may be read.
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	w.write("real", string(data), 0o700)
	w.write("notes.txt", "in the workspace", 0o600)
	secret := filepath.Join(w.state, "control.token")
	if err := os.WriteFile(secret, []byte("a token"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.configure(map[string]definition{"real": {"command": "./real", "args": []string{"serve-mcp"}, "env": map[string]string{"KEY": "${TOKEN}"}}})
	w.approve("real")
	phase, tools, servers := w.tools("?wait=2m")
	if phase != snapshot.PhaseComplete || tools != "real__env real__read real__die" || servers != "real connected" {
		_, log := w.text("GET", agentapi.PathMCPServers+"/real/logs", "")
		t.Fatalf("%s %s %s: %s %s", phase, tools, servers, w.detail("real").Error, log)
	}
	call := func(tool, arguments string) (int, string) {
		return w.text("POST", agentapi.PathMCPCallTool, fmt.Sprintf(`{"tool_name":"real__%s","arguments":%s}`, tool, arguments))
	}
	code, text := call("env", `{"name":"KEY"}`)
	if code != http.StatusOK || strings.Contains(text, w.env["TOKEN"]) || !strings.Contains(text, "[redacted]") {
		t.Errorf("%d %s", code, text)
	}
	if _, text := call("env", `{"name":"TMPDIR"}`); !strings.Contains(text, filepath.Join(w.state, "cache")) {
		t.Errorf("its temporary directory: %s", text)
	}
	if _, text := call("read", fmt.Sprintf(`{"path":%q}`, filepath.Join(w.root, "notes.txt"))); !strings.Contains(text, "in the workspace") {
		t.Errorf("it can't read the workspace: %s", text)
	}
	d := w.detail("real")
	if _, text := call("read", fmt.Sprintf(`{"path":%q}`, secret)); d.Confined == "server" && strings.Contains(text, "a token") {
		t.Error("it reads the agent's token")
	}
	_, log := w.text("GET", agentapi.PathMCPServers+"/real/logs", "")
	if strings.Contains(log, w.env["TOKEN"]) || !strings.Contains(log, "Welcome!") || !strings.Contains(log, "serving with [redacted]") {
		t.Errorf("log: %s", log)
	}
	if len(d.May) < 2 || strings.Contains(d.Instructions, w.env["TOKEN"]) {
		t.Errorf("may %q, instructions %q", d.May, d.Instructions)
	}
	if code, text := call("die", `{}`); code != http.StatusBadGateway || !strings.Contains(text, "exit code 9") {
		t.Errorf("%d %s", code, text)
	}
	if code, text = call("env", `{"name":"KEY"}`); code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	_, after, _ := strings.Cut(text, `"text":"`)
	pid, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	// What it holds on the disk ends it.
	dirs, err := filepath.Glob(w.state + "/cache/mcp/*/cache")
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%q, %v", dirs, err)
	}
	if err := os.WriteFile(filepath.Join(dirs[0], "big"), make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	w.service.SetSettings(mcp.Settings{Disk: 1 << 20})
	w.text("POST", agentapi.PathMCPServers+"/real/restart", "") // it looks when it starts
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		d := w.detail("real")
		if d.Outcome == snapshot.OutcomeFailed && strings.Contains(d.Error, "hold more than they may, 1 MiB: empty "+filepath.Dir(dirs[0])) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it is %s: %s", d.Outcome, d.Error)
		}
	}
	w.stop()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("it is left running: %v", err)
	}
}
