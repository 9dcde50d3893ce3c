package clients_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"waymark/agent/connect"
	"waymark/test/built"
)

// connected says what a program needs besides what its runner does: settings that let it call
// tools without asking, and the file that 'agent connect' edits.
var connected = map[string]struct {
	file, text string // of the user's configuration before
	args       []string
	settings   map[string]string
	env        []string
	// calls replaces the call of the tool where the program has a tool of its own that calls
	// those of servers.
	calls []toolCall
	// writes: it writes its configuration itself, so that undo removes the entry alone.
	writes bool
}{
	"claude":      {file: ".claude.json", text: "{\n  \"numStartups\": 1\n}\n", settings: map[string]string{".claude/settings.json": `{"permissions": {"allow": ["mcp__waymark"]}}`}, env: []string{"ENABLE_TOOL_SEARCH=false"}, writes: true},
	"cline":       {file: ".cline/data/settings/cline_mcp_settings.json", text: "{\n  \"mcpServers\": {}\n}\n"},
	"continue":    {file: ".continue/config.yaml", text: "# mine\nname: x\nversion: 1.0.0\nschema: v1\nmodels: # of the test\n  - {name: m, provider: openai, model: m, apiBase: \"http://" + modelAt + "/v1\", apiKey: none}\n", args: []string{"--auto"}},
	"copilot-cli": {file: ".copilot/mcp-config.json", text: "{\n\t\"mcpServers\": {}\n}\n"},
	"gemini":      {file: ".gemini/settings.json", text: "{\n  // mine\n  \"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}}\n}\n", args: []string{"--yolo"}},
	"kilo":        {file: ".config/kilo/kilo.jsonc", text: "{\n  // mine\n  \"$schema\": \"https://app.kilo.ai/config.json\",\n}\n", writes: true},
	"qwen-code": {file: ".qwen/settings.json", text: "{\n  \"theme\": \"x\"\n}\n", args: []string{"--yolo"}, writes: true, calls: []toolCall{
		{"tool_search", map[string]string{"query": "select:mcp__waymark__read_file"}}, {"tool_call", map[string]any{"name": "mcp__waymark__read_file", "arguments": readsNotes}},
	}},
}

var readsNotes = map[string]string{"path": "notes.txt"}

// connectedScript connects a client, starts it, and disconnects it. An agent runs in the
// workspace meanwhile.
const connectedScript = `
"$AGENT" run >"$HOME/agent.log" 2>&1 &
trap '"$AGENT" stop >/dev/null 2>&1 || true' EXIT
i=0
until "$AGENT" status >/dev/null 2>&1; do i=$((i+1)); [ $i -lt 300 ] || { cat "$HOME/agent.log"; exit 1; }; sleep 0.1; done
"$AGENT" connect "$CLIENT" >&2
cp "$CONFIG" "$HOME/connected"
"$@" </dev/null >"$HOME/said" 2>&1 || echo "exit code $?" >>"$HOME/said"
"$AGENT" connect "$CLIENT" --undo >&2
`

// TestConnectedPrograms: a program that 'agent connect' has connected starts the entry, lists
// its tools and calls one of them, and after undo its configuration is what it was.
func TestConnectedPrograms(t *testing.T) {
	t.Parallel()
	p := find(t)
	turns := make(chan struct{}, runtime.NumCPU())
	for _, r := range runners {
		client := connect.Lookup(r.id)
		if client == nil || client.Without != "" || r.prints || r.id == "opencode" { // of the last two see TestConnected
			continue
		}
		t.Run(r.id, func(t *testing.T) {
			t.Parallel()
			turns <- struct{}{}
			defer func() { <-turns }()
			with, ok := connected[r.id]
			if !ok {
				t.Fatal("'agent connect' knows it, and this test doesn't")
			}
			dir, err := os.MkdirTemp("", "wm") // a socket's path is short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			if dir, err = filepath.EvalSymlinks(dir); err != nil {
				t.Fatal(err)
			}
			home, root := user{dir: filepath.Join(dir, "home")}, filepath.Join(dir, "ws")
			put(t, filepath.Join(root, ".git/HEAD"), "ref: refs/heads/main\n")
			put(t, filepath.Join(root, "notes.txt"), "what only the file says\n")
			config := filepath.Join(home.dir, with.file)
			argv := append(r.command(t, built.NodeModules(t, filepath.Join("testdata", r.pinned)), home), with.args...)
			for name, text := range with.settings {
				put(t, filepath.Join(home.dir, name), text)
			}
			put(t, config, with.text)
			if r.id == "continue" { // its runner names another file
				for i, arg := range argv {
					if arg == "--config" {
						argv[i+1] = config
					}
				}
			}
			calls := with.calls
			if calls == nil {
				calls = []toolCall{{"*read_file", readsNotes}}
			}
			cache, err := os.UserCacheDir()
			if err != nil {
				t.Fatal(err)
			}
			home.env = append(append(append(home.env, r.env...), with.env...), "AGENT="+p.agent, "CLIENT="+r.id, "CONFIG="+config, "XDG_CACHE_HOME="+filepath.Join(cache, "waymark-test"),
				modelScript+"="+jsonOf(calls))
			out := run(t, home, "ask", root, append([]string{"sh", "-euc", connectedScript, "sh"}, argv...)...)
			first, last := requestsOf(t, out)
			if !strings.Contains(first, "read_file") || !strings.Contains(first, "execute") {
				t.Errorf("its first request doesn't offer the tools: %s", brief(first))
			}
			if !strings.Contains(last, "what only the file says") {
				said, _ := os.ReadFile(filepath.Join(home.dir, "said"))
				t.Errorf("its last request doesn't hold what the tool answered, and it said %s:\n%s", tail(string(said)), tail(last))
			}
			if connected, err := os.ReadFile(filepath.Join(home.dir, "connected")); err != nil || !strings.Contains(string(connected), connect.Name) {
				t.Errorf("it wasn't connected: %s %v", connected, err)
			}
			after, err := os.ReadFile(config)
			switch {
			case err != nil:
				t.Error(err)
			case with.writes && strings.Contains(string(after), "\"serve\""), !with.writes && string(after) != with.text:
				t.Errorf("undone it is\n%s\nand was\n%s", after, with.text)
			}
			if _, err := os.Stat(filepath.Join(home.dir, ".local/state/waymark/connect", r.id+".json")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("undone, and the record is left: %v", err)
			}
		})
	}
}
