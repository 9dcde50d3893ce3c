package host_test

import (
	"path/filepath"
	"testing"

	"waymark/abi"
	"waymark/host/resolve"
	"waymark/host/sandbox/guesttest"
	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
)

// TestSharedAnswers: a resolver that ignores the name of a root, and found nothing in one, isn't
// run in another where it would see the same, and only there.
func TestSharedAnswers(t *testing.T) {
	t.Parallel()
	clean := newClean(t)
	for _, tt := range []struct {
		name       string
		tree       []string
		opts       vfs.RootOptions
		role       abi.Role
		file       string
		hooks, mcp bool // it is run
	}{
		{name: "the same", tree: []string{"skills/a/SKILL.md = x"}},
		{name: "something else", tree: []string{"AGENTS.md = x", "docs/x.md = y"}},
		{name: "a server", tree: []string{".mcp.json = {}"}, mcp: true},
		{name: "hooks", tree: []string{".claude/settings.json = {}"}, hooks: true},
		{name: "a manifest", tree: []string{".claude-plugin/plugin.json = {}"}, hooks: true, mcp: true},
		{name: "a place without anything", tree: []string{".claude/x = "}, hooks: true},
		{name: "a link to nothing", tree: []string{".mcp.json -> nothing"}, mcp: true},
		{name: "a link out of it", tree: []string{".mcp.json -> ../out/secret.txt"}, mcp: true},
		{name: "other rules", tree: []string{"skills/a/SKILL.md = x"}, opts: vfs.RootOptions{Exclude: []string{"lib"}}, hooks: true, mcp: true},
		{name: "a role", tree: []string{"skills/a/SKILL.md = x"}, role: abi.RoleSkills, hooks: true, mcp: true},
		{name: "one file", tree: []string{"AGENTS.md = x"}, file: "AGENTS.md", hooks: true, mcp: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dirs := []string{vfstest.Build(t, []string{"skills/a/SKILL.md = x"}), filepath.Join(vfstest.Build(t, tt.tree), tt.file)}
			engine := resolve.New(resolve.Options{})
			var ran [2]map[string]bool
			for i, dir := range dirs {
				root := resolve.Root{Role: tt.role}
				opts := tt.opts
				if i == 0 {
					root.Role, opts = "", vfs.RootOptions{}
				}
				var err error
				if root.FS, err = vfs.OpenRoot(dir, opts); err != nil {
					t.Fatal(err)
				}
				defer root.FS.Close()
				var resolvers []resolve.Resolver
				for _, info := range clean.module.Description().Resolvers {
					resolvers = append(resolvers, resolve.Resolver{Module: guesttest.Module(clean.module), Info: info, Manifests: info.Name == "context", Bundles: true})
				}
				outcomes, err := engine.Resolve(t.Context(), resolvers, []resolve.Root{root})
				if err != nil {
					t.Fatal(err)
				}
				ran[i] = map[string]bool{}
				for j, o := range outcomes {
					if o.Err != nil {
						t.Fatal(o.Err)
					}
					ran[i][resolvers[j].Info.Name] = !o.Reused
				}
			}
			if got := ran[0]; !got["context"] || !got["hooks"] || !got["mcp-config"] {
				t.Errorf("the first root: %v", got)
			}
			if got := ran[1]; !got["context"] || got["hooks"] != tt.hooks || got["mcp-config"] != tt.mcp {
				t.Errorf("the second root: %v, want hooks %v, mcp-config %v", got, tt.hooks, tt.mcp)
			}
		})
	}
}
