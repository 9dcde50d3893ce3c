package clients_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"waymark/test/built"
)

// asServer has this program be an MCP server with a few tools.
const asServer = "WAYMARK_TEST_CLIENT_SERVER"

// A step is a tool that the scripted model calls.
type step struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// scripted is a model that calls tools one after the other, and keeps what it is asked. It
// speaks OpenAI's responses, as Codex does, and chat completions, as opencode does.
type scripted struct {
	steps []step

	mu    sync.Mutex // guards asked
	asked []json.RawMessage
}

// runScripted runs a shell script with such a model at $MODEL, and writes what that was asked
// into a file.
func runScripted(args []string) error {
	if err := loopback(); err != nil {
		return err
	}
	if err := os.Unsetenv(inside); err != nil {
		return err
	}
	m := &scripted{}
	if err := json.Unmarshal([]byte(args[0]), &m.steps); err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: m} // in a namespace of its own
	go func() { _ = server.Serve(l) }()
	defer func() { _ = server.Close() }()
	cmd := exec.CommandContext(context.Background(), "sh", "-euc", args[2])
	cmd.Env = append(os.Environ(), "MODEL=http://"+l.Addr().String()+"/v1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err = cmd.Run()
	m.mu.Lock()
	defer m.mu.Unlock()
	asked, marshalErr := json.Marshal(m.asked)
	if err == nil {
		err = marshalErr
	}
	if writeErr := os.WriteFile(args[1], asked, 0o600); err == nil {
		err = writeErr
	}
	return err
}

func (m *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var asked struct {
		Messages []struct{ Role string }
		Input    []struct{ Type string }
		Tools    []any
	}
	if err == nil {
		err = json.Unmarshal(body, &asked)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n := 0
	for _, message := range asked.Messages {
		if message.Role == "tool" {
			n++
		}
	}
	for _, item := range asked.Input {
		if item.Type == "function_call_output" {
			n++
		}
	}
	if len(asked.Tools) > 0 {
		m.mu.Lock()
		m.asked = append(m.asked, body)
		m.mu.Unlock()
	}
	w.Header().Set("Content-Type", "text/event-stream")
	calls := n < len(m.steps) && len(asked.Tools) > 0
	if strings.HasSuffix(r.URL.Path, "/responses") {
		item := map[string]any{"type": "message", "id": "m", "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": "done"}}}
		if calls {
			item = map[string]any{
				"type": "function_call", "id": fmt.Sprint("f", n), "call_id": fmt.Sprint("call", n),
				"namespace": "mcp__waymark", "name": m.steps[n].Tool, "arguments": string(m.steps[n].Args),
			}
		}
		for _, event := range []map[string]any{
			{"type": "response.created", "response": map[string]any{"id": "r"}},
			{"type": "response.output_item.done", "item": item},
			{"type": "response.completed", "response": map[string]any{"id": "r", "usage": map[string]any{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}},
		} {
			data, _ := json.Marshal(event) // of strings and numbers
			_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event["type"], data)
		}
		return
	}
	delta, finish := map[string]any{"role": "assistant", "content": "done"}, "stop"
	if calls {
		delta, finish = map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
			"index": 0, "id": fmt.Sprint("call", n), "type": "function",
			"function": map[string]any{"name": "waymark_" + m.steps[n].Tool, "arguments": string(m.steps[n].Args)},
		}}}, "tool_calls"
	}
	for _, choice := range []map[string]any{
		{"index": 0, "delta": delta, "finish_reason": nil},
		{"index": 0, "delta": map[string]any{}, "finish_reason": finish},
	} {
		data, _ := json.Marshal(map[string]any{"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []any{choice}})
		_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// loop is a client with a workspace, an agent in it, and a model.
type loop struct {
	programs
	t          *testing.T
	home, root string
	modules    string // of server-everything
}

func (p programs) loop(t *testing.T) *loop {
	t.Helper()
	dir, err := os.MkdirTemp("", "wm") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	l := &loop{programs: p, t: t, home: filepath.Join(dir, "home"), root: filepath.Join(dir, "ws")}
	l.modules = built.NodeModules(t, "../mcp/testdata/npm")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"everything": map[string]any{"command": "node", "args": []string{filepath.Join(l.modules, "@modelcontextprotocol/server-everything/dist/index.js"), "stdio"}},
		"later":      map[string]any{"command": self, "env": map[string]string{asServer: "1"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"AGENTS.md":                     "Use tabs, says this workspace.\n",
		".agents/skills/known/SKILL.md": head("known", "A skill that all of them read."),
		".roo/skills/hidden/SKILL.md":   head("hidden", "A skill that neither reads."),
		".mcp.json":                     string(servers),
		"notes.txt":                     "one\ntwo\n",
		// So few that they are listed by their names.
		"../home/.config/waymark/plugin.toml": "[mcp]\nallow = [\"everything__echo\", \"later__echo\"]\n",
		".git/HEAD":                           "ref: refs/heads/main\n",
		".git/config":                         "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
	} {
		l.put(filepath.Join(l.root, name), text)
	}
	return l
}

func (l *loop) put(path, text string) {
	l.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// run connects a client, has it take one turn, disconnects it, and returns what its model was
// asked. Before the script $CONFIG is the client's configuration with $MODEL in it.
func (l *loop) run(client, config, text, turn string) []string {
	l.t.Helper()
	steps, err := json.Marshal([]step{
		{"execute", json.RawMessage(`{"command": "echo answer-$((40+2)); mkdir -p .agents/skills/late; cp .agents/skills/known/SKILL.md .agents/skills/late/; sed -i \"s/known/late/; s/all of them read/ca\"\"me late/\" .agents/skills/late/SKILL.md; touch go; i=0; until [ -e gone ] || [ $i -ge 300 ]; do i=$((i+1)); sleep 0.1; done; ls gone", "timeout": "60s"}`)},
		{"edit_files", json.RawMessage(`{"files": [{"path": "notes.txt", "edits": [{"search": "two", "replace": "three"}]}]}`)},
		{"everything__echo", json.RawMessage(`{"message": "hello behind"}`)},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	script := `
cd "$ROOT"
mkdir -p "$(dirname "$CONFIG")"
eval "cat <<END
$TEXT
END" >"$CONFIG"
cp "$CONFIG" "$HOME/before"
"$AGENT" run >"$HOME/agent.log" 2>&1 &
trap '"$AGENT" stop >/dev/null 2>&1 || true' EXIT
i=0
until "$AGENT" mcp list >/dev/null 2>&1; do i=$((i+1)); [ $i -lt 300 ] || { cat "$HOME/agent.log"; exit 1; }; sleep 0.1; done
"$AGENT" mcp list --wait 60s
"$AGENT" mcp approve everything --yes --read "$MODULES" >/dev/null
"$AGENT" mcp list --wait 60s
"$AGENT" connect "$CLIENT" $FLAGS
cmp -s "$CONFIG" "$HOME/before" && exit 1
# What execute starts doesn't see the agent's token, so somebody else approves a server meanwhile.
( until [ -e go ]; do sleep 0.1; done; "$AGENT" mcp approve later --yes; "$AGENT" mcp list --wait 60s; touch gone ) >/dev/null 2>&1 &
` + turn + `
"$AGENT" connect "$CLIENT" --undo
cmp "$CONFIG" "$HOME/before"
`
	flags := ""
	if client == "codex" {
		flags = "--approve-tools=all"
	}
	record := filepath.Join(filepath.Dir(l.home), "asked.json")
	ctx, cancel := context.WithTimeout(l.t.Context(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "scripted", string(steps), record, script)
	if err := os.MkdirAll(l.home, 0o700); err != nil {
		l.t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		l.t.Fatal(err)
	}
	cmd.Dir = l.root
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + l.home, "ROOT=" + l.root, "CLIENT=" + client, "CONFIG=" + filepath.Join(l.home, config), "TEXT=" + text,
		"AGENT=" + l.agent, "MODULES=" + l.modules, "CODEX=" + l.codex, "OPENCODE=" + l.opencode, "FLAGS=" + flags, inside + "=1",
		"XDG_CACHE_HOME=" + filepath.Join(cache, "waymark-test"),
		"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
	}
	out, err := os.Create(filepath.Join(l.t.TempDir(), "out"))
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	cmd.Stdout, cmd.Stderr = out, out
	namespace(cmd)
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(out.Name())
		asked, _ := os.ReadFile(record)
		l.t.Fatalf("%v\n%s\nasked: %s", err, said, brief(string(asked)))
	}
	data, err := os.ReadFile(record)
	if err != nil {
		l.t.Fatal(err)
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		l.t.Fatal(err)
	}
	asked := make([]string, len(raw))
	for i := range raw {
		asked[i] = string(raw[i])
	}
	return asked
}

// judge looks at what a model was asked. With a prefix of tools' names, the client takes new ones
// in the middle of a turn.
func (l *loop) judge(asked []string, prefix string) {
	l.t.Helper()
	if len(asked) != 4 {
		l.t.Fatalf("the model was asked %d times, not 4", len(asked))
	}
	for _, want := range []string{"Use tabs, says this workspace.", "A skill that all of them read.", "hidden", "execute", "edit_files", "everything__echo", "read_skill"} {
		if !strings.Contains(asked[0], want) {
			l.t.Errorf("the first request doesn't hold %q", want)
		}
	}
	if n := strings.Count(asked[0], "A skill that all of them read."); n != 1 {
		l.t.Errorf("what the client reads by itself is there %d times", n)
	}
	for i, want := range []string{"answer-42", "notes.txt", "hello behind"} {
		if !strings.Contains(asked[i+1], want) {
			l.t.Errorf("request %d doesn't hold what tool %d answered: %s", i+2, i+1, tail(asked[i+1]))
		}
	}
	if prefix != "" && !strings.Contains(asked[3], prefix+"later__") {
		l.t.Error("a tool that was approved in the middle isn't there")
	}
	notes, err := os.ReadFile(filepath.Join(l.root, "notes.txt"))
	if err != nil || string(notes) != "one\nthree\n" {
		l.t.Errorf("the file is %q %v", notes, err)
	}
	_, answer, _ := strings.Cut(asked[1], "answer-42")
	l.t.Logf("what was done in between answered %s", brief(answer[:min(len(answer), 390)]))
	for i := range asked {
		l.t.Logf("request %d: %d bytes, the tool that was approved in between: %v, the skill: %v", i+1, len(asked[i]),
			strings.Contains(asked[i], prefix+"later__"), strings.Contains(asked[i], "came late"))
	}
}

func tail(s string) string { return s[max(0, len(s)-1500):] }

// TestConnected: a client that 'agent connect' has connected tells its model of the workspace,
// and the tools that the model calls do what they say.
func TestConnected(t *testing.T) {
	t.Parallel()
	p := find(t)
	if _, err := exec.LookPath("node"); err != nil {
		built.Need(t, fmt.Errorf("node: %w", built.ErrMissing))
	}
	turns := make(chan struct{}, runtime.NumCPU())
	t.Run("codex", func(t *testing.T) {
		t.Parallel()
		turns <- struct{}{}
		defer func() { <-turns }()
		l := p.loop(t)
		l.judge(l.run("codex", ".codex/config.toml", `# mine
model = "m"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "$MODEL"
wire_api = "responses"`, `"$CODEX" exec --skip-git-repo-check "go" </dev/null`), "")
	})
	t.Run("opencode", func(t *testing.T) {
		t.Parallel()
		turns <- struct{}{}
		defer func() { <-turns }()
		l := p.loop(t)
		// It adds $schema to a file that has none, as soon as it starts.
		l.judge(l.run("opencode", ".config/opencode/opencode.jsonc", `{
  // mine
  "\$schema": "https://opencode.ai/config.json",
  "model": "fake/m",
  "provider": {"fake": {"npm": "@ai-sdk/openai-compatible", "name": "fake", "options": {"baseURL": "$MODEL", "apiKey": "none"},
    "models": {"m": {"name": "m", "limit": {"context": 200000, "output": 8000}}}}},
}`, `"$OPENCODE" run --pure --title x go </dev/null`), "waymark_")
	})
}
