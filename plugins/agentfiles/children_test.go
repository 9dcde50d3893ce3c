package agentfiles_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"waymark/plugins/agentfiles"
	"waymark/plugins/conventions"
	guest "waymark/sdk-guest"
)

// found lists what a resolver answers, as paths with names.
func found(t *testing.T, resp *guest.Response) (list []string) {
	t.Helper()
	for _, rows := range resp.Rows {
		decoded, err := rows.Decode()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range decoded {
			list = append(list, strings.TrimSuffix(fmt.Sprintf("%s=%s", r.Path, r.Name), "="))
		}
	}
	return list
}

// TestChildren: in the directories that the host names the same places count as in the
// root, which comes first, and names come from the place in the directory.
func TestChildren(t *testing.T) {
	resolver := agentfiles.Resolver(conventions.All)
	root := []string{"AGENTS.md"}
	tests := []struct {
		name, config string
		want         []string
	}{
		{"none", `{}`, root},
		{"one", `{"children":["a"]}`, append(slices.Clone(root), "a/.cursorrules", "a/.github/copilot-instructions.md", "a/AGENTS.md", "a/CLAUDE.md", "a/replit.md")},
		{"missing, and a file", `{"children":["none","AGENTS.md"]}`, root},
		{"names of the operator's", `{"children":["a"],"file_names":["CLAUDE.md","replit.md"]}`, []string{"a/CLAUDE.md", "a/replit.md", "a/.github/copilot-instructions.md"}},
		{"more names of the operator's", `{"children":["x"],"more_file_names":["AGENTS.md"]}`, append(slices.Clone(root), "x/AGENTS.md")},
		{"a place of the operator's", `{"children":["a"],"disabled":["agents-md","claude-md","cursorrules","replit-md","copilot-instructions"],"conventions":[{"id":"own","readers":["r"],` +
			`"places":["b/*.md"],"scope":"project","kind":"instruction_file","format":"markdown","name":"file","description":"heading","mode":"","globs_key":""}]}`,
			[]string{"a/b/CLAUDE.local.md=CLAUDE"}},
		{"two", `{"children":["a/b","x"]}`, append(slices.Clone(root), "a/b/.claude/CLAUDE.md", "a/b/.claude/commands/git/push.md=git:push",
			"a/b/.claude/rules/go/style.md=style", "a/b/.claude/skills/deploy=deploy", "a/b/.cursor/rules/web.mdc=web", "a/b/CLAUDE.local.md", "x/AGENTS.md")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, err := resolver.Resolve(&guest.Request{Root: guest.Root{Name: "w"}, Config: config(t, tt.config)}, nestedTree)
			if err != nil {
				t.Fatal(err)
			}
			if got := found(t, resp); !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, " "), strings.Join(tt.want, " "))
			}
			if len(resp.Warnings) > 0 {
				t.Errorf("warnings %q", resp.Warnings)
			}
		})
	}
}

// TestTooMuchInChildren: however much repositories have, what is the workspace's is found,
// and that something is missing is said once.
func TestTooMuchInChildren(t *testing.T) {
	tree := fstest.MapFS{"AGENTS.md": text("# Top"), "skills/own/SKILL.md": text("---\nname: own\ndescription: d\n---\n"), "c/AGENTS.md": text("# Last")}
	for _, child := range []string{"a", "b"} {
		for i := range 500 {
			tree[fmt.Sprintf("%s/skills/s%d/SKILL.md", child, i)] = text("---\nname: s\ndescription: d\n---\n")
		}
	}
	resp, err := agentfiles.Resolver(conventions.All).Resolve(&guest.Request{Root: guest.Root{Name: "w"}, Config: config(t, `{"children":["a","b","c"]}`)}, tree)
	if err != nil {
		t.Fatal(err)
	}
	got := found(t, resp)
	if len(got) != 2+800 || !slices.Contains(got, "AGENTS.md") || !slices.Contains(got, "skills/own=own") {
		t.Errorf("%d are found", len(got))
	}
	if len(resp.Warnings) != 1 || !strings.Contains(resp.Warnings[0], "too many") {
		t.Errorf("warnings %q", resp.Warnings)
	}
}
