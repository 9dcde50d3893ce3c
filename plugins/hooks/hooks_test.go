package hooks_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/plugins/hooks"
	guest "waymark/sdk-guest"
)

var table = []conventions.Convention{
	of("claude-settings", abi.KindHook, conventions.JSON, conventions.FromNothing, ".claude/settings.json"),
	of("hook-files", abi.KindHook, conventions.JSON, conventions.FromNothing, ".x/hooks/*.json"),
	of("devin-hooks", abi.KindHook, conventions.JSON, conventions.FromNothing, ".devin/hooks.v1.json"),
	of("codex-config", abi.KindHook, conventions.TOML, conventions.FromNothing, ".codex/config.toml"),
	of("cline-hooks", abi.KindHook, conventions.Executable, conventions.FromFile, ".clinerules/hooks/*"),
	of("agent-plugin", abi.KindPlugin, conventions.JSON, conventions.FromField, "plugin.json"),
	of("claude-plugin", abi.KindPlugin, conventions.JSON, conventions.FromField, ".claude-plugin/plugin.json"),
	of("nested-plugin", abi.KindPlugin, conventions.JSON, conventions.FromField, "p/*/.claude-plugin/plugin.json"),
	of("kiro-power", abi.KindPlugin, conventions.Markdown, conventions.FromField, "POWER.md"),
	of("opencode-plugins", abi.KindPlugin, conventions.Executable, conventions.FromFile, ".opencode/plugin/*.ts"),
}

func of(id string, kind abi.Kind, format conventions.Format, name conventions.Derivation, place string) conventions.Convention {
	return conventions.Convention{ID: id, Scope: conventions.ScopeProject, Kind: kind, Format: format, Name: name, Description: conventions.FromField, Places: []string{place}}
}

func module() guest.Module {
	return guest.Module{Name: "test", Version: "1.0.0", Resolvers: []guest.Resolver{hooks.Resolver(table)}}
}

func text(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

// resolve returns the answer, also as text.
func resolve(t testing.TB, config, role string, tree fstest.MapFS) (abi.Response, string) {
	t.Helper()
	out, err := module().HandleResolve([]byte(`{"abi":1,"resolver":"hooks","root":{"name":"w","file":"","role":"`+role+`"},"config":`+config+`}`), tree)
	if err != nil {
		t.Fatal(err)
	}
	var resp abi.Response
	if err := json.Unmarshal(out, &resp); err != nil {
		t.Fatal(err)
	}
	return resp, string(out)
}

func show(r abi.Resource) string {
	line := strconv.Quote(r.Name)
	if r.Key != "" {
		line += " " + r.Key
	}
	if r.Description != "" {
		line += " " + strconv.Quote(r.Description)
	}
	if r.Error != "" {
		line += " ! " + r.Error
	}
	for _, k := range slices.Sorted(maps.Keys(r.Attributes)) {
		switch k {
		case "digest":
			if len(r.Attributes[k].Text) != 64 {
				line += " BAD DIGEST"
			}
		case "event":
			if r.Attributes[k].Text != r.Name {
				line += " BAD EVENT"
			}
		default:
			line += " " + k + "=" + r.Attributes[k].Text
		}
	}
	if r.Content != nil {
		line += " " + r.Content.File
		if r.Content.Withheld {
			line += " WITHHELD"
		}
	}
	for _, f := range r.Findings {
		line += " +" + f.Code
	}
	return line
}

func TestShapes(t *testing.T) {
	for _, tt := range []struct{ name, file, text, want string }{
		{"nested", ".claude/settings.json", `{"permissions": {}, "hooks": {"PreToolUse": [{"matcher": "Bash|Edit", "hooks": [
			{"type": "command", "command": "a"}, {"type": "http", "url": "b"}]}, {"hooks": [{"type": "prompt", "prompt": "c"}]}], "Stop": [{"hooks": []}]}}`,
			"\"PreToolUse\" PreToolUse/0/0 matcher=Bash|Edit type=command\n\"PreToolUse\" PreToolUse/0/1 matcher=Bash|Edit type=http\n\"PreToolUse\" PreToolUse/1/0 type=prompt"},
		{"flat", ".x/hooks/a.json", `{"version": 1, "hooks": {"stop": [{"command": "./a.sh"}, {"type": "command", "bash": "b"}], "off": "x"}} // c`,
			"\"stop\" stop/0/0 type=command\n\"stop\" stop/1/0 type=command"},
		{"without the wrapper", ".devin/hooks.v1.json", `{"PreToolUse": [{"matcher": "exec", "hooks": [{"command": "a"}]}], "$schema": "x"}`,
			`"PreToolUse" PreToolUse/0/0 matcher=exec type=command`},
		{"settings without hooks", ".claude/settings.json", `{"Stop": [{"hooks": [{"command": "a"}]}]}`, ""},
		{"a list", ".x/hooks/a.json", `{"version": "v1", "hooks": [{"name": "n", "trigger": "PostToolUse", "matcher": "write", "action": {"type": "command", "command": "a"}},
			{"when": {"type": "fileEdited", "patterns": ["x"]}, "then": {"type": "askAgent", "prompt": "p"}}, {"command": ["a", "b"], "events": ["x.start", "x.end"]}]}`,
			"\"PostToolUse\" PostToolUse/0/0 matcher=write type=command\n\"fileEdited\" fileEdited/1/0 type=askAgent\n\"x.start\" x.start/2/0 type=command\n\"x.end\" x.end/2/0 type=command"},
		{"TOML", ".codex/config.toml", "model = 'm'\n[[hooks.PreToolUse]]\nmatcher = 'x'\n[[hooks.PreToolUse.hooks]]\ntype = 'command'\ncommand = 'a'\n",
			`"PreToolUse" PreToolUse/0/0 matcher=x type=command`},
		{"TOML, a list", ".codex/config.toml", "[[hooks]]\nevent = 'PreToolUse'\ncommand = 'a'\n", `"PreToolUse" PreToolUse/0/0 type=command`},
		{"none", ".claude/settings.json", `{}`, ""},
		{"nonsense", ".claude/settings.json", `{"hooks": 3}`, `"" ! hooks is a number, where an object belongs: its client drops the file`},
		{"text for a list", ".x/hooks/a.json", `{"version": 1, "hooks": {"stop": "x"}}`, `"" ! what stop has is a string, where a list belongs: its client drops the file`},
		{"nothing in a list", ".x/hooks/a.json", `{"version": 1, "hooks": {"stop": []}}`, ""},
		{"no wrapper and no hooks", ".devin/hooks.v1.json", `{"$schema": "x"}`, ""},
		{"nonsense inside", ".claude/settings.json", `{"hooks": {"a": [1, [], {"hooks": 3}, {"hooks": ["x"]}]}}`, `"" ! what a has are no hooks: its client drops the file`},
		{"broken", ".claude/settings.json", "{\n\"hooks\": secret}", `"" ! invalid JSON in line 2: a value is expected`},
		{"broken TOML", ".codex/config.toml", "a = 1\nb = secret", `"" ! invalid TOML in line 2: neither text, number, boolean nor date`},
		{"no object", ".claude/settings.json", `[]`, `"" ! line 1: it is a list, where an object belongs`},
		{"a program", ".clinerules/hooks/PreToolUse.sh", "#!/bin/sh", `"PreToolUse" PreToolUse/0/0 type=executable`},
		{"large", ".claude/settings.json", `{"x": "` + strings.Repeat("x", 70_000) + `"}`, `"" .claude/settings.json WITHHELD`},

		{"a manifest", ".claude-plugin/plugin.json", `{"name": "p", "version": "1.2", "description": "D", "hooks": "x", "mcpServers": {"a": {"env": {"T": "secret"}}}}`,
			`"p" "D" version=1.2 .claude-plugin/plugin.json WITHHELD +path-missing`},
		{"a manifest without a name", "p/q/.claude-plugin/plugin.json", `{"version": 1}`, `"q" p/q/.claude-plugin/plugin.json WITHHELD +name-missing`},
		{"a broken manifest", ".claude-plugin/plugin.json", `{"name": secret}`, `"plugin" ! invalid JSON in line 1: a value is expected .claude-plugin/plugin.json WITHHELD`},
		{"another program's plugin.json", "plugin.json", `{"name": "grafana", "type": "panel"}`, ""},
		{"another program's, broken", "plugin.json", `{`, ""},
		{"the open specification's", "plugin.json", `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "p"}`, `"p" plugin.json WITHHELD`},
		{"a power", "POWER.md", "---\nname: p\ndescription: D: d\n---\nText", `"p" "D: d" POWER.md WITHHELD`},
		{"code", ".opencode/plugin/a.ts", "export default 1", `"a" .opencode/plugin/a.ts WITHHELD`},
	} {
		resp, out := resolve(t, `{}`, "", fstest.MapFS{tt.file: text(tt.text)})
		var lines []string
		for _, r := range resp.Resources {
			if r.Path != tt.file || r.Convention == "" || r.Kind == abi.KindHook && r.Content != nil && tt.name != "large" {
				t.Errorf("%s: %+v", tt.name, r)
			}
			lines = append(lines, show(r))
		}
		if got := strings.Join(lines, "\n"); got != tt.want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", tt.name, got, tt.want)
		}
		if strings.Contains(out, "secret") {
			t.Errorf("%s tells a secret: %s", tt.name, out)
		}
	}
}

// TestDigest: equal handlers have equal digests, however they are written, and others
// have others.
func TestDigest(t *testing.T) {
	sum := func(file, content string) string {
		resp, _ := resolve(t, `{}`, "", fstest.MapFS{file: text(content)})
		if len(resp.Resources) != 1 {
			t.Fatalf("%s: %+v", content, resp)
		}
		return resp.Resources[0].Attributes["digest"].Text
	}
	want := sha256.Sum256([]byte(`{"a":[1,"é"],"command":"x"}`))
	for file, content := range map[string]string{
		".claude/settings.json": `{"hooks":{"Stop":[{"hooks":[ {"command" : "\u0078", /* c */ "a":[1, "\u00e9",]} ]}]}}`,
		".x/hooks/a.json":       `{"hooks":{"Start":[{"command":"y","a":[1,"é"],"command":"x"}]}}`,
		".codex/config.toml":    "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = 'x'\na = [0x1, 'é']\n",
	} {
		if got := sum(file, content); got != hex.EncodeToString(want[:]) {
			t.Errorf("%s: %s", content, got)
		}
	}
	if sum(".x/hooks/a.json", `{"hooks":{"Start":[{"command":"z","a":[1,"é"]}]}}`) == hex.EncodeToString(want[:]) {
		t.Error("another handler has the same digest")
	}
}

// TestGrant: commands are shown only where that is granted.
func TestGrant(t *testing.T) {
	tree := fstest.MapFS{".x/hooks/a.json": text(`{"hooks":{"stop":[{"command":"canary"},{"bash":"canary"},{"command":["canary","b"]}]}}`)}
	for _, config := range []string{`{}`, `{"grants":["hooks","mcp"]}`} {
		if _, out := resolve(t, config, "", tree); strings.Contains(out, "canary") {
			t.Errorf("%s: %s", config, out)
		}
	}
	resp, _ := resolve(t, `{"grants":["hook-commands"]}`, "", tree)
	var got []string
	for _, r := range resp.Resources {
		got = append(got, r.Attributes["command"].Text)
	}
	if want := []string{"canary", "canary", "canary b"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestSecrets: of a file with a token in every value, at every depth, and as a key
// where keys are names of people's own, nothing of a token leaves, whole or broken.
func TestSecrets(t *testing.T) {
	const token = "c4n4ry"
	handler := `{"type":"` + token + `","command":"` + token + `","args":["` + token + `"],"env":{"` + token + `":"` + token + `"},"url":"` + token +
		`","headers":{"A":"` + token + `"},"timeout":"` + token + `","statusMessage":"` + token + `","if":"` + token + `","` + token + `":{"` + token + `":["` + token + `"]}}`
	whole := `{"` + token + `":"` + token + `","env":{"` + token + `":"` + token + `"},"apiKeyHelper":"` + token + `","mcpServers":{"` + token + `":` + handler +
		`},"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[` + handler + `,` + handler + `],"x":"` + token + `"},` + handler + `],"not an event ` + token + `":[` + handler + `]}}`
	list := `{"hooks":[{"name":"` + token + `","trigger":"on ` + token + `","description":"` + token + `","action":` + handler + `}]}`
	files := map[string]string{".claude/settings.json": whole, ".x/hooks/a.json": whole, ".devin/hooks.v1.json": list}
	for i := range len(whole) {
		if i%7 == 0 {
			files[".x/hooks/"+strconv.Itoa(i)+".json"] = whole[:i]
			files[".x/hooks/b"+strconv.Itoa(i)+".json"] = whole[:i] + "]" + whole[i:]
		}
	}
	files[".codex/config.toml"] = "a = " + token + "\n"
	rows := 0
	for name, content := range files {
		resp, out := resolve(t, `{}`, "", fstest.MapFS{name: text(content)})
		rows += len(resp.Resources)
		if strings.Contains(out, token) {
			t.Fatalf("%s: %s\n%s", name, content, out)
		}
	}
	if rows < len(files)/2 {
		t.Errorf("only %d rows of %d files: the test tests little", rows, len(files))
	}
}

func TestRoles(t *testing.T) {
	tree := fstest.MapFS{"POWER.md": text("x"), ".claude/settings.json": text(`{"hooks":{"a":[{}]}}`)}
	for role, want := range map[string]int{"": 2, "instructions": 0, "skills": 0, "mcp": 0} {
		if resp, _ := resolve(t, `{}`, role, tree); len(resp.Resources) != want {
			t.Errorf("role %q: %+v", role, resp)
		}
	}
	if resp, _ := resolve(t, `{"disabled":["kiro-power"],"conventions":[{"id":"o","kind":"plugin","format":"text","name":"file","places":["POWER.md","*.power"]}]}`, "",
		fstest.MapFS{"POWER.md": text("x"), "a.power": text("x")}); len(resp.Resources) != 2 || resp.Resources[0].Convention != "o" {
		t.Errorf("%+v", resp)
	}
}

func FuzzHooks(f *testing.F) {
	f.Add(`{"hooks":{"PreToolUse":[{"matcher":"x","hooks":[{"type":"command","command":"a"}]}]}}`, false)
	f.Add(`{"hooks":[{"trigger":"x","action":{}}]} // c`, false)
	f.Add("[[hooks.a]]\nhooks = [{command = 'x'}]", true)
	f.Fuzz(func(t *testing.T, content string, isTOML bool) {
		name := ".x/hooks/a.json"
		if isTOML {
			name = ".codex/config.toml"
		}
		resp, _ := resolve(t, `{}`, "", fstest.MapFS{name: text(content)})
		keys := map[string]bool{}
		for _, r := range resp.Resources {
			if len(r.Key) > abi.MaxName || len(r.Error) > abi.MaxError || keys[r.Key+r.Name] && !strings.HasPrefix(r.Key, "unknown/") {
				t.Fatalf("%+v", r)
			}
			keys[r.Key+r.Name] = true
		}
	})
}
