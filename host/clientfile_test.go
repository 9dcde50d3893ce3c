package host_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/host"
	"waymark/host/applicability"
	"waymark/host/codingagents"
	"waymark/test/contracts/vfstest"
)

func client(t testing.TB, id string) *codingagents.Client {
	t.Helper()
	c := codingagents.Lookup(id)
	if c == nil {
		t.Fatal("no client", id)
	}
	return c
}

// clientTree is a project, one directory of which has what each client reads there.
func clientTree(t testing.TB) (h *host.Host, dir, w string) {
	t.Helper()
	skill := func(name string) string { return fmt.Sprintf("---\nname: %s\ndescription: how\n---\n", name) }
	dir = vfstest.Build(t, []string{
		"CLAUDE.md = above", "w/.git/HEAD = x", "w/AGENTS.md = top", "w/CLAUDE.md = claude", "w/README.md = no",
		"w/.claude/rules/go.md = " + "---\npaths: '**/*.go'\n---\n", "w/.github/instructions/go.instructions.md = " + "---\napplyTo: '**/*.go'\n---\n",
		"w/.agents/skills/top/SKILL.md = " + skill("top"), "w/.mcp.json = {}",
		"w/web/AGENTS.md = web", "w/web/AGENTS.override.md = instead", "w/web/CLAUDE.md = claude", "w/web/CONTEXT.md = context",
		"w/web/.agents/skills/near/SKILL.md = " + skill("near"), "w/web/.agents/skills/near/more.md = more",
		"w/web/.claude/skills/ui/SKILL.md = " + skill("ui"), "w/web/src/CLAUDE.md = src", "w/web/src/x.go = x",
		"w/other/AGENTS.md = not on the way",
	})
	w = filepath.Join(dir, "w")
	return forHost(t, w, host.Options{}), dir, w
}

// had spells what a client has for a file, and when.
func had(a *applicability.Answer, dir string) string {
	var out strings.Builder
	for _, it := range a.Items {
		name := it.When
		if !it.Applies {
			name = "-"
		}
		_, _ = fmt.Fprintf(&out, "%s %s\n", name, relative(it.Path, dir))
	}
	return out.String()
}

// TestForClient: each client has for a file what it reads by its own walk and precedence,
// nearest first.
func TestForClient(t *testing.T) {
	t.Parallel()
	h, dir, w := clientTree(t)
	for id, want := range map[string]string{
		"codex": `started_there web/AGENTS.override.md
started_there web/.agents/skills/near/SKILL.md
start AGENTS.md
start .agents/skills/top/SKILL.md
- web/AGENTS.md
`,
		"opencode": `file web/src/CLAUDE.md
file web/AGENTS.md
started_there web/.claude/skills/ui/SKILL.md
started_there web/.agents/skills/near/SKILL.md
start AGENTS.md
start .agents/skills/top/SKILL.md
- web/CLAUDE.md
- web/CONTEXT.md
- CLAUDE.md
`,
		"claude": `file web/src/CLAUDE.md
file web/CLAUDE.md
file web/.claude/skills/ui/SKILL.md
start CLAUDE.md
file .claude/rules/go.md
start CLAUDE.md
- web/AGENTS.md
- AGENTS.md
`,
		"copilot-cli": `file web/src/CLAUDE.md
file web/AGENTS.md
file web/CLAUDE.md
started_there web/.agents/skills/near/SKILL.md
started_there web/.claude/skills/ui/SKILL.md
start AGENTS.md
start CLAUDE.md
file .github/instructions/go.instructions.md
file .claude/rules/go.md
start .agents/skills/top/SKILL.md
`,
	} {
		c := client(t, id)
		a, err := h.ForClient(t.Context(), c, w+"/web/src/new.go")
		if err != nil {
			t.Fatal(err)
		}
		if got := had(a, dir); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", id, got, want)
		}
		if a.Client != id || a.Version != c.Version || a.Root != w || len(a.Warnings) > 0 {
			t.Errorf("%s: %+v", id, a)
		}
	}
	for path, want := range map[string]error{w + "/.env": applicability.ErrSecret, dir + "/x": applicability.ErrOutside, "x": applicability.ErrPath} {
		if _, err := h.ForClient(t.Context(), client(t, "codex"), path); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestWhyClient: what a client makes of a file, in a word.
func TestWhyClient(t *testing.T) {
	t.Parallel()
	h, dir, w := clientTree(t)
	for id, cases := range map[string]map[string]string{
		"codex": {
			"w/AGENTS.md": "included start", "w/CLAUDE.md": "not_its_place", "w/README.md": "not_its_place", "w/none/AGENTS.md": "not_found",
			"w/web/AGENTS.md": "overridden", "w/web/AGENTS.override.md": "nested started_there", "w/other/AGENTS.md": "nested started_there",
			"w/.agents/skills/top": "included start", "w/web/.agents/skills/near/more.md": "nested started_there", "AGENTS.md": "nested started_there",
			"w/.agents/skills/none/SKILL.md": "not_found",
		},
		"claude": {
			"w/CLAUDE.md": "included start", "CLAUDE.md": "included start", "w/AGENTS.md": "overridden", "w/.mcp.json": "not_context",
			"w/web/src/CLAUDE.md": "nested file", "w/.claude/rules/go.md": "not_always", "w/web/.claude/skills/ui/SKILL.md": "nested file",
		},
		"opencode": {"w/CLAUDE.md": "overridden", "w/web/src/CLAUDE.md": "nested file", "w/web/CONTEXT.md": "overridden"},
	} {
		names := slices.Sorted(maps.Keys(cases))
		paths := make([]string, len(names))
		for i, name := range names {
			paths[i] = filepath.Join(dir, name)
		}
		list, err := h.WhyClient(t.Context(), client(t, id), paths...)
		if err != nil {
			t.Fatal(err)
		}
		for i, path := range names {
			d, want := list[i], cases[path]
			got := strings.TrimSpace(string(d.Reason) + " " + string(d.When))
			if d.Included {
				got = strings.TrimSpace("included " + got)
			}
			if got != want || !d.Included && d.Detail == "" || d.Client != id || d.Root != w {
				t.Errorf("%s of %s: %q, want %q: %+v", id, path, got, want, d)
			}
		}
	}
}

// TestClientLinksOut: links are followed wherever they lead, what is excluded isn't, and what
// one root has is nobody else's.
func TestClientLinksOut(t *testing.T) {
	t.Parallel()
	const skill = "---\nname: %s\ndescription: how\n---\n"
	dir := vfstest.Build(t, []string{
		"w/.git/HEAD = x", "w/AGENTS.md -> ../out/AGENTS.md", "out/AGENTS.md = elsewhere", "out/skills/one/SKILL.md = " + fmt.Sprintf(skill, "one"),
		"w/.agents/skills/all -> ../../../out/skills", "w/sub/.agents/skills/chain -> ../../../../chain", "chain -> out/skills/one",
		"w/.agents/skills/private/SKILL.md = " + fmt.Sprintf(skill, "private"), "w/.agents/skills/secret -> ../../../out/.ssh", "out/.ssh/SKILL.md = " + fmt.Sprintf(skill, "secret"),
		"home/sub/AGENTS.md = not of the project", "home/.codex/AGENTS.md = not there", "cx/AGENTS.md = mine", "cx/skills/two/SKILL.md = " + fmt.Sprintf(skill, "two"),
	})
	opts := testOptions(host.Options{Builtin: module(builtin(t))})
	opts.Home, opts.Exclude = filepath.Join(dir, "home"), []string{".agents/skills/private"}
	opts.ClientVariables = map[string]string{"CODEX_HOME": filepath.Join(dir, "cx")}
	v, err := host.ClientContext(t.Context(), opts, client(t, "codex"), filepath.Join(dir, "w/sub"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range v.Items {
		if it := &v.Items[i]; it.Included {
			got = append(got, strings.TrimSpace(relative(it.Path, dir)+" "+it.Name))
		}
	}
	want := []string{"cx/AGENTS.md", "w/AGENTS.md", "w/.agents/skills/all/one/SKILL.md one", "cx/skills/two/SKILL.md two"}
	if !slices.Equal(got, want) || len(v.NotLookedAt) > 0 {
		t.Errorf("%q, not %q", got, want)
	}
}

// TestClientImports: what is imported is named also where a client is started in a
// subdirectory.
func TestClientImports(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, []string{"w/.git/HEAD = x", "w/sub/CLAUDE.md = see @more.md", "w/sub/more.md = more"})
	v, err := host.ClientContext(t.Context(), testOptions(host.Options{Builtin: module(builtin(t))}), client(t, "claude"), filepath.Join(dir, "w/sub"))
	if err != nil || len(v.Items) != 2 || len(v.Items[0].Imports) != 1 || v.Items[1].ImportedBy != v.Items[0].Path {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestClientContextOfHost: a directory of the workspace, and no other.
func TestClientContextOfHost(t *testing.T) {
	t.Parallel()
	h, dir, w := clientTree(t)
	v, err := h.ClientContext(t.Context(), client(t, "codex"), "")
	if err != nil || v.Root != w || len(v.Items) != 2 {
		t.Errorf("%+v, %v", v, err)
	}
	v, err = h.ClientContext(t.Context(), client(t, "codex"), w+"/web")
	if err != nil || v.Root != w+"/web" || len(v.Items) != 5 {
		t.Errorf("%+v, %v", v, err)
	}
	for path, want := range map[string]error{dir: applicability.ErrOutside, w + "/.git": applicability.ErrSecret, "web": applicability.ErrPath, w + "/README.md": applicability.ErrPath, w + "/none": applicability.ErrPath} {
		if _, err := h.ClientContext(t.Context(), client(t, "codex"), path); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.ClientContext(ctx, client(t, "codex"), ""); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}
