package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waymark/agentapi"
	"waymark/plugins/mcpconfig/servers"
	"waymark/snapshot"
	"waymark/workspace/mcp"
	"waymark/workspace/mcp/catalog"
	"waymark/workspace/mcp/entry"
)

// client writes the file of another client.
func (w *world) client(name, text string) entry.File {
	w.t.Helper()
	f := w.file(name, text)
	f.Origin, f.Shape = entry.OriginClient, servers.ShapeOf(name)
	return f
}

// TestClients: other clients' files are listed; where the configuration connects them
// they wait for approvals as the workspace's own do, and their tools are those that
// their entries leave.
func TestClients(t *testing.T) {
	bubble(t, asking, func(w *world) {
		w.env["KEY"] = "value-of-the-variable"
		w.fakes.server("c").set(func(f *fakeServer) {
			f.tools = []catalog.Tool{tool("echo", "Say it."), tool("drop", "Drop it."), tool("more", "More of it.")}
		})
		w.service.SetFiles([]entry.File{
			w.file(".mcp.json", `{"mcpServers": {"a": {"command": "./server", "args": ["a"]}}}`),
			w.client("opencode.jsonc", `{"mcp": {"a": {"type": "local", "command": ["./server", "b"]}, "o": {"type": "local", "command": ["${x}./server", "o"], "enabled": false},},} // x`),
			w.client("config.toml", "[mcp_servers.c]\ncommand = './server'\nargs = ['c']\nenv_vars = ['KEY']\nenabled_tools = ['echo', 'drop']\ndisabled_tools = ['drop']\nodd = 1\n"),
			w.client("mcp.json", `{"mcpServers": {"k": {"command": "./server", "args": ["k"], "disabled": true}}}`),
		})
		w.expect("listed", snapshot.PhaseComplete, "", "a needs_approval, c listed, k listed, o listed")
		if d := w.detail("c"); !strings.Contains(d.Error, `from = ["client"]`) || strings.Join(d.EnvNames, " ") != "KEY" {
			t.Errorf("%+v", d)
		}
		with := asking
		with.From = []entry.Origin{entry.OriginClient}
		w.service.SetSettings(with)
		w.expect("connected", snapshot.PhaseComplete, "", "a needs_approval, c needs_approval, k listed, o listed")
		w.approve("c")
		w.expect("approved", snapshot.PhaseComplete, "c__echo", "a needs_approval, c connected, k listed, o listed")
		if p := w.fakes.server("c").one(); !strings.Contains(strings.Join(p.env, "\n"), "KEY=value-of-the-variable") {
			t.Error("it hasn't got the variable that its entry names")
		}
		if code, text := w.say("c", "hi"); code != http.StatusOK {
			t.Errorf("a tool that it leaves: %d %s", code, text)
		}
		for _, name := range []string{"c__drop", "c__more"} {
			if code, text := w.text(http.MethodPost, agentapi.PathMCPCallTool, fmt.Sprintf(`{"tool_name":%q}`, name)); code != http.StatusForbidden || !strings.Contains(text, "doesn't leave") {
				t.Errorf("%s: %d %s", name, code, text)
			}
		}
		if d := w.detail("c"); len(d.Findings) == 0 || d.Findings[0].Text != `"odd" isn't understood` {
			t.Errorf("findings %+v", d.Findings)
		}
		if d := w.detail("a"); len(d.Shadows) != 1 || !strings.HasSuffix(d.Shadows[0], "opencode.jsonc") {
			t.Errorf("shadows %q", d.Shadows)
		}
		// An entry that leaves more is asked about again.
		w.service.SetFiles([]entry.File{w.client("config.toml", "[mcp_servers.c]\ncommand = './server'\nargs = ['c']\nenv_vars = ['KEY']\n")})
		w.expect("wider", snapshot.PhaseComplete, "", "c needs_approval")
	})
}

// leak stands where a person has a secret.
const leak = "t0k3n-0f-s0m3b0dy"

// leaky are files with a secret in every field that may hold one, in each shape.
var leaky = map[string]string{
	".mcp.json": `{"mcpServers": {"m1": {"command": "./server", "args": ["m1", "--token", "LEAK", "--api-key=LEAK", "https://u:LEAK@h/?k=LEAK"], "env": {"A": "LEAK", "B": "x LEAK"}, "odd": "LEAK"},
		"m2": {"url": "https://u:LEAK@h.example.com/?key=LEAK#LEAK", "headers": {"Authorization": "Bearer LEAK"}, "oauth": {"clientSecret": "LEAK"}},
		"m3": {"command": 1, "env": {"A": "LEAK"}, "args": "LEAK"}, "m4": {"type": "LEAK"}}}`,
	".vscode/mcp.json": `{"inputs": [{"id": "LEAK", "default": "LEAK"}], "servers": {"v1": {"command": "x", "args": ["--token=LEAK", "${input:k}"], "env": {"A": "LEAK${env:TOKEN}"}, "envFile": "LEAK"}}} // LEAK`,
	".codex/config.toml": "key = 'LEAK'\n[mcp_servers.x1]\ncommand = './server'\nargs = ['x1', '--token', 'LEAK']\nenv = { A = 'LEAK' }\n[mcp_servers.x2]\nurl = 'https://LEAK@h.example.com/'\n" +
		"http_headers = { A = 'LEAK' }\n[mcp_servers.x3]\nurl = 'https://h/'\nbearer_token = 'LEAK'\nbearer_token_env_var = 'LEAK'",
	".gemini/settings.json": `{"apiKey": "LEAK", "security": {"auth": "LEAK"}, "mcpServers": {"g1": {"httpUrl": "https://h.example.com/?t=LEAK", "headers": {"A": "LEAK"}}}, "hooks": {"A": [{"command": "LEAK"}]}}`,
	"opencode.json":         `{"provider": {"x": {"apiKey": "LEAK"}}, "mcp": {"o1": {"type": "local", "command": ["./server", "o1", "--token", "LEAK"], "environment": {"A": "LEAK"}}}}`,
	".zed/settings.json":    `{"context_servers": {"z1": {"source": "extension", "settings": {"token": "LEAK"}}, "z2": {"command": {"path": "./server", "args": ["z2", "--password", "LEAK"], "env": {"A": "LEAK"}}}}}`,
	".amp/settings.json":    `{"amp.key": "LEAK", "amp.mcpServers": {"p1": {"command": "./server", "args": ["p1"], "env": {"A": "LEAK"}}}}`,
	".github/mcp.json":      `{"mcpServers": {"h1": {"type": "http", "url": "https://h.example.com/", "headers": {"A": "LEAK"}, "tools": ["LEAK"]}}}`,
	".cursor/mcp.json":      `{"mcpServers": {"c1": {"url": "https://h.example.com/", "headers": {"A": "LEAK ${env:TOKEN}"}, "auth": {"CLIENT_SECRET": "LEAK"}}}}`,
	"goose/config.yaml":     "key: LEAK\nextensions:\n  y1: {type: stdio, cmd: ./server, args: [y1, --token, LEAK], envs: {A: LEAK}}\n",
}

// TestNothingLeaks: what files hold is in no row, answer, discovery or log line, whether
// their servers are listed, connected or broken.
func TestNothingLeaks(t *testing.T) {
	var logged lockedBuffer
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings, func(o *mcp.Options) {
			o.Logger = slog.New(slog.NewJSONHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		defer w.stop()
		var files []entry.File
		for place, text := range leaky {
			f := w.client(strings.ReplaceAll(place, "/", "-"), strings.ReplaceAll(text, "LEAK", leak))
			f.Shape = servers.ShapeOf(place)
			files = append(files, f)
		}
		for _, from := range [][]entry.Origin{nil, {entry.OriginClient}} {
			with := settings
			with.From = from
			w.service.SetSettings(with)
			w.service.SetFiles(files)
			synctest.Wait()
			time.Sleep(time.Minute)
			synctest.Wait()
			list := get[agentapi.MCPServers](w, agentapi.PathMCPServers)
			if len(list.Servers) != 16 {
				t.Fatalf("%d servers", len(list.Servers))
			}
			rows, err := json.Marshal(w.service.Resources())
			if err != nil {
				t.Fatal(err)
			}
			said := []string{string(rows), fmt.Sprint(w.service.Discovery())}
			for _, one := range list.Servers {
				for _, target := range []string{agentapi.PathMCPServers + "/" + one.Name, agentapi.PathMCPServers + "/" + one.Name + "/logs"} {
					_, text := w.text(http.MethodGet, target, "")
					said = append(said, text)
				}
				_, text := w.say(one.Name, "x")
				said = append(said, text)
			}
			for _, target := range []string{agentapi.PathMCPServers, agentapi.PathMCPTools} {
				_, text := w.text(http.MethodGet, target, "")
				said = append(said, text)
			}
			for _, text := range said {
				if i := strings.Index(text, leak); i >= 0 {
					t.Errorf("from %q: …%s…", from, text[max(0, i-200):min(len(text), i+100)])
				}
			}
		}
	})
	if text := logged.String(); strings.Contains(text, leak) {
		t.Errorf("logged: %s", text)
	}
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestTimeouts: a call may take as long as the entry says, and no longer than the
// configuration allows.
func TestTimeouts(t *testing.T) {
	with := asking
	with.From = []entry.Origin{entry.OriginClient}
	for said, want := range map[string]string{"tool_timeout_sec = 7": "within 7s", "tool_timeout_sec = 7200": "within 1m0s", "": "within 1m0s"} {
		bubble(t, with, func(w *world) {
			w.fakes.server("c").call = answers("")
			w.service.SetFiles([]entry.File{w.client("config.toml", "[mcp_servers.c]\ncommand = './server'\nargs = ['c']\n"+said+"\n")})
			w.expect("asked", snapshot.PhaseComplete, "", "c needs_approval")
			w.approve("c")
			w.expect("approved", snapshot.PhaseComplete, "c__echo", "c connected")
			code, text := w.text(http.MethodPost, agentapi.PathMCPCallTool, `{"tool_name":"c__echo","arguments":{"block":1}}`)
			if code != http.StatusBadGateway || !strings.Contains(text, want) {
				t.Errorf("%q: %d %s, want %s", said, code, text, want)
			}
		})
	}
}

// TestUnsetVariables: a variable that isn't set is a finding, and its reference is what the
// file's client makes of it.
func TestUnsetVariables(t *testing.T) {
	with := asking
	with.From = []entry.Origin{entry.OriginClient}
	bubble(t, with, func(w *world) {
		w.service.SetFiles([]entry.File{
			w.file(".mcp.json", `{"mcpServers": {"a": {"command": "./server", "args": ["a"], "env": {"X": "pa$$word ${NO} $NO ${NO:-d}"}}}}`),
			w.client("opencode.jsonc", `{"mcp": {"o": {"type": "local", "command": ["./server", "o"], "environment": {"X": "<{env:NO}>"}}}}`),
			w.client("config.toml", "[mcp_servers.c]\ncommand = './server'\nargs = ['c']\nenv_vars = ['NO', 'CODER_AGENT_TOKEN']\n"),
		})
		for name, want := range map[string]struct {
			env      string
			findings []string
		}{
			"a": {"X=pa$$word ${NO} $NO d", []string{"aren't set in the agent's environment: NO. The references stay"}},
			"o": {"X=<>", []string{"aren't set in the agent's environment: NO. The references are removed"}},
			"c": {"", []string{"aren't set in the agent's environment: NO.", "no server gets: CODER_AGENT_TOKEN."}},
		} {
			w.approve(name)
			d := w.detail(name)
			if len(d.Findings) != len(want.findings) {
				t.Fatalf("%s: %+v", name, d.Findings)
			}
			for i, text := range want.findings {
				if !strings.Contains(d.Findings[i].Text, text) {
					t.Errorf("%s: %+v, want %s", name, d.Findings[i], text)
				}
			}
			env := strings.Join(w.fakes.server(name).one().env, "\n")
			if !strings.Contains(env, want.env) || strings.Contains(env, "CLAUDE_PROJECT_DIR") != (name == "a") {
				t.Errorf("%s: %s", name, env)
			}
		}
	})
}
