package vfs_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/host/vfs/vfstest"
	"waymark/plugins/conventions"
)

// TestManifests: a view that may see manifests sees them by their own names, and nothing
// of them is content.
func TestManifests(t *testing.T) {
	dir := vfstest.Build(t, []string{
		"gemini-extension.json = PATHS", "AGENTS.md -> gemini-extension.json", ".mcp.json = TOKEN", "own/plugin.json = PATHS",
		"sub/gemini-extension.json -> ../.mcp.json", "secret/.env/plugin.json = TOKEN", "other/settings.json = TOKEN",
	})
	root, err := vfs.OpenRoot(dir, vfs.RootOptions{Settings: []string{"own/*.json", "other/{a,settings}.json"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	filter, err := vfs.View{Reads: []string{"**"}, Manifests: true}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	run := root.Begin(filter, vfs.Limits{})
	defer func() { _ = run.Close() }()
	for path, visible := range map[string]bool{
		"gemini-extension.json": true, "own/plugin.json": true, "AGENTS.md": false, ".mcp.json": false,
		"sub/gemini-extension.json": false, "secret/.env/plugin.json": false, "other/settings.json": false,
	} {
		_, err := run.Open(path)
		if visible != (err == nil) || !visible && !errors.Is(err, vfs.ErrHidden) {
			t.Errorf("%s: %v", path, err)
		}
		c, err := run.Content(path)
		if c.Class != vfs.ContentHidden || err == nil || c.Data != nil {
			t.Errorf("%s is %v as content, %v", path, c.Class, err)
		}
	}
}

// TestSettingsOfConventions: what conventions list as hooks or MCP servers is protected,
// wherever it lies.
func TestSettingsOfConventions(t *testing.T) {
	root, err := vfs.OpenRoot(t.TempDir(), vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	filter, err := vfs.View{Reads: []string{"**"}}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, c := range conventions.All {
		if c.Kind != abi.KindHook && c.Kind != abi.KindMCPConfig {
			continue
		}
		for _, place := range c.Places {
			seen++
			path := strings.NewReplacer("**", "a/b", "*", "c").Replace(place)
			for _, p := range []string{path, "x/" + path, strings.ToUpper(path)} {
				if j := root.Judge(filter, p); j.Reason != vfs.ReasonMCP {
					t.Errorf("%s: %s is %+v", c.ID, p, j)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("there are none")
	}
}

func TestSeesSettings(t *testing.T) {
	for _, kinds := range [][]abi.Kind{{abi.KindMCPConfig}, {abi.KindHook}, {abi.KindPlugin, abi.KindHook, abi.KindMCPConfig}} {
		if !vfs.SeesSettings(kinds) {
			t.Errorf("%v don't", kinds)
		}
		if other := append(slices.Clone(kinds), abi.KindCommand); vfs.SeesSettings(other) {
			t.Errorf("%v do", other)
		}
	}
	if vfs.SeesSettings(nil) {
		t.Error("no kinds do")
	}
}

func TestBadSettings(t *testing.T) {
	for _, pattern := range []string{"", "/etc/x", "../x", "a/[", strings.Repeat("{a,b}", 12)} {
		_, err := vfs.OpenRoot(t.TempDir(), vfs.RootOptions{Settings: []string{pattern}})
		var bad *vfs.PatternError
		if !errors.As(err, &bad) || bad.Field != "settings" {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}
