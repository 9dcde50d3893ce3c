package mcpconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"waymark/abi"
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
		{"a server is a string", `{"mcpServers":{"a":{},"b":"token"}}`, `server "b" is a string, not an object`},
		{"a server is null", `{"mcpServers":{"a":null}}`, `server "a" is null, not an object`},
		{"the second of two", `{"mcpServers":{},"mcpServers":1}`, "mcpServers is a number, not an object"},
		{"top level a list", `[{}]`, "it is a list, not an object"},
		{"top level null", `null`, "it is null, not an object"},
		{"empty", ``, "invalid JSON at offset 0: unexpected end"},
		{"broken", `{"mcpServers":{"a":secret}}`, "invalid JSON at offset 19: a value is expected"},
		{"comment", "{// x\n}", "invalid JSON at offset 1: a key is expected"},
		{"trailing comma", `{"a":1,}`, "invalid JSON at offset 7: a key is expected"},
		{"byte order mark", "\ufeff{}", "invalid JSON at offset 0: a value is expected"},
		{"deep", strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600), "invalid JSON at offset 2560: nested deeper than 512 levels"},
		{"oversize is not checked", strings.Repeat("x", 64<<10+1), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { check(t, tt.name, tt.text, tt.want) })
	}
}

func TestRoots(t *testing.T) {
	tree := fstest.MapFS{
		".mcp.json":     {Data: []byte("{}")},
		"servers.json":  {Data: []byte("{}")},
		"sub/.mcp.json": {Data: []byte("{}")},
	}
	tests := []struct {
		root guest.Root
		want string
	}{
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
