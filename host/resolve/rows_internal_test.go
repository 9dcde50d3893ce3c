package resolve

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/snapshot"
	"waymark/test/contracts/vfstest"
)

// FuzzRows: whatever a guest answers, what comes out keeps to the rules.
func FuzzRows(f *testing.F) {
	for _, text := range []string{
		`{"resources": [{"kind": "skill", "path": "docs/a", "content": {"file": "docs/a"}}]}`,
		`{"resources": [{"kind": "mcp_config", "path": ".mcp.json", "status": "invalid", "error": "x", "content": {"file": ".mcp.json"}}]}`,
		`{"resources": [{"kind": "mcp_config", "path": ".mcp.json", "name": "n", "content": {"inline": "{}"}}, {"kind": "skill", "path": "../x"}]}`,
		`{"resources": [{"kind": "skill", "path": "away", "content": {"inline": "x\u0000"}, "attributes": {"a": ["\u0000"], "b": "c"}}]}`,
		`{"resources": [{"kind": "skill", "path": "broken", "content": {"file": "broken", "inline": "x"}}], "warnings": ["\u202e"]}`,
		`{"resources": [{"kind": "skill", "path": "docs/a", "content": {"file": "docs/a", "withheld": true}, "findings": [{"code": "a", "message": "\u0000\n"}]}]}`,
		`{"resources": [{"kind": "mcp_config", "path": ".mcp.json", "convention": "token", "readers": ["token"], "findings": [{"code": "token"}]}]}`,
		`{"resources": [{"kind": "skill", "path": "docs", "content": {"file": "docs"}}, {"kind": "skill", "path": "docs/a/b", "content": {}}]}`,
	} {
		f.Add([]byte(text))
	}
	dir := vfstest.Build(f, []string{
		"docs/a = A", `.mcp.json = {"mcpServers": {"x": 1}}`, "away -> $OUT/secret.txt", "broken -> nothing", "loop -> loop", "pipe |", ".env = secret",
	})
	root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = root.Close() })
	var readers []Resolver
	for _, kinds := range [][]abi.Kind{{abi.KindMCPConfig}, {abi.KindSkill, abi.KindCommand}} {
		readers = append(readers, Resolver{Info: abi.Resolver{Name: "r", Kinds: kinds, Reads: []string{"**"}}})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var resp abi.Response
		if json.Unmarshal(data, &resp) != nil {
			return
		}
		for i := range readers {
			checkRows(t, &readers[i], root, &resp)
		}
	})
}

// saysItself reports whether a guest gives content of its own.
func saysItself(resp *abi.Response) bool {
	return slices.ContainsFunc(resp.Resources, func(r abi.Resource) bool { return r.Content != nil && r.Content.Inline != nil })
}

func checkRows(t *testing.T, resolver *Resolver, root *vfs.Root, resp *abi.Response) {
	t.Helper()
	filter, err := viewOf(resolver, Root{FS: root}, false).Compile()
	if err != nil {
		t.Fatal(err)
	}
	run := root.Begin(filter, vfs.Limits{})
	defer run.Close()
	r := rowReader{resolver: resolver, by: "m/r@1", root: Root{FS: root}, run: run, maxInline: 64 << 10, maxRows: 1000}
	candidates, _ := r.read(resp, len(resp.Resources))
	for _, c := range candidates {
		mcp := c.Kind == abi.KindMCPConfig
		rel, err := filepath.Rel(root.Path(), c.Source)
		switch {
		case err != nil || !filepath.IsLocal(rel):
			t.Errorf("source %q", c.Source)
		case (c.Status == snapshot.StatusOK) != (c.Error == ""):
			t.Errorf("%s with the error %q", c.Status, c.Error)
		case c.Payload != nil && (mcp || c.Status != snapshot.StatusOK):
			t.Errorf("%s %s with a payload", c.Kind, c.Status)
		case mcp && (c.Name != "" || c.Key != "" || c.Description != "" || c.Attributes != nil || c.Findings != nil):
			t.Errorf("an mcp_config with more than its place: %+v", c.Resource)
		case (string(c.Payload) == "secret" || string(c.Payload) == "outside") && !saysItself(resp):
			t.Errorf("payload %q of %s", c.Payload, c.Source)
		case strings.ContainsRune(c.Name+c.Description+c.Error+c.Key, 0):
			t.Errorf("NUL in %+v", c.Resource)
		case len(c.Findings) > abi.MaxFindings || len(c.Readers) > abi.MaxReaders:
			t.Errorf("%d findings, %d readers", len(c.Findings), len(c.Readers))
		}
		for _, f := range c.Findings {
			if !abi.IsWord(f.Code) || len(f.Message) > abi.MaxMessage || strings.ContainsAny(f.Message, "\n\x00") || weight(f.Severity) == 0 {
				t.Errorf("finding %+v", f)
			}
		}
	}
	for _, w := range r.warnings {
		if !utf8.ValidString(w) || strings.ContainsAny(w, "\n\x00") {
			t.Errorf("warning %q", w)
		}
	}
	if len(r.warnings) > 101 {
		t.Errorf("%d warnings", len(r.warnings))
	}
}
