package vfs_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
)

func TestJudge(t *testing.T) {
	dir := vfstest.Build(t, []string{"file = x"})
	root, filter, _ := begin(t, vfstest.Config{
		Dir:     dir,
		View:    vfs.View{Reads: []string{"AGENTS.md", "skills/*/SKILL.md", "docs/**"}, Narrow: []string{"AGENTS.md", "skills/a*/**"}},
		Options: vfs.RootOptions{Exclude: []string{"skills/ax"}, MCPFiles: []string{"docs/servers.json"}},
	})
	for path, want := range map[string]vfs.Judgement{
		".":                   {Dir: true},
		"AGENTS.md":           {File: true, Dir: true},
		"./AGENTS.md":         {File: true, Dir: true},
		"skills":              {Dir: true},
		"skills/ab":           {Dir: true},
		"skills/ab/SKILL.md":  {File: true, Dir: true},
		"skills/b/SKILL.md":   {Reason: vfs.ReasonNotInReads},
		"skills/ax/SKILL.md":  {Reason: vfs.ReasonExcluded},
		"docs/a.md":           {Reason: vfs.ReasonNotInReads},
		"docs/.env":           {Reason: vfs.ReasonSecret},
		".vscode/mcp.json":    {Reason: vfs.ReasonMCP},
		"agents.md":           {Reason: vfs.ReasonNotInReads},
		"":                    {Reason: vfs.ReasonNotInReads},
		"/AGENTS.md":          {Reason: vfs.ReasonNotInReads},
		"../root/AGENTS.md":   {Reason: vfs.ReasonNotInReads},
		"AGENTS.md\x00":       {Reason: vfs.ReasonNotInReads},
		"\xff":                {Reason: vfs.ReasonNotInReads},
		"AGENTS.md/below":     {Reason: vfs.ReasonNotInReads},
		"skills/../AGENTS.md": {File: true, Dir: true},
	} {
		if got := root.Judge(filter, path); got != want {
			t.Errorf("%q: got %+v, want %+v", path, got, want)
		}
	}
	if got := root.Judge(nil, "AGENTS.md"); got.Reason != vfs.ReasonNotInReads {
		t.Errorf("without a filter: %+v", got)
	}
	half, err := vfs.View{Reads: []string{"**"}, GrantSecrets: []string{"no such entry"}}.Compile()
	if got := root.Judge(half, "AGENTS.md"); err == nil || got.Reason != vfs.ReasonNotInReads {
		t.Errorf("with a filter that didn't compile: %+v, %v", got, err)
	}
	wide, err := vfs.View{Reads: []string{"**"}}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	if got := root.Judge(wide, "docs/servers.json"); got.Reason != vfs.ReasonMCP {
		t.Errorf("the root's own MCP file: %+v", got)
	}
	if err := root.Close(); err != nil {
		t.Error(err)
	}
	if got := root.Judge(filter, "AGENTS.md"); !got.File {
		t.Errorf("after Close: %+v", got)
	}
}

// A judgement is what a run answers when it is asked for what doesn't exist.
func TestJudgeIsWhatARunSays(t *testing.T) {
	paths := append([]string{"x", "a/b", ".", "skills/x/SKILL.md", "a/.ENV.local", "A/.SSH/id", ".cursor/MCP.json", "d/x"}, randomNames...)
	for _, view := range randomViews {
		root, filter, run := begin(t, vfstest.Config{
			Dir: t.TempDir(), View: view, Options: vfs.RootOptions{Exclude: []string{"d/x*"}},
		})
		for _, path := range paths {
			j := root.Judge(filter, path)
			_, err := run.Lstat(path)
			var e *vfs.Error
			hidden := vfs.ReasonNone
			if errors.As(err, &e) {
				hidden = e.Reason
			}
			if j.Reason != hidden || (j.File || j.Dir) == (hidden != vfs.ReasonNone) {
				t.Errorf("%v, %s: judged %+v, the run says %v", view.Reads, path, j, err)
			}
		}
	}
}

func TestSecretEntry(t *testing.T) {
	dir := vfstest.Build(t, []string{"home/.docker/x = x"})
	root, _, _ := begin(t, everything(filepath.Join(dir, "home/.docker")))
	for path, want := range map[string]string{
		".env.local": ".env*", "a/.GIT/config": ".git/**", "config.json": ".docker/config.json", "keys/x.pem": "*.pem",
		"AGENTS.md": "", ".": "", "": "", "..": "", "x/config.json": "",
	} {
		got, ok := root.SecretEntry(path)
		if got.Pattern != want || ok != (want != "") || ok && got.What == "" {
			t.Errorf("%q: got %+v %v, want %q", path, got, ok, want)
		}
	}
	for _, s := range vfs.SecretPatterns() {
		path := strings.ReplaceAll(strings.TrimSuffix(s.Pattern, "/**"), "*", "")
		if _, ok := root.SecretEntry("deep/" + path); !ok {
			t.Errorf("%s is no secret", path)
		}
	}
}

func TestNames(t *testing.T) {
	root, err := vfs.OpenRoot(t.TempDir(), vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, tt := range []struct{ reads, dir, want string }{
		{"AGENTS.md CLAUDE.md", ".", "AGENTS.md CLAUDE.md"},
		{"AGENTS.md", "sub", ""},
		{"skills/*/SKILL.md .agents/skills/*/SKILL.md", ".", ".agents skills"},
		{"skills/*/SKILL.md .agents/skills/*/SKILL.md", "skills", "any"},
		{"skills/*/SKILL.md", "skills/foo", "SKILL.md"},
		{"docs/**", ".", "docs"},
		{"docs/**", "docs", "any"},
		{"docs/**", "docs/deep/down", "any"},
		{"**/x.md", ".", "any"},
		{"{a,b}/c", ".", "a b"},
		{"*.md a *.md", ".", "a and *.md"},
		{"a? .roorules-* b", ".", "b and .roorules-* a?"},
		{"*.md *", ".", "any"},
		{"x/*.md", ".", "x"},
		{"", ".", ""},
	} {
		f, err := vfs.View{Reads: strings.Fields(tt.reads)}.Compile()
		if err != nil {
			t.Fatal(err)
		}
		names, globs, all := root.Names(f, tt.dir)
		got := strings.Join(names, " ")
		if len(globs) > 0 {
			got += " and " + strings.Join(globs, " ")
		}
		if all {
			got = "any"
		}
		if got != tt.want {
			t.Errorf("%s in %s: %q, want %q", tt.reads, tt.dir, got, tt.want)
		}
	}
}
