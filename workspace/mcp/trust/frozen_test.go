package trust_test

import (
	"testing"

	"waymark/plugins/mcpconfig/servers"
	"waymark/workspace/mcp/entry"
)

// frozen is a .mcp.json with all that an entry may hold, and with keys that say
// something to other clients alone.
const frozen = `{"mcpServers": {
	"http": {"type": "http", "url": "https://mcp.example.com/v1?key=literal&project=p", "headers": {"Authorization": "Bearer ${TOKEN}", "X-Api-Key": "literal", "X-Team": "core team"}},
	"sse": {"type": "sse", "url": "https://${HOST:-mcp.example.com}/sse", "timeout": 60000, "alwaysLoad": true},
	"inferred": {"url": "https://user:pass@mcp.example.com/", "disabled": true, "tools": ["one"], "excludeTools": ["two"]},
	"npx": {"command": "npx", "args": ["-y", "@example/server@1.2.3", "--token", "literal", "--root", "${WORK:-.}"], "env": {"API_KEY": "literal", "MODE": "a b", "URL": "${ENDPOINT}"}},
	"script": {"command": "node", "args": ["./server.js", "${env:HOME}", "{env:HOME}"], "cwd": ".", "env": {"EDITOR": "${workspaceFolder}"}, "includeTools": ["one"], "trust": true}
}}`

// TestOtherShapes: what other clients' entries have beside is in their definitions, the
// values of variables that they name aren't, and what is written in another syntax is
// something else.
func TestOtherShapes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["KEY"] = "one"
	base := servers.Server{Name: "a", Transport: "http", URL: "https://h/${KEY}", Syntax: servers.NoSyntax}
	seen := map[string]string{}
	for name, change := range map[string]func(s *servers.Server){
		"as it is":           func(*servers.Server) {},
		"another syntax":     func(s *servers.Server) { s.Syntax = servers.ShellSyntax },
		"a header":           func(s *servers.Server) { s.HeaderVariables = map[string]string{"X": "KEY"} },
		"another header":     func(s *servers.Server) { s.HeaderVariables = map[string]string{"X": "Bearer KEY"} },
		"a variable":         func(s *servers.Server) { s.Inherit = []string{"KEY"} },
		"no tool":            func(s *servers.Server) { s.Limited = true },
		"a tool":             func(s *servers.Server) { s.Limited, s.Tools = true, []string{"b", "a"} },
		"a tool left out":    func(s *servers.Server) { s.NoTools = []string{"a"} },
		"its two tools":      func(s *servers.Server) { s.NoTools = []string{"b", "a"} },
		"something else yet": func(s *servers.Server) { s.Limited, s.Tools = true, []string{"b\na"} },
	} {
		s := base
		change(&s)
		d := w.digest(&entry.Entry{Server: s})
		if other, twice := seen[d.Definition]; twice {
			t.Errorf("%s is the same as %s", name, other)
		}
		seen[d.Definition] = name
	}
	s := base
	s.HeaderVariables, s.Inherit = map[string]string{"X": "KEY"}, []string{"KEY"}
	before := w.digest(&entry.Entry{Server: s})
	w.env["KEY"] = "two"
	s.Findings, s.CallTimeout = []string{"x"}, 1
	if after := w.digest(&entry.Entry{Server: s}); after.Definition != before.Definition || after.Local != before.Local {
		t.Error("a value that rotates, a time or a finding asks again")
	}
}

// TestFrozenDigests: approvals that were given stay good, whatever is learned of other
// clients' files: the definitions of what stands in a .mcp.json, and where no program
// of the machine is in them the local ones, never change.
func TestFrozenDigests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["TOKEN"], w.env["ENDPOINT"] = "one", "https://h/"
	w.write("server.js", "serve()", 0o600)
	list, err := servers.Parse(servers.Claude, []byte(frozen))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]string{
		"http":     {"sha256:8086802fd86ca335ebc0eadb8845a60d68922a57cc6e556de656f932be89f56a", "hmac:1cc830b2bd4ec45772ba74a69b5185a1d8b77f2f0bc4d253fa73aa037a177bae"},
		"sse":      {"sha256:a5742637f41dc57d63fe2a5063588374acde5e0ccae3c6f216c11a3ca99ba235", "hmac:7b01cc7f510cf11f43a1f1b4db27ee3bd6c1b69391598192ea7fc0d06ca8ba51"},
		"inferred": {"sha256:f3fc75b13e4136739fb8c2e4d07e3ccfe2c1228e241b966a18ec0db20bd71fbf", "hmac:b8f02b5c792f621e0bf10af553465c2596adac9170c0630c2e8df6d25bb7e476"},
		"npx":      {"sha256:1215b95cf9ebd4969ac8894e73de25891f7fbb5efc1cf057c51e05114d528df9", ""},
		"script":   {"sha256:b5ac610726c6addfea3ee1709576fe39e04cc00214eedf91f22e9c67bb20417f", ""},
	}
	for _, s := range list {
		d := w.digest(&entry.Entry{Server: s})
		if got := want[s.Name]; d.Definition != got[0] || got[1] != "" && d.Local != got[1] {
			t.Errorf("%q: {%q, %q},", s.Name, d.Definition, d.Local)
		}
	}
	if len(list) != len(want) {
		t.Errorf("%d servers, want %d", len(list), len(want))
	}
}
