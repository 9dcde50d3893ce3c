package agentfiles_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"waymark/plugins/agentfiles"
	"waymark/plugins/conventions"
	guest "waymark/sdk-guest"
)

// listings counts which directories are listed.
type listings struct {
	fstest.MapFS
	listed *[]string
}

func (l listings) ReadDir(name string) ([]fs.DirEntry, error) {
	*l.listed = append(*l.listed, name)
	return l.MapFS.ReadDir(name)
}

var nestedTree = fstest.MapFS{
	"AGENTS.md":                          text("# Top"),
	"a/AGENTS.md":                        text("# A"),
	"a/CLAUDE.md":                        text("# Claude"),
	"a/replit.md":                        text("at the top only"),
	"a/.cursorrules":                     text("at the top only"),
	"a/.github/copilot-instructions.md":  text("# Copilot"),
	"a/b/CLAUDE.local.md":                text("# Local"),
	"a/b/AGENTS.md/x":                    text("a directory named like a file"),
	"a/b/.claude/CLAUDE.md":              text("# Inside"),
	"a/b/.claude/rules/go/style.md":      text("---\npaths: '*.go'\n---\n"),
	"a/b/.claude/commands/git/push.md":   text("Push"),
	"a/b/.claude/skills/deploy/SKILL.md": text("---\nname: deploy\ndescription: how\n---\n"),
	"a/b/.cursor/rules/web.mdc":          text("---\nglobs: web/**\n---\n"),
	"a/b/c/AGENTS.md":                    text("# Not asked for"),
	"x/AGENTS.md":                        text("# Elsewhere"),
}

// TestNestedDirectories: of the directories that the host names, the places that are read
// below the top are looked up, and neither the directories nor the root are listed.
func TestNestedDirectories(t *testing.T) {
	resolver := agentfiles.Resolver(conventions.All)
	tests := []struct{ name, config, want string }{
		{"one", `{"directories":["a"]}`, "a/.github/copilot-instructions.md a/AGENTS.md a/CLAUDE.md"},
		{"two", `{"directories":["a/b","a"]}`, "a/b/.claude/CLAUDE.md a/b/.claude/commands/git/push.md=git:push a/b/.claude/rules/go/style.md=style " +
			"a/b/.claude/skills/deploy=deploy a/b/.cursor/rules/web.mdc=web a/b/CLAUDE.local.md a/.github/copilot-instructions.md a/AGENTS.md a/CLAUDE.md"},
		{"missing, and a file", `{"directories":["a/none","a/AGENTS.md"]}`, ""},
		{"names of the operator's", `{"directories":["a","a/b"],"file_names":["CLAUDE.md","X.md"]}`, "a/.github/copilot-instructions.md a/CLAUDE.md a/b/.claude/CLAUDE.md " +
			"a/b/.claude/commands/git/push.md=git:push a/b/.claude/rules/go/style.md=style a/b/.claude/skills/deploy=deploy a/b/.cursor/rules/web.mdc=web"},
		{"switched off", `{"directories":["a"],"disabled":["claude-md"]}`, "a/.github/copilot-instructions.md a/AGENTS.md"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var listed []string
			resp, err := resolver.Resolve(&guest.Request{Root: guest.Root{Name: "w"}, Config: config(t, tt.config)}, listings{nestedTree, &listed})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, rows := range resp.Rows {
				list, err := rows.Decode()
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range list {
					got = append(got, strings.TrimSuffix(fmt.Sprintf("%s=%s", r.Path, r.Name), "="))
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, " "), tt.want)
			}
			if slices.ContainsFunc(listed, func(dir string) bool { return !strings.Contains(dir, "/.") }) {
				t.Errorf("listed %q", listed)
			}
		})
	}
}
