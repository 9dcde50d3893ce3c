package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/plugins/conventions"
	"waymark/plugins/mcpconfig"
	shapes "waymark/plugins/mcpconfig/servers"
	guest "waymark/sdk-guest"
	"waymark/snapshot"
	"waymark/test/testenv"
)

// shapeSamples are files of each shape, good and bad.
var shapeSamples = map[shapes.Shape][]string{
	shapes.Claude:   {`{"mcpServers": {"a": {"command": "x"}, "b": {"url": 1}}}`, `{"a": {"command": "x"}}`, `{"mcpServers": []}`},
	shapes.VSCode:   {`{"servers": {"a": {"command": "x"}}, // y` + "\n}", `{"servers": {"a": 1}}`},
	shapes.Copilot:  {`{"mcpServers": {"a": {"type": "local", "command": "x", "tools": []}}}`},
	shapes.Editor:   {`{"mcpServers": {"a": {"serverUrl": "https://h/"}}}`, `/* x`},
	shapes.Client:   {`{"mcpServers": {"a": {"command": "x", "disabled": true}}}`, `{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json", "x": 1}`},
	shapes.Codex:    {"[mcp_servers.a]\ncommand = 'x'\n", "[mcp_servers]\na = 1\n"},
	shapes.Gemini:   {`{"mcpServers": {"a": {"httpUrl": "https://h/"}}}`},
	shapes.OpenCode: {`{"mcp": {"a": {"type": "local", "command": ["x"]}}}`, `{"mcp": {"servers": {"a": []}}}`},
	shapes.Amp:      {`{"amp.mcpServers": {"a": {"command": "x"}}}`},
	shapes.Zed:      {`{"context_servers": {"a": {"command": {"path": "x"}}}}`},
}

// TestGuestAndRunnerAgree: what the guest calls invalid the runner doesn't take, and
// takes what the guest takes, at every place, whatever has happened to the file.
func TestGuestAndRunnerAgree(t *testing.T) {
	t.Parallel()
	rnd := testenv.Rand(t)
	resolve := mcpconfig.Resolver().Resolve
	for range testenv.Rounds(3, 20, 500) {
		root := t.TempDir()
		texts := map[string][]byte{}
		for place := range projectMCPFiles {
			name := strings.ReplaceAll(place, "*", "some")
			list := shapeSamples[shapes.ShapeOf(name)]
			if len(list) == 0 {
				t.Fatalf("no sample for %s", name)
			}
			text := []byte(list[rnd.IntN(len(list))])
			switch rnd.IntN(3) {
			case 0:
				text = text[:rnd.IntN(len(text))]
			case 1:
				text[rnd.IntN(len(text))] = byte(rnd.IntN(256))
			}
			texts[name] = text
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		resp, err := resolve(&guest.Request{}, os.DirFS(root))
		if err != nil || len(resp.Resources) != len(texts) {
			t.Fatalf("%d of %d: %v", len(resp.Resources), len(texts), err)
		}
		for _, r := range resp.Resources {
			row := snapshot.Resource{Kind: abi.KindMCPConfig, Source: filepath.Join(root, r.Path), Convention: r.Convention}
			_, err := shapes.Parse(mcpShape(&row), texts[r.Path])
			if (err == nil) != (r.Status != abi.StatusInvalid) || err != nil && err.Error() != r.Error {
				t.Errorf("%s: the guest says %q, the runner %v of %q", r.Path, r.Error, err, texts[r.Path])
			}
		}
	}
}

// TestMCPShape: the convention that led to a file says its shape where a link has hidden
// its name.
func TestMCPShape(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		source, convention string
		want               shapes.Shape
	}{
		{"/w/.mcp.json", "mcp-json", shapes.Claude},
		{"/w/shared/servers.json", "vscode-mcp", shapes.VSCode},
		{"/w/.vscode/mcp.json", "vscode-mcp", shapes.VSCode},
		{"/etc/servers.json", "", shapes.Claude},
		{"/home/u/.codex/config.toml", "acme", shapes.Codex},
	} {
		if got := mcpShape(&snapshot.Resource{Source: tt.source, Convention: tt.convention}); got != tt.want {
			t.Errorf("%s by %q: %q, want %q", tt.source, tt.convention, got, tt.want)
		}
	}
}

// TestMCPPlacesAreProtected: no resolver but that of MCP configurations sees a place of
// the table.
func TestMCPPlacesAreProtected(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var places []string
	for _, c := range conventions.All {
		if c.Kind != abi.KindMCPConfig {
			continue
		}
		for _, place := range c.Places {
			name := strings.ReplaceAll(place, "*", "some")
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			places = append(places, name)
		}
	}
	fs, err := vfs.OpenRoot(root, vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	filter, err := vfs.View{Reads: []string{"**"}}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	run := fs.Begin(filter, vfs.Limits{})
	t.Cleanup(func() { _ = run.Close(); _ = fs.Close() })
	for _, place := range places {
		if _, err := run.Open(place); !errors.Is(err, vfs.ErrHidden) {
			t.Errorf("%s: %v", place, err)
		}
	}
}
