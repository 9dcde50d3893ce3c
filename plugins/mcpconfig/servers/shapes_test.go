package servers_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"waymark/plugins/mcpconfig/servers"
	"waymark/test/testenv"
)

func TestShapeOf(t *testing.T) {
	t.Parallel()
	for place, want := range map[string]servers.Shape{
		".mcp.json": servers.Claude, "plugins/x/.mcp.json": servers.Claude, ".warp/.mcp.json": servers.Claude, "servers.json": servers.Claude,
		".claude.json": servers.ClaudeUser, "claude_desktop_config.json": servers.ClaudeDesktop,
		"mcp.json": servers.Client, ".junie/mcp/mcp.json": servers.Client, ".kiro/settings/mcp.json": servers.Client, ".factory/mcp.json": servers.Client,
		".ai/mcp/mcp.json": servers.Client, ".rovodev/mcp.json": servers.Client, ".kimi-code/mcp.json": servers.Client,
		".vscode/mcp.json": servers.VSCode, "/home/u/work/.vscode/mcp.json": servers.VSCode,
		".github/mcp.json": servers.Copilot, ".copilot/mcp-config.json": servers.Copilot,
		".cursor/mcp.json": servers.Editor, ".roo/mcp.json": servers.Editor, ".devin/mcp_config.json": servers.Editor, "mcp_config.json": servers.Editor,
		".devin/mcp_config.local.json": servers.Editor, "mcp_config.json.local": servers.Editor, ".agents/mcp_config.json": servers.Editor,
		".cline/data/settings/cline_mcp_settings.json": servers.Cline,
		".codex/config.toml":                           servers.Codex, ".grok/config.toml": servers.Codex, "other.toml": servers.Codex,
		".gemini/settings.json": servers.Gemini, ".qwen/settings.json": servers.Gemini, "gemini-extension.json": servers.Gemini,
		"opencode.json": servers.OpenCode, "opencode.jsonc": servers.OpenCode, "kilo.jsonc": servers.OpenCode,
		".amp/settings.json": servers.Amp, ".config/amp/settings.jsonc": servers.Amp,
		".zed/settings.json": servers.Zed, ".config/zed/settings.json": servers.Zed, "settings.json": servers.Claude,
		".config/goose/config.yaml": servers.Goose, "": servers.Claude, "/": servers.Claude,
	} {
		if got := servers.ShapeOf(place); got != want {
			t.Errorf("%q: %s, want %s", place, got, want)
		}
	}
}

// show says what of a server isn't empty.
func show(s servers.Server) string {
	var b strings.Builder
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		switch {
		case f.IsZero() || name == "Syntax":
		case f.Type() == reflect.TypeFor[time.Duration]():
			fmt.Fprintf(&b, " %s=%s", name, time.Duration(f.Int()))
		case f.Kind() == reflect.String && (name == "Name" || name == "Transport"):
			fmt.Fprintf(&b, " %s", f)
		default:
			text, _ := json.Marshal(f.Interface())
			fmt.Fprintf(&b, " %s=%s", name, text)
		}
	}
	return strings.TrimSpace(b.String())
}

// samples are files as people write them, with what is read there.
var samples = map[string]struct {
	shape servers.Shape
	text  string
	want  []string
}{
	"Claude Code": {servers.Claude, `{
		"mcpServers": {
			"github": {"type": "http", "url": "https://api.githubcopilot.com/mcp/", "headers": {"Authorization": "Bearer ${GITHUB_TOKEN}"}, "timeout": 600000},
			"db": {"command": "${DBHUB:-npx}", "args": ["-y", "@bytebase/dbhub", "--dsn", "${DSN}"], "env": {"LOG": "debug"}, "alwaysLoad": true},
			"live": {"type": "ws", "url": "wss://h/"},
			"mine": {"url": "https://h/", "headersHelper": "./token.sh", "disabled": true}
		}
	}`, []string{
		`github http URL="https://api.githubcopilot.com/mcp/" Headers={"Authorization":"Bearer ${GITHUB_TOKEN}"} CallTimeout=10m0s`,
		`db stdio Command="${DBHUB:-npx}" Args=["-y","@bytebase/dbhub","--dsn","${DSN}"] Env={"LOG":"debug"}`,
		`live Problem="its type is none of stdio, http, streamable-http and sse"`,
		`mine http URL="https://h/" Findings=["its headersHelper isn't run","\"disabled\" isn't understood"]`,
	}},
	"a plugin of Claude Code": {servers.Claude, `{"linear": {"type": "http", "url": "https://mcp.linear.app/mcp"}, "local": {"command": "${CLAUDE_PLUGIN_ROOT}/bin/x"}}`, []string{
		`linear http URL="https://mcp.linear.app/mcp" Needs="it is written as in a plugin of Claude Code, without mcpServers: only those of plugins are connected"`,
		`local stdio Command="${CLAUDE_PLUGIN_ROOT}/bin/x" Needs="it is written as in a plugin of Claude Code, without mcpServers: only those of plugins are connected"`,
	}},
	"Claude's plugins with a bad one": {servers.Claude, `{"linear": {"type": "http", "url": "https://mcp.linear.app/mcp"}, "other": 1}`, []string{
		`linear http URL="https://mcp.linear.app/mcp" Needs="it is written as in a plugin of Claude Code, without mcpServers: only those of plugins are connected"`,
		`other Problem="it is a number, not an object"`,
	}},
	"neither": {servers.Claude, `{"name": "x", "version": 1}`, nil},
	"~/.claude.json with bad projects": {servers.ClaudeUser, `{"projects": {"/a": 1, "/b": {"mcpServers": "secret"}, "/c": {"mcpServers": {"bad": [], "good": {"command": "x"}}}}, "mcpServers": {"all": {"command": "y"}}}`, []string{
		`projects "/a" Project="/a" Problem="projects \"/a\" is a number, not an object"`, `mcpServers Project="/b" Problem="mcpServers is a string, not an object"`,
		`bad Project="/c" Problem="it is a list, not an object"`, `good stdio Command="x" Project="/c"`, `all stdio Command="y"`,
	}},
	"~/.claude.json without projects": {servers.ClaudeUser, `{"projects": ["secret"], "mcpServers": {"all": {"command": "y"}}}`, []string{
		`projects Problem="projects is a list, not an object"`, `all stdio Command="y"`,
	}},
	"~/.claude.json": {servers.ClaudeUser, `{
		"numStartups": 41, "oauthAccount": {"accountUuid": "x"},
		"mcpServers": {"all": {"command": "x"}, "one": {"command": "y"}},
		"projects": {
			"/home/u/work": {"history": [], "mcpServers": {"one": {"command": "z"}}},
			"/home/u/other": {"mcpServers": {}, "hasTrustDialogAccepted": true},
			"/home/u/third": {}
		}
	}`, []string{`one stdio Command="z" Project="/home/u/work"`, `all stdio Command="x"`, `one stdio Command="y"`}},
	"Claude Desktop": {servers.ClaudeDesktop, `{"mcpServers": {"fs": {"command": "npx", "args": ["$HOME"]}}}`, []string{`fs stdio Command="npx" Args=["$HOME"]`}},
	"VS Code": {servers.VSCode, `{
		// Asked for once.
		"inputs": [{"type": "promptString", "id": "key", "description": "API key", "password": true}],
		"servers": {
			"playwright": {"type": "stdio", "command": "npx", "args": ["-y", "@playwright/mcp@latest"], "cwd": "${workspaceFolder}/web", "envFile": "${workspaceFolder}/.env"},
			"perplexity": {"command": "npx", "args": ["server-perplexity"], "env": {"KEY": "${input:key}", "HOME": "${env:HOME}"}},
			"remote": {"type": "http", "url": "https://h/mcp", "headers": {"X-Key": "${env:KEY}"}, "dev": {"watch": "src/**"}, "sandboxEnabled": true,},
		},
	}`, []string{
		`playwright stdio Command="npx" Args=["-y","@playwright/mcp@latest"] Cwd="${workspaceFolder}/web" Findings=["its envFile isn't read: what the server needs belongs into its variables"]`,
		`perplexity stdio Command="npx" Args=["server-perplexity"] Env={"HOME":"${env:HOME}","KEY":"${input:key}"} Needs="it refers to \"input:key\", which only the client has that its file is for"`,
		`remote http URL="https://h/mcp" Headers={"X-Key":"${env:KEY}"} Findings=["\"sandboxEnabled\" isn't understood"]`,
	}},
	"GitHub Copilot CLI": {servers.Copilot, `{
		"mcpServers": {
			"all": {"type": "local", "command": "npx", "args": ["x"], "tools": ["*"], "env": {"T": "${T}"}},
			"some": {"type": "http", "url": "https://h/", "tools": ["read", "list"]},
			"nothing": {"type": "sse", "url": "https://h/sse", "tools": []}
		}
	}`, []string{
		`all stdio Command="npx" Args=["x"] Env={"T":"${T}"}`,
		`some http URL="https://h/" Tools=["read","list"] Limited=true`,
		`nothing sse URL="https://h/sse" Limited=true`,
	}},
	"Cursor": {servers.Editor, `{"mcpServers": {
		"jira": {"command": "uvx", "args": ["mcp-atlassian", "--dir", "${workspaceFolder}"], "env": {"TOKEN": "${env:JIRA_TOKEN}"}},
		"figma": {"url": "http://127.0.0.1:3845/mcp", "auth": {"CLIENT_ID": "x"}}
	}}`, []string{
		`jira stdio Command="uvx" Args=["mcp-atlassian","--dir","${workspaceFolder}"] Env={"TOKEN":"${env:JIRA_TOKEN}"}`,
		`figma http URL="http://127.0.0.1:3845/mcp" Findings=["its settings for signing in aren't taken over: 'agent mcp login' signs in"]`,
	}},
	"Roo Code and Cline": {servers.Editor, `{"mcpServers": {
		"one": {"type": "streamable-http", "url": "https://h/", "alwaysAllow": ["a"], "disabledTools": ["b"], "timeout": 120, "watchPaths": ["dist"], "disabled": false},
		"two": {"transportType": "stdio", "command": "node", "args": ["s.js"], "disabled": true, "autoApprove": []}
	}}`, []string{
		`one http URL="https://h/" NoTools=["b"] CallTimeout=2m0s`,
		`two stdio Command="node" Args=["s.js"] Disabled=true`,
	}},
	"Windsurf": {servers.Editor, `{"mcpServers": {"ref": {"serverUrl": "https://api.ref.tools/mcp", "headers": {"K": "${file:/run/key}"}}}}`, []string{
		`ref http URL="https://api.ref.tools/mcp" Headers={"K":"${file:/run/key}"} Needs="it refers to \"file:/run/key\", which only the client has that its file is for"`,
	}},
	"Kiro": {servers.Client, `{"mcpServers": {
		"aws": {"command": "uvx", "args": ["awslabs.core"], "env": {"P": "${AWS_PROFILE}"}, "disabled": false, "autoApprove": ["x"], "disabledTools": ["delete"], "timeout": 60000},
		"off": {"url": "https://h/", "disabled": true}
	}}`, []string{
		`aws stdio Command="uvx" Args=["awslabs.core"] Env={"P":"${AWS_PROFILE}"} NoTools=["delete"] CallTimeout=1m0s`,
		`off http URL="https://h/" Disabled=true`,
	}},
	"Codex": {servers.Codex, `
model = "gpt-5"
[mcp_servers.docs]
url = "https://h/mcp"
bearer_token_env_var = "DOCS_TOKEN"
http_headers = { X-Team = "core", authorization = "Bearer old" }
env_http_headers = { X-Key = "DOCS_KEY" }
tool_timeout_sec = 120.5
[mcp_servers.db]
command = "npx"
args = ["-y", "db", "$LITERAL"]
env_vars = ["PGUSER", { name = "PGHOST", source = "local" }]
cwd = "tools"
startup_timeout_sec = 20
enabled = false
enabled_tools = ["query"]
disabled_tools = ["drop"]
[mcp_servers.db.env]
PGDATABASE = "x"
[mcp_servers.bad]
url = "https://h/"
bearer_token = "secret"
[mcp_servers."odd"]
command = "x"
experimental_environment = "remote"
[mcp_servers.neither]
`, []string{
		`docs http URL="https://h/mcp" Headers={"X-Team":"core"} HeaderVariables={"Authorization":"Bearer DOCS_TOKEN","X-Key":"DOCS_KEY"} CallTimeout=2m0.5s`,
		`db stdio Command="npx" Args=["-y","db","$LITERAL"] Env={"PGDATABASE":"x"} Cwd="tools" Inherit=["PGUSER","PGHOST"] Disabled=true Tools=["query"] Limited=true NoTools=["drop"] ConnectTimeout=20s`,
		`bad Problem="bearer_token is refused by its client, too: bearer_token_env_var names a variable"`,
		`odd stdio Command="x" Findings=["\"experimental_environment\" isn't understood"]`,
		`neither Problem="it has neither a command nor a url"`,
	}},
	"Gemini CLI": {servers.Gemini, `{
		"theme": "Dracula", "selectedAuthType": "gemini-api-key", // and so on
		"mcp": {"allowed": ["http", "events", "new", "own"], "excluded": ["events"]},
		"mcpServers": {
			"http": {"httpUrl": "http://localhost:3000/mcp", "url": "https://not/", "timeout": 5000, "trust": true},
			"events": {"url": "https://h/sse"},
			"new": {"url": "https://h/", "type": "http"},
			"python": {"command": "python", "args": ["-m", "s"], "cwd": "./p", "env": {"K": "$MY_KEY"}, "includeTools": ["a"], "excludeTools": ["b"]},
			"own": {"command": "node", "args": ["${extensionPath}/s.js"]}
		}
	}`, []string{
		`http http URL="http://localhost:3000/mcp" CallTimeout=5s`,
		`events sse URL="https://h/sse" Disabled=true`,
		`new http URL="https://h/"`,
		`python stdio Command="python" Args=["-m","s"] Env={"K":"$MY_KEY"} Cwd="./p" Disabled=true Tools=["a"] Limited=true NoTools=["b"]`,
		`own stdio Command="node" Args=["${extensionPath}/s.js"] Needs="it refers to \"extensionPath\", which only the client has that its file is for"`,
	}},
	"opencode": {servers.OpenCode, `{
		"$schema": "https://opencode.ai/config.json",
		"mcp": {
			"local": {"type": "local", "command": ["bun", "x", "s"], "environment": {"K": "{env:KEY}"}, "enabled": true, "timeout": 10000},
			"remote": {"type": "remote", "url": "https://h/", "headers": {"Authorization": "Bearer {env:T}"}, "enabled": false, "oauth": false},
			"secret": {"type": "remote", "url": "https://h/", "headers": {"K": "{file:~/.key}"}},
			"elsewhere": {"enabled": true},
			"empty": {"type": "local", "command": []},
			"wrong": {"type": "local", "command": "bun x"}
		}
	}`, []string{
		`local stdio Command="bun" Args=["x","s"] Env={"K":"{env:KEY}"} CallTimeout=10s`,
		`remote http URL="https://h/" Headers={"Authorization":"Bearer {env:T}"} Disabled=true Findings=["its settings for signing in aren't taken over: 'agent mcp login' signs in"]`,
		`secret http URL="https://h/" Headers={"K":"{file:~/.key}"} Needs="it refers to \"file:~/.key\", which only the client has that its file is for"`,
		`empty Problem="its type is stdio, and it has no command"`,
		`wrong Problem="command is a string, not a list"`,
	}},
	"opencode 2": {servers.OpenCode, `{"mcp": {"timeout": 5000, "servers": {"s": {"type": "local", "command": ["x"], "cwd": ".", "disabled": true, "timeout": {"startup": 2000, "request": 3000}}}}}`,
		[]string{`s stdio Command="x" Args=[] Cwd="." Disabled=true ConnectTimeout=2s CallTimeout=3s`}},
	"a server called servers": {servers.OpenCode, `{"mcp": {"servers": {"type": "local", "command": ["x", "y"]}}}`, []string{`servers stdio Command="x" Args=["y"]`}},
	"Amp": {servers.Amp, `{"amp.notifications.enabled": true, "amp.mcpServers": {"s": {"command": "npx", "args": ["x"], "includeTools": ["a"]}, "r": {"url": "https://h/", "headers": {"A": "${T}"}}}}`,
		[]string{`s stdio Command="npx" Args=["x"] Tools=["a"] Limited=true`, `r http URL="https://h/" Headers={"A":"${T}"}`}},
	"Zed": {servers.Zed, `{
		"theme": "One Dark", // a comment
		"context_servers": {
			"kagi": {"source": "custom", "command": "uvx", "args": ["kagimcp"], "env": {"K": "$K"}, "enabled": true},
			"older": {"command": {"path": "node", "args": ["s.js"], "env": {"A": "b"}}, "settings": {}},
			"remote": {"url": "https://h/", "headers": {"A": "b"}, "enabled": false},
			"github": {"source": "extension", "settings": {"github_personal_access_token": "secret"}},
		},
	}`, []string{
		`kagi stdio Command="uvx" Args=["kagimcp"] Env={"K":"$K"}`,
		`older stdio Command="node" Args=["s.js"] Env={"A":"b"}`,
		`remote http URL="https://h/" Headers={"A":"b"} Disabled=true`,
		`github stdio Needs="an extension of Zed brings it"`,
	}},
	"Goose": {servers.Goose, `
GOOSE_PROVIDER: anthropic
extensions:
  developer: {bundled: true, enabled: true, name: developer, timeout: 300, type: builtin}
  drive: &drive
    type: stdio
    cmd: npx
    args: [-y, "@block/gdrive"]
    envs: {MODE: "on"}
    env_keys: [GDRIVE_TOKEN]
    enabled: true
    timeout: 300
    available_tools: []
  remote:
    type: streamable_http
    uri: https://h/mcp
    headers: {X-Team: core}
    enabled: false
    available_tools: [one]
  nested: {enabled: true, config: {type: stdio, cmd: x, name: nested}}
  again: *drive
`, []string{
		`drive stdio Command="npx" Args=["-y","@block/gdrive"] Env={"MODE":"on"} Inherit=["GDRIVE_TOKEN"] CallTimeout=5m0s`,
		`remote http URL="https://h/mcp" Headers={"X-Team":"core"} Disabled=true Tools=["one"] Limited=true`,
		`nested stdio Command="x"`,
		`again stdio Command="npx" Args=["-y","@block/gdrive"] Env={"MODE":"on"} Inherit=["GDRIVE_TOKEN"] CallTimeout=5m0s`,
	}},
	"Agent Plugins": {servers.Client, `{
		"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
		"mcpServers": {
			"run": {"type": "stdio", "command": "./bin/serve", "args": ["${PLUGIN_ROOT}"], "cwd": "${PLUGIN_DATA}/x", "env": {"A": "b"}},
			"dial": {"type": "streamable-http", "url": "http://127.0.0.1:80/x"},
			"events": {"type": "sse", "url": "https://h/", "headers": {"A": "b"}},
			"untyped": {"command": "x"},
			"mixed": {"type": "stdio", "command": "x", "url": "https://h/"},
			"words": {"type": "stdio", "command": "node s.js"},
			"out": {"type": "stdio", "command": "./../x"},
			"absolute": {"type": "stdio", "command": "/bin/x"},
			"away": {"type": "stdio", "command": "x", "cwd": "./a/../../b"},
			"windows": {"type": "stdio", "command": "x", "cwd": ".\\a"},
			"reserved": {"type": "stdio", "command": "x", "env": {"PLUGIN_ROOT": "/"}},
			"private": {"type": "sse", "url": "http://192.168.1.2/"},
			"user": {"type": "sse", "url": "https://u@h/"},
			"anchor": {"type": "sse", "url": "https://h/#a"},
			"twice": {"type": "sse", "url": "https://h/", "headers": {"A": "b", "a": "c"}}
		}
	}`, []string{
		`run stdio Command="./bin/serve" Args=["${PLUGIN_ROOT}"] Env={"A":"b"} Cwd="${PLUGIN_DATA}/x" Needs="it belongs to an Agent Plugin, which isn't enabled here"`,
		`dial http URL="http://127.0.0.1:80/x" Needs="it belongs to an Agent Plugin, which isn't enabled here"`,
		`events sse URL="https://h/" Headers={"A":"b"} Needs="it belongs to an Agent Plugin, which isn't enabled here"`,
		`untyped Problem="its type is none of stdio, streamable-http and sse"`,
		`mixed Problem="it has \"url\", which Agent Plugins don't know in a server of its type"`,
		`words Problem="its command is more than one word"`,
		`out Problem="its command is neither a bare name nor a path below the plugin that begins with ./"`,
		`absolute Problem="its command is neither a bare name nor a path below the plugin that begins with ./"`,
		`away Problem="its cwd is none below the plugin or its data"`,
		`windows Problem="its cwd is none below the plugin or its data"`,
		`reserved Problem="env \"PLUGIN_ROOT\" is the client's to set"`,
		`private Problem="its url is one of http, and leads to another machine"`,
		`user Problem="its url isn't an absolute one of http or https without a user and a fragment"`,
		`anchor Problem="its url isn't an absolute one of http or https without a user and a fragment"`,
		`twice Problem="headers has \"A\" and \"a\", which are one"`,
	}},
}

func TestShapes(t *testing.T) {
	t.Parallel()
	for name, tt := range samples {
		t.Run(name, func(t *testing.T) {
			got, err := servers.Parse(tt.shape, []byte(tt.text))
			if err != nil || servers.Check(tt.shape, []byte(tt.text)) != "" {
				t.Fatal(err)
			}
			var lines []string
			for _, s := range got {
				lines = append(lines, show(s))
			}
			if g, w := strings.Join(lines, "\n"), strings.Join(tt.want, "\n"); g != w {
				t.Errorf("got\n%s\nwant\n%s", g, w)
			}
		})
	}
}

// TestShapeErrors: what isn't such a file says so without what stands in it.
func TestShapeErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		shape      servers.Shape
		text, want string
	}{
		{servers.VSCode, `{"servers": ["secret"]}`, "servers is a list, not an object"},
		{servers.VSCode, "{\n// x\n\"servers\": secret}", "invalid JSON in line 3: a value is expected"},
		{servers.Codex, "a = 1\nmcp_servers = 'secret'", `mcp_servers is a string, not an object`},
		{servers.Codex, "a = 1\nb = secret", "invalid TOML in line 2: "},
		{servers.Goose, "extensions: [secret]", "extensions is a list, not an object"},
		{servers.Goose, "a: secret\n b: c", "invalid YAML"},
		{servers.Goose, "- secret", "it is a list, not an object"},
		{servers.Goose, "a: *secret", "invalid YAML"},
		{servers.Goose, "[secret]: a", "invalid YAML"},
		{servers.OpenCode, `{"mcp": ["secret"]}`, `mcp is a list, not an object`},
		{servers.Client, `{"$schema": "https://agent-plugins.org/schemas/9/mcp.schema.json", "mcpServers": {}}`, "its $schema is none of version 1.0.0 of Agent Plugins"},
		{servers.Client, `{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json", "mcpServers": {}, "x": 1}`, `it has "x" beside $schema and mcpServers`},
		{servers.Client, `{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"}`, "it has no mcpServers"},
	} {
		if _, err := servers.Parse(tt.shape, []byte(tt.text)); err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s %s: %v, want %s", tt.shape, tt.text, err, tt.want)
		}
	}
	if list, err := servers.Parse(servers.Goose, []byte("\n")); err != nil || list != nil {
		t.Errorf("an empty file: %v, %v", list, err)
	}
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 9; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	if _, err := servers.Parse(servers.Goose, []byte(bomb)); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("aliases of aliases: %v", err)
	}
}

// TestNamesOfVariables: what should be a name and isn't may be a value.
func TestNamesOfVariables(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`command = "x"` + "\nenv_vars = ['A=secret']":      "env_vars[0] can't be a variable's name",
		`command = "x"` + "\nenv_vars = ['A', {}]":         "env_vars[1] is no name",
		`url = "u"` + "\nbearer_token_env_var = 'secret!'": `the header "Authorization" has no variable's name`,
		`url = "u"` + "\nenv_http_headers = { A = '' }":    `the header "A" has no variable's name`,
	} {
		list, err := servers.Parse(servers.Codex, []byte("[mcp_servers.a]\n"+text))
		if err != nil || len(list) != 1 || list[0].Problem != want {
			t.Errorf("%s: %+v, %v, want %s", text, list, err, want)
		}
	}
}

func TestUses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		server servers.Server
		want   string
	}{
		{servers.Server{}, "abc"},
		{servers.Server{Limited: true}, ""},
		{servers.Server{Limited: true, Tools: []string{"a", "b"}}, "ab"},
		{servers.Server{NoTools: []string{"b"}}, "ac"},
		{servers.Server{Limited: true, Tools: []string{"a", "b"}, NoTools: []string{"b", "x"}}, "a"},
	} {
		got := ""
		for _, tool := range []string{"a", "b", "c"} {
			if tt.server.Uses(tool) {
				got += tool
			}
		}
		if got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.server, got, tt.want)
		}
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		syntax servers.Syntax
		text   string
		want   string
	}{
		{servers.ShellSyntax, "a$B-${C:-d}${env:E}$1$$", "[{ C d true}]"},
		{servers.BareSyntax, "a$B-${C:-d}${env:E}$1", "[{ B  false} { C d true}]"},
		{servers.EditorSyntax, "$A${B}${env:C}${workspaceFolder}/${userHome}${/}${input:k}${workspaceFolderBasename}${env:1}${unknown:x}",
			"[{ C  false} {folder   false} {home   false} {separator   false} {foreign input:k  false} {folder name   false}]"},
		{servers.BraceSyntax, "{env:A}${env:B}{file:./x}{env:}{{env:C}", "[{ A  false} { B  false} {foreign file:./x  false} { C  false}]"},
		{servers.NoSyntax, "$A${B}{env:C}", "[]"},
	} {
		if got := fmt.Sprint(tt.syntax.References(tt.text)); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.syntax, tt.text, got, tt.want)
		}
	}
}

// secretToken stands where a person would have one.
const secretToken = "s3cr3t-t0k3n"

// entryKeys are those that any shape knows, and one that none does.
var entryKeys = strings.Fields(`type command args env cwd url headers transport serverUrl httpUrl disabled enabled includeTools tools excludeTools timeout envFile
	environment http_headers env_http_headers bearer_token_env_var bearer_token env_vars startup_timeout_sec source path cmd envs env_keys uri config oauth
	headersHelper settings available_tools unheard-of`)

// leaky makes a value that holds the token in any kind there is.
func leaky(rnd *rand.Rand, depth int) any {
	switch rnd.IntN(8) {
	case 0:
		return secretToken
	case 1:
		return "${input:x} ${env:HOME}" + secretToken
	case 2:
		return []any{secretToken, 1, "a " + secretToken}
	case 3:
		return map[string]any{"A": secretToken, "b c": secretToken, "D=": "x\r\n" + secretToken}
	case 4:
		return rnd.IntN(2) == 0
	case 5:
		return "stdio"
	case 6:
		if depth > 0 {
			return map[string]any{"path": leaky(rnd, depth-1), "type": secretToken, "name": leaky(rnd, depth-1)}
		}
	}
	return "https://" + secretToken + "@h/?k=" + secretToken
}

// TestNothingLeaks: whatever stands in a file, the errors, problems, needs and findings
// hold no value of it.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	rnd := testenv.Rand(t)
	for range testenv.Rounds(50, 300, 20_000) {
		entries := map[string]any{}
		for i := range 4 {
			e := map[string]any{}
			for range 1 + rnd.IntN(8) {
				e[entryKeys[rnd.IntN(len(entryKeys))]] = leaky(rnd, 2)
			}
			entries[fmt.Sprintf("s%d", i)] = e
		}
		if rnd.IntN(8) == 0 {
			entries["broken"] = secretToken
		}
		for _, shape := range servers.Shapes() {
			text := write(t, shape, entries)
			if rnd.IntN(4) == 0 {
				text = text[:rnd.IntN(len(text))]
			}
			list, err := servers.Parse(shape, text)
			if err != nil && strings.Contains(err.Error(), secretToken) {
				t.Fatalf("%s: %v in %s", shape, err, text)
			}
			for _, s := range list {
				said := strings.Join(append(s.Findings, s.Problem, s.Needs), "\n")
				if strings.Contains(said, secretToken) {
					t.Fatalf("%s: %s in %s", shape, said, text)
				}
			}
		}
	}
}

// TestOneBadEntry: in every shape a bad entry costs itself, wherever it stands, and is
// named with a reason that holds no value of it.
func TestOneBadEntry(t *testing.T) {
	t.Parallel()
	rnd := testenv.Rand(t)
	token := secretToken
	bad := map[string]any{
		"a string": token, "a number": 7, "a boolean": true, "a list": []any{token}, "an empty list": []any{},
		"command is a list of lists": map[string]any{"command": []any{[]any{token}}}, "command is a number": map[string]any{"command": 7},
		"args is a string": map[string]any{"command": "x", "cmd": "x", "args": token}, "args has a number": map[string]any{"command": "x", "cmd": "x", "args": []any{1}},
		"nothing": map[string]any{}, "url is a number": map[string]any{"url": 1, "uri": 1}, "type is unknown": map[string]any{"type": token, "command": "x"},
		"headers is a list": map[string]any{"url": "https://h", "uri": "https://h", "headers": []any{token}, "http_headers": []any{token}},
		"env is a list":     map[string]any{"command": "x", "cmd": "x", "env": []any{token}, "envs": []any{token}, "environment": []any{token}},
		"env has an object": map[string]any{"command": "x", "cmd": "x", "env": map[string]any{"A": map[string]any{"B": token}}, "envs": map[string]any{"A": []any{token}}},
	}
	names := []string{"bad", "", "a__b", "_", "..", "new\nline", "esc\x1b[31m", strings.Repeat("n", 1<<16)}
	for kind, value := range bad {
		for _, shape := range servers.Shapes() {
			good := map[string]any{"command": "x", "args": []any{"y"}}
			switch shape {
			case servers.OpenCode:
				good = map[string]any{"type": "local", "command": []any{"x", "y"}}
			case servers.Goose:
				good = map[string]any{"type": "stdio", "cmd": "x", "args": []any{"y"}}
			}
			name := names[rnd.IntN(len(names))]
			entries := map[string]any{"before": good, name: value, "zzz": good}
			list, err := servers.Parse(shape, write(t, shape, entries))
			if err != nil {
				t.Errorf("%q, %s: %v", shape, kind, err)
				continue
			}
			found := map[string]bool{}
			for _, s := range list {
				switch {
				case s.Name == "before" || s.Name == "zzz":
					found[s.Name] = s.Problem == "" && s.Command == "x"
				case len(s.Name) > 0 && !strings.HasPrefix(name, s.Name), s.Problem == "":
					t.Errorf("%q, %s: %+v", shape, kind, s)
				default:
					found["bad"] = true
				}
				if strings.Contains(fmt.Sprintf("%+v", s), token) {
					t.Errorf("%q, %s: %+v", shape, kind, s)
				}
			}
			if len(found) != 3 || !found["before"] || !found["zzz"] {
				t.Errorf("%q, %s, named %.20q: %+v", shape, kind, name, list)
			}
		}
	}
}

// roots are the keys that servers stand below.
var roots = map[servers.Shape]string{
	servers.VSCode: "servers", servers.Codex: "mcp_servers", servers.OpenCode: "mcp", servers.Amp: "amp.mcpServers", servers.Zed: "context_servers", servers.Goose: "extensions",
}

// write writes entries in a shape. YAML is JSON, too.
func write(t *testing.T, shape servers.Shape, entries map[string]any) []byte {
	t.Helper()
	root := roots[shape]
	if root == "" {
		root = "mcpServers"
	}
	text, err := json.Marshal(map[string]any{root: entries})
	if err != nil {
		t.Fatal(err)
	}
	if shape != servers.Codex {
		return text
	}
	return []byte(root + " = " + inlineTOML(entries) + "\n")
}

func inlineTOML(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var list []string
		for key, value := range v {
			name, _ := json.Marshal(key)
			list = append(list, string(name)+" = "+inlineTOML(value))
		}
		return "{" + strings.Join(list, ", ") + "}"
	case []any:
		var list []string
		for _, e := range v {
			list = append(list, inlineTOML(e))
		}
		return "[" + strings.Join(list, ", ") + "]"
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// FuzzShapes: in every shape, Parse takes what Check takes, and what it says is usable
// can be started or dialed.
func FuzzShapes(f *testing.F) {
	for _, tt := range samples {
		f.Add(string(tt.shape), []byte(tt.text))
	}
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		shape := servers.Shape(name)
		list, err := servers.Parse(shape, text)
		if problem := servers.Check(shape, text); (err == nil) != (problem == "") || err != nil && err.Error() != problem {
			t.Fatalf("Parse says %v, Check %q", err, problem)
		}
		seen := map[[2]string]bool{}
		for _, s := range list {
			if key := [2]string{s.Project, s.Name}; seen[key] && s.Problem == "" {
				t.Errorf("two are called %q", s.Name)
			} else {
				seen[key] = true
			}
			switch {
			case s.Problem != "":
				if !reflect.DeepEqual(s, servers.Server{Name: s.Name, Project: s.Project, Problem: s.Problem}) {
					t.Errorf("a bad entry has more than its problem: %+v", s)
				}
			case s.Needs != "":
			case s.Transport == servers.Stdio && s.Command == "" || s.Transport != servers.Stdio && s.URL == "":
				t.Errorf("%+v is taken", s)
			}
			if len(s.Findings) > 16 {
				t.Errorf("%d findings", len(s.Findings))
			}
		}
	})
}

// TestMisplaced: servers below the key of another client are told.
func TestMisplaced(t *testing.T) {
	for _, c := range []struct {
		shape servers.Shape
		text  string
		want  bool
	}{
		{servers.Claude, `{"servers": {"a": {"command": "x"}}}`, true},
		{servers.VSCode, `{"mcpServers": {"a": {"command": "x"}}}`, true},
		{servers.Codex, "[mcpServers.a]\ncommand = \"x\"\n", true},
		{servers.Claude, `{"mcpServers": {}, "servers": {"a": {}}}`, false},
		{servers.Claude, `{"servers": {"command": "x"}}`, false}, // a server of that name, as in a plugin
		{servers.Claude, `{"servers": []}`, false},
		{servers.Claude, `{`, false},
	} {
		if got := servers.Misplaced(c.shape, []byte(c.text)); (got != "") != c.want {
			t.Errorf("%s %s: %q", c.shape, c.text, got)
		}
	}
}
