package mcpconfig_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/plugins/mcpconfig"
	guest "waymark/sdk-guest"
)

func check(t *testing.T, name, text, want string) {
	t.Helper()
	resp, err := mcpconfig.Resolver().Resolve(&guest.Request{}, fstest.MapFS{".mcp.json": {Data: []byte(text)}})
	if err != nil || resp == nil || len(resp.Resources) != 1 {
		t.Fatalf("%s: %+v, %v", name, resp, err)
	}
	r := resp.Resources[0]
	if r.Kind != guest.MCPConfig || r.Path != ".mcp.json" || r.Content.File != ".mcp.json" || r.Name != "" || r.Description != "" {
		t.Errorf("%s: %+v", name, r)
	}
	if r.Error != want || (r.Status == abi.StatusInvalid) != (want != "") {
		t.Errorf("%s: status %q, error %q; want error %q", name, r.Status, r.Error, want)
	}
}

func TestContent(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"servers", `{"mcpServers":{"a":{"command":"x","env":{"TOKEN":"s"}},"b":{}}}`, ""},
		{"no servers", `{"mcpServers":{}}`, ""},
		{"mcpServers missing", `{"other":[1]}`, ""},
		{"mcpServers null", `{"mcpServers":null}`, ""},
		{"duplicate keys", `{"mcpServers":{"a":{},"a":{}},"mcpServers":{}}`, ""},
		{"bad UTF-8 in a string", "{\"x\":\"\xff\"}", ""},
		{"mcpServers a list", `{"mcpServers":[]}`, "mcpServers is a list, not an object"},
		{"a server is a string", `{"mcpServers":{"a":{},"b":"token"}}`, ""},
		{"a server is null", `{"mcpServers":{"a":null}}`, ""},
		{"the second of two", `{"mcpServers":{},"mcpServers":1}`, "mcpServers is a number, not an object"},
		{"top level a list", `[{}]`, "it is a list, not an object"},
		{"top level null", `null`, "it is null, not an object"},
		{"empty", ``, "invalid JSON in line 1: unexpected end"},
		{"broken", `{"mcpServers":{"a":secret}}`, "invalid JSON in line 1: a value is expected"},
		{"comment", "{// x\n}", "invalid JSON in line 1: a key is expected"},
		{"trailing comma", `{"a":1,}`, "invalid JSON in line 1: a key is expected"},
		{"byte order mark", "\ufeff{}", "invalid JSON in line 1: it begins with a byte order mark"},
		{"deep", strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600), "invalid JSON in line 1: nested deeper than 128 levels"},
		{"oversize is not checked", strings.Repeat("x", 64<<10+1), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { check(t, tt.name, tt.text, tt.want) })
	}
}

// TestTable: every place of the table is looked at, by the convention that has it, and
// nothing else is.
func TestTable(t *testing.T) {
	for _, scope := range []conventions.Scope{conventions.ScopeProject, conventions.ScopeUser} {
		tree := fstest.MapFS{"mcp.json": {Data: []byte("{}")}, "deep/.mcp.json": {Data: []byte("{}")}, ".vscode/.mcp.json": {Data: []byte("{}")}, ".cursor/mcp.json/x": {}}
		want := map[string]string{}
		for _, c := range conventions.All {
			for _, place := range c.Places {
				if c.Kind != abi.KindMCPConfig || c.Scope != scope || place == ".cursor/mcp.json" {
					continue
				}
				place = strings.ReplaceAll(place, "*", "some")
				if want[place] == "" {
					want[place] = c.ID
				}
				text := "{}"
				if strings.HasSuffix(place, ".toml") {
					text = "a = 1"
				}
				tree[place] = &fstest.MapFile{Data: []byte(text)}
			}
		}
		if len(want) < 25 {
			t.Fatalf("%d places", len(want))
		}
		for _, disabled := range []string{"", "zed-settings"} {
			config, err := guest.ParseConfig(`{"scope": "` + string(scope) + `", "disabled": ["` + disabled + `"]}`)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := mcpconfig.Resolver().Resolve(&guest.Request{Config: config}, tree)
			if err != nil || resp == nil || len(resp.Warnings) > 0 {
				t.Fatal(resp, err)
			}
			got := map[string]string{}
			for _, r := range resp.Resources {
				got[r.Path] = r.Convention
				if r.Status != "" || r.Error != "" || r.Content.File != r.Path || r.Kind != guest.MCPConfig {
					t.Errorf("%+v", r)
				}
			}
			expected := maps.Clone(want)
			maps.DeleteFunc(expected, func(_, id string) bool { return id == disabled })
			if !maps.Equal(got, expected) {
				t.Errorf("%s without %q: got %v, want %v", scope, disabled, got, expected)
			}
		}
	}
}

// TestOwnConventions: an operator's files are read in the shape that their names say.
func TestOwnConventions(t *testing.T) {
	tree := fstest.MapFS{
		".acme/a.json": {Data: []byte(`{"mcpServers": []}`)}, ".acme/b.toml": {Data: []byte("mcp_servers = 1")}, ".acme/c.jsonc": {Data: []byte("x")},
		".vscode/mcp.json": {Data: []byte(`{"servers": {},} // x`)},
	}
	config, err := guest.ParseConfig(`{"conventions": [
		{"id": "acme", "kind": "mcp_config", "places": [".acme/*.json", ".acme/*.toml", ".vscode/mcp.json"]}, {"id": "other", "kind": "skill", "places": [".acme/c.jsonc"]}
	]}`)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := mcpconfig.Resolver().Resolve(&guest.Request{Config: config}, tree)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range resp.Resources {
		got = append(got, r.Path+" "+r.Convention+" "+r.Error)
	}
	want := ".vscode/mcp.json vscode-mcp |.acme/a.json acme mcpServers is a list, not an object|.acme/b.toml acme mcp_servers is a number, not an object"
	if strings.Join(got, "|") != want {
		t.Errorf("got %s, want %s", strings.Join(got, "|"), want)
	}
	bad, err := guest.ParseConfig(`{"conventions": 1}`)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := mcpconfig.Resolver().Resolve(&guest.Request{Config: bad}, tree); err == nil {
		t.Errorf("%+v", resp)
	}
}

// TestShapes: what is wrong is said in the shape that the place has.
func TestShapes(t *testing.T) {
	for place, tt := range map[string]struct{ text, want string }{
		".vscode/mcp.json":        {`{"servers": 1}`, "servers is a number, not an object"},
		".cursor/mcp.json":        {"{} // a comment", ""},
		".codex/config.toml":      {"a = 1\nb = secret", "invalid TOML in line 2: neither text, number, boolean nor date"},
		".gemini/settings.json":   {`{"mcpServers": "secret"}`, `mcpServers is a string, not an object`},
		"opencode.jsonc":          {`{"mcp": {"servers": {"a": {}}},}`, ""},
		".zed/settings.json":      {`{"context_servers": []}`, "context_servers is a list, not an object"},
		".amp/settings.json":      {`{"amp.mcpServers": []}`, "amp.mcpServers is a list, not an object"},
		".kiro/settings/mcp.json": {`{"mcpServers": {"a": {}}}`, ""},
		".mcp.json":               {"{} // a comment", "invalid JSON in line 1: unexpected text after the value"},
	} {
		resp, err := mcpconfig.Resolver().Resolve(&guest.Request{}, fstest.MapFS{place: {Data: []byte(tt.text)}})
		if err != nil || len(resp.Resources) != 1 || resp.Resources[0].Error != tt.want {
			t.Errorf("%s: %+v, %v, want %q", place, resp, err, tt.want)
		}
	}
}

func TestRoots(t *testing.T) {
	tree := fstest.MapFS{
		".mcp.json":     {Data: []byte("{}")},
		"servers.json":  {Data: []byte("{}")},
		"sub/.mcp.json": {Data: []byte("{}")},
		"config.toml":   {Data: []byte("a = 1")},
		"opencode.json": {Data: []byte("{}")},
	}
	tests := []struct {
		root guest.Root
		want string
	}{
		{guest.Root{Name: ".codex", File: "config.toml", Role: abi.RoleMCP}, "config.toml"},
		{guest.Root{File: "opencode.json"}, "opencode.json"},
		{guest.Root{}, ".mcp.json"},
		{guest.Root{Role: abi.RoleMCP}, ".mcp.json"},
		{guest.Root{Role: abi.RoleSkills}, ""},
		{guest.Root{Role: abi.RoleInstructions, File: ".mcp.json"}, ""},
		{guest.Root{File: ".mcp.json"}, ".mcp.json"},
		{guest.Root{File: "servers.json"}, ""},
		{guest.Root{File: "servers.json", Role: abi.RoleMCP}, "servers.json"},
		{guest.Root{File: "missing.json", Role: abi.RoleMCP}, ""},
	}
	for _, tt := range tests {
		resp, err := mcpconfig.Resolver().Resolve(&guest.Request{Root: tt.root}, tree)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if resp != nil {
			got = resp.Resources[0].Path
		}
		if got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.root, got, tt.want)
		}
	}
}

func TestWrongThings(t *testing.T) {
	resolve := func(dir string) *guest.Response {
		resp, err := mcpconfig.Resolver().Resolve(&guest.Request{}, os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	dir := t.TempDir()
	place := filepath.Join(dir, ".mcp.json")
	if err := os.Mkdir(place, 0o700); err != nil {
		t.Fatal(err)
	}
	if resp := resolve(dir); resp != nil {
		t.Errorf("a directory: %+v", resp)
	}
	for target, status := range map[string]string{".": abi.StatusInvalid, "nowhere": "", ".mcp.json": ""} {
		_ = os.Remove(place)
		if err := os.Symlink(target, place); err != nil {
			t.Fatal(err)
		}
		if resp := resolve(dir); resp == nil || resp.Resources[0].Status != status {
			t.Errorf("a link to %s: %+v, want status %q", target, resp, status)
		}
	}
}

// opened takes down what is opened.
type opened struct {
	fs.FS
	names []string
}

func (o *opened) Open(name string) (fs.File, error) {
	o.names = append(o.names, name)
	return o.FS.Open(name)
}

// TestMissingPlaces: places that aren't there aren't looked at.
func TestMissingPlaces(t *testing.T) {
	root := &opened{FS: fstest.MapFS{".cursor/rules/a.mdc": {}, "src/main.go": {}, ".mcp.json/x": {}}}
	if resp, err := mcpconfig.Resolver().Resolve(&guest.Request{}, root); resp != nil || err != nil {
		t.Fatal(resp, err)
	}
	if got := strings.Join(root.names, " "); got != ". .cursor" {
		t.Errorf("opened: %s", got)
	}
}
