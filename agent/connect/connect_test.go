package connect_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/agent/connect"
	"waymark/test/testenv"
)

// machine is a home with a connector for it.
type machine struct {
	t    testing.TB
	home string
	env  map[string]string
	*connect.Connector
}

func newMachine(t testing.TB) *machine {
	t.Helper()
	m := &machine{t: t, home: t.TempDir(), env: map[string]string{}}
	program := filepath.Join(m.home, "bin", "agent")
	m.write(program, "")
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	m.Connector = connect.New(connect.Options{
		Program: program, Home: m.home, State: filepath.Join(m.home, "state"),
		Getenv: func(name string) string { return m.env[name] },
	})
	return m
}

func (m *machine) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(m.home, name)
}

func (m *machine) write(name, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.path(name)), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(m.path(name), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) read(name string) string {
	m.t.Helper()
	data, err := os.ReadFile(m.path(name))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(data)
}

func (m *machine) connect(id string, s connect.Settings) []*connect.Change {
	m.t.Helper()
	changes, err := m.Connect(m.t.Context(), connect.Lookup(id), s)
	if err != nil {
		m.t.Fatalf("connect %s: %v", id, err)
	}
	return changes
}

func (m *machine) undo(id string) []*connect.Change {
	m.t.Helper()
	changes, err := m.Undo(m.t.Context(), connect.Lookup(id))
	if err != nil {
		m.t.Fatalf("undo %s: %v", id, err)
	}
	return changes
}

// usual are the clients' files.
var usual = map[string]string{
	"claude": ".claude.json", "cline": ".cline/data/settings/cline_mcp_settings.json", "codex": ".codex/config.toml", "continue": ".continue/config.yaml",
	"copilot-cli": ".copilot/mcp-config.json", "cursor": ".cursor/mcp.json", "gemini": ".gemini/settings.json", "kilo": ".config/kilo/kilo.json",
	"opencode": ".config/opencode/opencode.json", "qwen-code": ".qwen/settings.json",
}

// TestNothingThere: files and directories are made, and go again.
func TestNothingThere(t *testing.T) {
	t.Parallel()
	for _, client := range connect.Clients() {
		m := newMachine(t)
		changes := m.connect(client.ID, connect.Settings{Hook: client.Hook, ApproveTools: client.Approves})
		if changes[0].Action != connect.ActionCreated || changes[0].Path != m.path(usual[client.ID]) {
			t.Errorf("%s: %+v", client.ID, changes[0])
		}
		if text := m.read(usual[client.ID]); !strings.Contains(text, client.Reader) || !strings.HasSuffix(text, "\n") {
			t.Errorf("%s has no entry that leaves out what the client reads:\n%s", client.ID, text)
		}
		info, err := os.Stat(m.path(usual[client.ID]))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", client.ID, info.Mode(), err)
		}
		for _, x := range m.List() {
			if want := x.Client == client.ID; want != (x.State == connect.StateConnected) || x.Hook != (want && client.Hook) {
				t.Errorf("with %s: %+v", client.ID, x)
			}
		}
		for _, ch := range m.connect(client.ID, connect.Settings{Hook: client.Hook, ApproveTools: client.Approves}) {
			if ch.Action != connect.ActionNone {
				t.Errorf("%s: connected twice: %+v", client.ID, ch)
			}
		}
		m.undo(client.ID)
		left, err := filepath.Glob(filepath.Join(m.home, ".*"))
		if err != nil || len(left) > 0 {
			t.Errorf("%s: undone, and %v is left %v", client.ID, left, err)
		}
		if left, err := os.ReadDir(filepath.Join(m.home, "state")); err != nil || len(left) != 1 || left[0].Name() != "lock" {
			t.Errorf("%s: undone, and its record is left: %v %v", client.ID, left, err)
		}
		if again := m.undo(client.ID); len(again) != 0 {
			t.Errorf("%s: undone twice: %+v", client.ID, again[0])
		}
	}
}

// TestLayout: the entry is written as the file is, and nothing else changes.
func TestLayout(t *testing.T) {
	t.Parallel()
	const inJSON = `"waymark": {`
	tests := map[string]struct{ client, before, after string }{
		"comments and a trailing comma": {"opencode",
			"{\n\t// theirs\n\t\"mcp\": {\n\t\t\"a\": {}, // first\n\t\t/* last */\n\t},\n\t\"theme\": \"x\",\n}\n",
			"{\n\t// theirs\n\t\"mcp\": {\n\t\t\"a\": {}, // first\n\t\t/* last */\n\t\t\"waymark\": {\n\t\t\t\"type\": \"local\",\n\t\t\t\"command\": [\n\t\t\t\t\"PROGRAM\",\n\t\t\t\t\"mcp\",\n\t\t\t\t\"serve\",\n\t\t\t\t\"--client\",\n\t\t\t\t\"opencode\",\n\t\t\t\t\"--start\"\n\t\t\t],\n\t\t\t\"enabled\": true\n\t\t},\n\t},\n\t\"theme\": \"x\",\n}\n"},
		"a comment at the end": {"opencode", "{\n  \"a\": 1 // why\n}\n", "{\n  \"a\": 1, // why\n  \"mcp\": {\n    " + inJSON},
		"one line":             {"cursor", `{"mcpServers":{"a":{"command":"x"}}}`, `{"mcpServers":{"a":{"command":"x"}, "waymark": {"type":"stdio","command":"PROGRAM","args":["mcp","serve","--client","cursor","--start","--dir","${workspaceFolder}"]}}}`},
		"empty file":           {"copilot-cli", "", "{\n  \"mcpServers\": {\n    " + inJSON},
		"CRLF":                 {"copilot-cli", "{\r\n    \"mcpServers\": {}\r\n}\r\n", "{\r\n    \"mcpServers\": {\r\n        " + inJSON + "\r\n"},
		"toml": {"codex", "# mine\nmodel = \"m\"  # odd\n\n[mcp_servers.a]\ncommand='x'",
			"# mine\nmodel = \"m\"  # odd\n\n[mcp_servers.a]\ncommand='x'\n\n[mcp_servers.waymark]\ncommand = \"PROGRAM\"\nargs = [\"mcp\", \"serve\", \"--client\", \"codex\", \"--start\"]\nenv_vars = [\"XDG_STATE_HOME\", \"XDG_RUNTIME_DIR\", \"WAYMARK_SOCKET\"]\n"},
		"toml with CRLF": {"codex", "a = 1\r\n", "a = 1\r\n\r\n[mcp_servers.waymark]\r\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.write(usual[tt.client], tt.before)
			m.connect(tt.client, connect.Settings{})
			got := strings.ReplaceAll(m.read(usual[tt.client]), m.path("bin/agent"), "PROGRAM")
			if !strings.HasPrefix(got, tt.after) || strings.Contains(got, "\r") && strings.Count(got, "\r\n") != strings.Count(got, "\n") {
				t.Errorf("got\n%q, want\n%q", got, tt.after)
			}
			m.undo(tt.client)
			if got := m.read(usual[tt.client]); got != tt.before {
				t.Errorf("undone it is %q, and was %q", got, tt.before)
			}
		})
	}
}

// TestLeftAlone: what can't be changed by the entry alone isn't changed.
func TestLeftAlone(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ client, text string }{
		"no JSON":            {"cursor", "{\"mcpServers\": "},
		"not an object":      {"cursor", "[]"},
		"servers in a list":  {"cursor", `{"mcpServers": []}`},
		"servers twice":      {"cursor", `{"mcpServers": {}, "mcpServers": {}}`},
		"another's":          {"cursor", `{"mcpServers": {"waymark": {"command": "/usr/bin/other"}}}`},
		"no TOML":            {"codex", "a = \n"},
		"an inline table":    {"codex", "mcp_servers = { a = { command = 'x' } }\n"},
		"a key twice":        {"codex", "a = 1\na = 2\n"},
		"servers are a text": {"codex", "mcp_servers = 'x'\n"},
		"another's in TOML":  {"codex", "[mcp_servers.waymark]\ncommand = 'other'\n"},
		"a byte order mark":  {"claude", "\ufeff{}"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.write(usual[tt.client], tt.text)
			_, err := m.Connect(t.Context(), connect.Lookup(tt.client), connect.Settings{})
			var wrong *connect.FileError
			if !errors.As(err, &wrong) || wrong.Path != m.path(usual[tt.client]) || !strings.Contains(wrong.Entry, "waymark") {
				t.Errorf("the error is %v", err)
			}
			if got := m.read(usual[tt.client]); got != tt.text {
				t.Errorf("it has become %q", got)
			}
		})
	}
}

// TestKept: mode and links are kept, and directories of others.
func TestKept(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("dotfiles/cursor.json", "{}\n")
	if err := os.Chmod(m.path("dotfiles/cursor.json"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(m.path(".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../dotfiles/cursor.json", m.path(".cursor/mcp.json")); err != nil {
		t.Fatal(err)
	}
	m.connect("cursor", connect.Settings{})
	if target, err := os.Readlink(m.path(".cursor/mcp.json")); err != nil || target != "../dotfiles/cursor.json" {
		t.Errorf("the link is %q %v", target, err)
	}
	if info, err := os.Stat(m.path("dotfiles/cursor.json")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v %v", info.Mode(), err)
	}
	if !strings.Contains(m.read("dotfiles/cursor.json"), "waymark") {
		t.Error("the linked file has no entry")
	}
	m.undo("cursor")
	if got := m.read("dotfiles/cursor.json"); got != "{}\n" {
		t.Errorf("undone it is %q", got)
	}

	if err := os.Symlink("nowhere", m.path(".claude.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Connect(t.Context(), connect.Lookup("claude"), connect.Settings{}); err == nil || !strings.Contains(err.Error(), "leads nowhere") {
		t.Errorf("a link that leads nowhere: %v", err)
	}
}

// TestSettingsChange: each Connect writes what is chosen then, and undo leads back to before
// the first.
func TestSettingsChange(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	const before, settings = `{"mcpServers": {"x": {"command": "y"}}}`, "{\n  \"hooks\": {\"SessionStart\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}]}\n}\n"
	m.write(".claude.json", before)
	m.write(".claude/settings.json", settings)
	m.connect("claude", connect.Settings{Hook: true})
	if got := m.read(".claude/settings.json"); !strings.Contains(got, connect.SessionStart) || !strings.Contains(got, "mine") {
		t.Errorf("with the hook: %s", got)
	}
	m.connect("claude", connect.Settings{All: true})
	if got := m.read(".claude/settings.json"); got != settings {
		t.Errorf("without the hook: %q", got)
	}
	if got := m.read(".claude.json"); strings.Contains(got, "--client") || strings.Count(got, "waymark") != 1 {
		t.Errorf("with all: %s", got)
	}
	m.connect("claude", connect.Settings{Only: []string{"servers", "skills"}})
	if got := m.read(".claude.json"); !strings.Contains(got, `"--only"`) || !strings.Contains(got, `"servers,skills"`) {
		t.Errorf("with some parts: %s", got)
	}
	for _, one := range m.List() {
		if one.Client == "claude" && (one.State != connect.StateConnected || one.Problem != "") {
			t.Errorf("with some parts it is listed as %+v", one)
		}
	}
	m.undo("claude")
	if got := m.read(".claude.json"); got != before {
		t.Errorf("undone: %q", got)
	}
}

// TestStale: a program that has moved is told, and connecting again mends it.
func TestStale(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.connect("codex", connect.Settings{})
	if err := os.Remove(m.path("bin/agent")); err != nil {
		t.Fatal(err)
	}
	state := func() (x connect.Connection) {
		for _, x = range m.List() {
			if x.Client == "codex" {
				return x
			}
		}
		return x
	}
	if x := state(); x.State != connect.StateStale || x.Problem == "" {
		t.Errorf("%+v", x)
	}
	moved := connect.New(connect.Options{
		Program: "/bin/sh", Home: m.home, State: filepath.Join(m.home, "state"), Getenv: func(string) string { return "" },
	})
	if _, err := moved.Connect(t.Context(), connect.Lookup("codex"), connect.Settings{}); err != nil {
		t.Fatal(err)
	}
	if x := state(); x.State != connect.StateConnected || x.Program != "/bin/sh" {
		t.Errorf("%+v", x)
	}
	m.undo("codex")
	if _, err := os.Stat(m.path(".codex")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was made for it is still there: %v", err)
	}
}

// TestVariables: a client's files are where its variables say.
func TestVariables(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ client, variable, file string }{
		{"codex", "CODEX_HOME", "config.toml"}, {"claude", "CLAUDE_CONFIG_DIR", ".claude.json"},
		{"copilot-cli", "COPILOT_HOME", "mcp-config.json"}, {"opencode", "XDG_CONFIG_HOME", "opencode/opencode.json"},
	} {
		m := newMachine(t)
		m.env[tt.variable] = m.path("else where")
		if ch := m.connect(tt.client, connect.Settings{}); ch[0].Path != filepath.Join(m.path("else where"), tt.file) {
			t.Errorf("%s: %s", tt.variable, ch[0].Path)
		}
		m.env[tt.variable] = "" // undo knows where
		m.undo(tt.client)
		if _, err := os.Stat(m.path("else where")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: undone, and still there: %v", tt.variable, err)
		}
	}
	m := newMachine(t)
	m.write(".config/opencode/opencode.jsonc", "{ // mine\n}")
	if ch := m.connect("opencode", connect.Settings{}); filepath.Base(ch[0].Path) != "opencode.jsonc" {
		t.Errorf("opencode's file with comments isn't taken: %s", ch[0].Path)
	}
}

// TestForeignEdit: after somebody else has written the file only the entry goes.
func TestForeignEdit(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write(".codex/config.toml", "a = 1\n")
	m.connect("codex", connect.Settings{})
	text := m.read(".codex/config.toml")
	m.write(".codex/config.toml", "# first\n"+text+"# below\n\n# about b\n[b] # b\nx = \"\"\"\n[mcp_servers.waymark]\n\"\"\"\n")
	m.undo("codex")
	if got, want := m.read(".codex/config.toml"), "# first\na = 1\n\n# below\n\n# about b\n[b] # b\nx = \"\"\"\n[mcp_servers.waymark]\n\"\"\"\n"; got != want {
		t.Errorf("it is\n%q, want\n%q", got, want)
	}

	m.write(".cursor/mcp.json", "{}")
	m.connect("cursor", connect.Settings{})
	text = strings.Replace(m.read(".cursor/mcp.json"), "\"waymark\"", "/* before */ \"waymark\"", 1)
	m.write(".cursor/mcp.json", strings.Replace(text, "\n  }\n", "\n   // after\n  }, \"more\": 1\n", 1))
	m.undo("cursor")
	got := m.read(".cursor/mcp.json")
	if strings.Contains(got, "waymark") || !strings.Contains(got, "/* before */") || !strings.Contains(got, "// after") || !strings.Contains(got, "\"more\": 1") {
		t.Errorf("it is %q", got)
	}
}

// TestLostRecord: without the record the entry is found by what it starts.
func TestLostRecord(t *testing.T) {
	t.Parallel()
	for _, client := range connect.Clients() {
		m := newMachine(t)
		before := "{\"keep\": 1}\n"
		switch client.ID {
		case "codex":
			before = "keep = 1\n"
		case "continue":
			before = "keep: 1\n"
		}
		m.write(usual[client.ID], before)
		m.connect(client.ID, connect.Settings{Hook: client.Hook})
		if err := os.RemoveAll(m.path("state")); err != nil {
			t.Fatal(err)
		}
		m.undo(client.ID)
		if got := m.read(usual[client.ID]); strings.Contains(got, "waymark") || !strings.Contains(got, "keep") {
			t.Errorf("%s: %q", client.ID, got)
		}
	}
}

// TestWithout: a client without MCP can't be connected, and says so.
func TestWithout(t *testing.T) {
	t.Parallel()
	if c := connect.Lookup("pi"); c == nil || c.Without == "" || slices.Contains(connect.Clients(), c) {
		t.Errorf("%+v", c)
	}
	for alias, id := range map[string]string{"claude-code": "claude", "copilot": "copilot-cli", "gemini-cli": "gemini", "qwen": "qwen-code"} {
		if c := connect.Lookup(alias); c == nil || c.ID != id {
			t.Errorf("%s: %+v", alias, c)
		}
	}
}

// TestYAML: a list of servers gets the entry at its end, and undo leaves what was there; what
// isn't written in lines stays as it is.
func TestYAML(t *testing.T) {
	t.Parallel()
	const entry = "- name: waymark\n    command: 'PROGRAM'\n    args:\n      - 'mcp'\n      - 'serve'\n      - '--client'\n      - 'continue'\n      - '--start'\n"
	for what, tt := range map[string]struct {
		before, after string // after is empty where the file is refused
	}{
		"no list":            {"name: x\n", "name: x\nmcpServers:\n  " + entry},
		"no last line break": {"name: x", "name: x\nmcpServers:\n  " + entry},
		"a head alone":       {"", "name: Local Config\nversion: 1.0.0\nschema: v1\nmcpServers:\n  " + entry},
		"a list at the end":  {"mcpServers:\n  - name: a\n    command: b\n", "mcpServers:\n  - name: a\n    command: b\n  " + entry},
		"a list in between": {
			"mcpServers: # mine\n  - name: a\n    env:\n      A: b\n\n  # two\n  - command: c\n    name: b\n\n# models\nmodels: []\n",
			"mcpServers: # mine\n  - name: a\n    env:\n      A: b\n\n  # two\n  - command: c\n    name: b\n  " + entry + "\n# models\nmodels: []\n",
		},
		"a list without indent": {"mcpServers:\n- name: a\nmodels: []\n", "mcpServers:\n- name: a\n" + strings.ReplaceAll(entry, "\n  ", "\n") + "models: []\n"},
		"lines of Windows":      {"name: x\r\n", "name: x\r\nmcpServers:\r\n  " + strings.ReplaceAll(entry, "\n", "\r\n")},
		"a list in brackets":    {"mcpServers: [{name: a}]\n", ""},
		"an empty list":         {"mcpServers: []\n", ""},
		"no list at all":        {"mcpServers: x\n", ""},
		"braces":                {"{name: x}\n", ""},
		"the name twice":        {"mcpServers:\n  - name: waymark\n  - name: waymark\n", ""},
		"somebody else's":       {"mcpServers:\n  - name: waymark\n    command: x\n", ""},
		"no YAML":               {"a: [\n", ""},
		"a list":                {"- a\n", ""},
		"two documents":         {"name: x\n---\nname: y\n", ""},
	} {
		m := newMachine(t)
		file := usual["continue"]
		m.write(file, tt.before)
		_, err := m.Connect(t.Context(), connect.Lookup("continue"), connect.Settings{})
		if (err == nil) != (tt.after != "") {
			t.Errorf("%s: %v\n%s", what, err, m.read(file))
		}
		if err != nil {
			if got := m.read(file); got != tt.before {
				t.Errorf("%s: refused, and it is %q", what, got)
			}
			continue
		}
		if got := strings.ReplaceAll(m.read(file), m.path("bin/agent"), "PROGRAM"); got != tt.after {
			t.Errorf("%s: it is\n%s\nwant\n%s", what, got, tt.after)
		}
		edited := "# theirs\n" + m.read(file)
		m.undo("continue")
		if got := m.read(file); got != tt.before {
			t.Errorf("%s: undone it is\n%q", what, got)
		}
		m.connect("continue", connect.Settings{})
		m.write(file, edited)
		m.undo("continue")
		want := "# theirs\n" + tt.before
		if got := m.read(file); bare(got) != bare(want) && tt.before != "" {
			t.Errorf("%s: undone after an edit it is\n%q", what, got)
		}
	}
}

// TestSomebodyWrites: a file that changes between the look at it and its replacement stays as
// somebody else wrote it.
func TestSomebodyWrites(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write(".cursor/mcp.json", "{}")
	changes, err := m.Plan(connect.Lookup("cursor"), connect.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	m.write(".cursor/mcp.json", `{"theirs": 1}`)
	if err := m.Apply(t.Context(), connect.Lookup("cursor"), changes); err == nil || !strings.Contains(err.Error(), "changed by another program") {
		t.Errorf("the error is %v", err)
	}
	if got := m.read(".cursor/mcp.json"); got != `{"theirs": 1}` {
		t.Errorf("it is %q", got)
	}
	if left, err := filepath.Glob(m.path(".cursor/.waymark*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

// generated are documents with comments and odd layout.
type generated struct{ *rand.Rand }

func (g generated) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g generated) json(strict bool) string {
	gap := func() string {
		if strict {
			return g.pick("", " ", "\n", "\n\t", "\r\n  ")
		}
		return g.pick("", " ", "\n", "\n  ", "\t", " // c\n", "/* c */", "\n// own line, \"waymark\": {\n  ", " /*, }*/ ")
	}
	var value func(depth int) string
	list := func(open, closing string, n int, item func(i int) string) string {
		var b strings.Builder
		b.WriteString(open)
		for i := range n {
			if i > 0 {
				b.WriteString("," + gap())
			}
			b.WriteString(gap() + item(i) + gap())
		}
		if n > 0 && !strict && g.IntN(3) == 0 {
			b.WriteString(",")
		}
		return b.String() + gap() + closing
	}
	object := func(depth int, names ...string) string {
		return list("{", "}", len(names), func(i int) string { return `"` + names[i] + `"` + gap() + ":" + gap() + value(depth) })
	}
	value = func(depth int) string {
		switch n := g.IntN(6); {
		case n < 2 && depth > 0:
			return object(depth-1, []string{"a", "b é", "c\\\"d"}[:g.IntN(4)]...)
		case n == 2 && depth > 0:
			return list("[", "]", g.IntN(3), func(int) string { return value(depth - 1) })
		default:
			return g.pick("1", "true", "null", "-1.5e3", `"x"`, `"// no comment"`, `"\u00e9 }"`)
		}
	}
	members := []string{`"z"` + gap() + ":" + value(2)}
	for _, name := range []string{"mcpServers", "mcp"} {
		if g.IntN(2) == 0 {
			members = append(members, `"`+name+`":`+gap()+object(1, []string{"one", "two"}[:g.IntN(3)]...))
		}
	}
	members = members[g.IntN(2):]
	return gap() + list("{", "}", len(members), func(i int) string { return members[i] }) + gap()
}

func (g generated) toml() string {
	var b strings.Builder
	line := g.pick("\n", "\n", "\r\n")
	comment := func() string { return g.pick("", "", " # c", "\t#[mcp_servers.waymark]") + line }
	value := func() string {
		return g.pick("1", "'x'", `"a\"b # c"`, "[1,"+line+" # in it"+line+" 2, ]", `"""`+line+"[mcp_servers.waymark]"+line+`"""`, "{ a = 1, b = [ 'c' ] }", "1979-05-27T07:32:00Z", "0x1f", "'''"+line+"'''")
	}
	keys := func() {
		for i := range g.IntN(3) {
			fmt.Fprintf(&b, "%s%sk%d%s=%s%s%s", g.pick("", "", line, "# own line"+line), g.pick("", "  "), i, g.pick("", " "), g.pick("", " "), value(), comment())
		}
	}
	keys()
	for i, heading := range []string{"[plain]", "[ mcp_servers.one ]", `[mcp_servers."two.dots"]`, "[[many]]", "[[many]]", "[mcp_servers.one.env]"} {
		if g.IntN(2) == 0 || i == 5 && !strings.Contains(b.String(), "one ]") {
			continue
		}
		b.WriteString(g.pick("", line, "# about it"+line) + heading + comment())
		keys()
	}
	text := b.String()
	if g.IntN(4) == 0 {
		text = strings.TrimRight(text, "\r\n")
	}
	return text
}

// foreign is what somebody else adds to a file of a client, and a trace of it that must stay.
func (g generated) foreign(client, text string) (edited, trace string) {
	if client == "codex" {
		switch g.IntN(3) {
		case 0:
			return "# trace\n" + text, "# trace\n"
		case 1:
			return text + "# trace\n", "# trace\n"
		default:
			return text + "\n# trace\n[trace]\na = [\n1]\n", "# trace\n[trace]\na = [\n1]\n"
		}
	}
	at := strings.LastIndexByte(text, '}')
	inside := strings.TrimRight(text[:at], " \t\r\n")
	comma := ","
	if strings.HasSuffix(inside, ",") || strings.HasSuffix(inside, "{") || strings.HasSuffix(inside, "/") || strings.LastIndex(inside, "//") > strings.LastIndexByte(inside, '\n') {
		return text[:at] + "\n" + text[at:], "" // white space alone
	}
	return inside + comma + ` "trace": 1` + text[at:], `"trace": 1`
}

// TestRandom: connect and undo give back every byte; with somebody else's edit between them
// all but the entry stays.
func TestRandom(t *testing.T) {
	t.Parallel()
	r := testenv.Rand(t)
	m := newMachine(t)
	for range testenv.Rounds(30, 150, 20_000) {
		g := generated{r}
		client := connect.Clients()[r.IntN(len(connect.Clients()))]
		if client.ID == "continue" { // see TestYAML
			continue
		}
		text := g.json(client.ID != "opencode" && client.ID != "kilo")
		if client.ID == "codex" {
			text = g.toml()
		}
		m.write(usual[client.ID], text)
		settings := connect.Settings{All: r.IntN(2) == 0, ApproveTools: r.IntN(2) == 0}
		if _, err := m.Connect(t.Context(), client, settings); err != nil {
			t.Fatalf("connect %s: %v\n%s", client.ID, err, text)
		}
		connected := m.read(usual[client.ID])
		if client.ID != "opencode" && client.ID != "kilo" && client.ID != "codex" && !strict(connected) {
			t.Fatalf("%s isn't plain JSON any more:\n%s", client.ID, connected)
		}
		if r.IntN(2) == 0 {
			m.connect(client.ID, connect.Settings{All: !settings.All})
		}
		if r.IntN(2) == 0 {
			m.undo(client.ID)
			if got := m.read(usual[client.ID]); got != text {
				t.Fatalf("%s: undone it is\n%q, and was\n%q", client.ID, got, text)
			}
			continue
		}
		edited, trace := g.foreign(client.ID, m.read(usual[client.ID]))
		m.write(usual[client.ID], edited)
		if _, err := m.Undo(t.Context(), client); err != nil {
			t.Fatalf("undo %s: %v\n%s", client.ID, err, edited)
		}
		got := m.read(usual[client.ID])
		if !strings.Contains(got, trace) {
			t.Fatalf("%s: %q is lost:\n%s", client.ID, trace, got)
		}
		// Without white space and commas it is what it was, and what somebody added.
		if was, is := bare(text), bare(strings.Replace(got, trace, "", 1)); was != is {
			t.Fatalf("%s: it is\n%s\nand was\n%s\nedited:\n%s", client.ID, is, was, edited)
		}
	}
}

func strict(text string) bool { return json.Valid([]byte(text)) }

func bare(text string) string {
	return string(bytes.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n,", r) {
			return -1
		}
		return r
	}, []byte(text)))
}

// FuzzUndo: whatever a file holds, it is left alone, or undo gives it back; and the entry
// alone can be taken out.
func FuzzUndo(f *testing.F) {
	f.Add("{ // x\n}", false)
	f.Add(`{"mcpServers":{"a":{},},}`, false)
	f.Add("[mcp_servers.a]\nb = '''\n'''", true)
	f.Add("a.b = 1\n[[c]]", true)
	m := newMachine(f)
	f.Fuzz(func(t *testing.T, text string, inTOML bool) {
		id := "opencode"
		if inTOML {
			id = "codex"
		}
		client := connect.Lookup(id)
		m.t = t
		m.write(usual[id], text)
		changes, err := m.Connect(t.Context(), client, connect.Settings{})
		if err != nil || changes[0].Action == connect.ActionNone {
			if got := m.read(usual[id]); got != text {
				t.Fatalf("%v, and it has become %q", err, got)
			}
			return
		}
		if err := os.RemoveAll(m.path("state")); err != nil {
			t.Fatal(err)
		}
		connected := m.read(usual[id])
		if changes, err := m.PlanUndo(client); err != nil || len(changes) != 1 {
			t.Fatalf("without its record it can't be undone: %v\n%q", err, connected)
		}
		m.write(usual[id], text)
		if _, err := m.Connect(t.Context(), client, connect.Settings{}); err != nil {
			t.Fatal(err)
		}
		m.undo(id)
		if got := m.read(usual[id]); got != text {
			t.Fatalf("undone it is %q, and was %q", got, text)
		}
	})
}
