package vfs_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/plugins/conventions"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
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

// TestAnyOrder: what was asked for before changes no answer.
func TestAnyOrder(t *testing.T) {
	dir := vfstest.Build(t, []string{
		"gemini-extension.json = PATHS", "AGENTS.md -> gemini-extension.json", "CLAUDE.md -> real/AGENTS.md", ".mcp.json = TOKEN",
		"real/AGENTS.md = text", "real/plugin.json = PATHS", "real/up -> ..", "real/self -> plugin.json", "real/.env = TOKEN",
		"linked -> real", "plugin.json -> real/plugin.json", "marketplace.json -> .mcp.json", "gone -> nowhere", "out -> /etc/passwd",
	})
	var names []string
	for _, in := range []string{"", "real/", "linked/", "real/up/", "linked/up/real/", "AGENTS.md/"} {
		for _, name := range []string{
			".", "gemini-extension.json", "AGENTS.md", "CLAUDE.md", ".mcp.json", "plugin.json", "self", ".env", "marketplace.json",
			"gone", "out", "real", "linked", "missing", "real/", "AGENTS.md/",
		} {
			names = append(names, in+name)
		}
	}
	root, err := vfs.OpenRoot(dir, vfs.RootOptions{Settings: []string{"plugin.json"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	filters := make([]*vfs.Filter, 0, 3)
	for _, v := range []vfs.View{{}, {Manifests: true}, {MCPOnly: true}} {
		v.Reads = []string{"**"}
		f, err := v.Compile()
		if err != nil {
			t.Fatal(err)
		}
		filters = append(filters, f)
	}
	asks := []func(*vfs.Run, string) string{
		func(run *vfs.Run, name string) string {
			f, err := run.Open(name)
			if err != nil {
				return err.Error()
			}
			info, err := f.Stat()
			return fmt.Sprint(info, err)
		},
		func(run *vfs.Run, name string) string {
			c, err := run.Content(name)
			return fmt.Sprintf("%s %v %q %v", c.Path, c.Class, c.Data, err)
		},
		func(run *vfs.Run, name string) string { return fmt.Sprint(run.Stat(name)) },
		func(run *vfs.Run, name string) string { return fmt.Sprint(run.Lstat(name)) },
	}
	ask := func(run *vfs.Run, which int, name string) string { return asks[which](run, name) }
	rng := testenv.Rand(t)
	for range 50 {
		f := rng.IntN(len(filters))
		shared := root.Begin(filters[f], vfs.Limits{})
		for before := 0; before < 40; before++ {
			which, name := rng.IntN(len(asks)), names[rng.IntN(len(names))]
			alone := root.Begin(filters[f], vfs.Limits{})
			want := ask(alone, which, name)
			_ = alone.Close()
			if got := ask(shared, which, name); got != want {
				t.Fatalf("filter %d, question %d, %s: after %d others %s, alone %s", f, which, name, before, got, want)
			}
		}
		_ = shared.Close()
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
