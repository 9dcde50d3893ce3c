package why_test

import (
	"path/filepath"
	"strings"
	"testing"

	"waymark/host/why"
)

// TestContainers: a directory in which agents look is answered as what it is,
// with resolvers that look into it and without.
func TestContainers(t *testing.T) {
	tree := []string{
		skill(".claude/skills/one", "one"), ".claude/skills/one/scripts/run.sh = x", skill(".claude/skills/group/four", "four"), ".claude/skills/group/four/run.sh = x",
		skill(".claude/skills/group/deep/five", "five"), ".claude/skills/group/deep/five/scripts/run.sh = x", ".claude/skills/group/notes.md = x", ".claude/skills/group/empty/",
		".github/skills/two/SKILL.md = x", ".github/skills/two/more.md = x",
		".cursor/rules/deep/a.mdc = x", ".claude/agents/team/README.md = x", ".codex/skills/", "sub/.claude/skills/x/SKILL.md = x", "home/.claude/skills/x/SKILL.md = x",
	}
	dir, in := (&world{tree: tree}).build(t)
	in.Home = dir + "/home"
	for _, a := range []ask{
		{".claude/skills", why.ReasonNotAKnownPlace, false, "", "3 resources below it are in the context"},
		{".codex/skills", why.ReasonNotAKnownPlace, false, "", "looks into; nothing in it is in the context"},
		{".claude/skills/one/scripts/run.sh", why.ReasonNotAKnownPlace, false, "skill:.claude/skills/one", "part of the directory of the skill"},
		{".claude/skills/one/scripts", why.ReasonNotAKnownPlace, false, "skill:.claude/skills/one", "part of the directory of the skill"},
		{".claude/skills/group", why.ReasonNotAKnownPlace, false, "", "2 resources below it are in the context"},
		{".claude/skills/group/notes.md", why.ReasonNotAKnownPlace, false, "", "no resolver"},
		{".claude/skills/group/empty", why.ReasonMissing, false, "", "looks for SKILL.md in it, and there is none"},
		{".claude/skills/group/four", why.ReasonFound, true, "skill:.claude/skills/group/four", ""},
		{".claude/skills/group/four/run.sh", why.ReasonNotAKnownPlace, false, "skill:.claude/skills/group/four", "part of the directory of the skill"},
		{".claude/skills/group/deep/five/SKILL.md", why.ReasonFound, true, "skill:.claude/skills/group/deep/five", ""},
		{".claude/skills/group/deep/five/scripts/run.sh", why.ReasonNotAKnownPlace, false, "skill:.claude/skills/group/deep/five", "part of the directory of the skill"},
		{".claude/agents/team/README.md", why.ReasonNotAKnownPlace, false, "", "looked at it and made no resource of it"}, // skill two has the same text
		{"sub/.claude/skills", why.ReasonNested, false, "", "'agent for sub/' lists it, with all else that applies to files there; a source would have it apply everywhere; Claude Code, Cursor, Kilo and opencode look for skills in it"},
		{"home/.claude/skills", why.ReasonNested, false, "", "run 'agent sources add home/.claude/skills'; Claude Code, Cursor, Kilo, opencode and VS Code look for the user's skills in it"},
	} {
		a.check(t, dir, in)
	}
	dir, in = (&world{tree: tree, disable: allBuiltins(t)}).build(t)
	for path, want := range map[string]string{
		".claude/skills": "look for skills in it", ".claude/skills/group/deep/five/": "GitHub Copilot, Kilo and opencode look for skills in groups in it", ".claude/skills/group/deep/five/SKILL.md": "GitHub Copilot, Kilo and opencode read it as skills in groups",
		".claude/skills/one": "read it as skills", ".github/skills": "GitHub Copilot and VS Code look for skills in it",
		".github/skills/two": "GitHub Copilot and VS Code read it as skills", ".github/skills/two/more.md": "read it as part of a skill",
		".cursor/rules": "Cursor looks for rules in it", ".cursor/rules/deep": "Cursor looks for rules in it", ".claude/agents/team": "look for subagents in it",
	} {
		ask{path, why.ReasonNotAKnownPlace, false, "", want}.check(t, dir, in)
	}
	ask{".cursor", why.ReasonNotAKnownPlace, false, "", "no resolver"}.check(t, dir, in)
	if a := why.Explain(in, dir+"/.cursor"); strings.Contains(a.Detail, "Cursor") {
		t.Errorf(".cursor is only on the way to rules: %s", a.Detail)
	}
}

// TestAdvice: nobody is told to have a whole home directory looked at, and what to
// do can be done: where no agent runs there is none to add a source to.
func TestAdvice(t *testing.T) {
	w := world{
		tree: []string{
			"proj/sub/AGENTS.md = x", "home/AGENTS.md = x", "home/.mcp.json = {}", "home/.codex/AGENTS.md = x", "home/notes/x.md = x",
			skill("home/.claude/skills/one", "one"), "home/.claude/skills/one/scripts/run.sh = x", skill("home/skills/two", "two"), "home/.claude/claude.md = x",
		},
		root: "proj",
	}
	dir, in := w.build(t)
	in.Home = dir + "/home"
	for path, want := range map[string]string{
		"home": "", "": "", "home/AGENTS.md": "home/AGENTS.md", "home/.mcp.json": "home/.mcp.json", "home/.codex/AGENTS.md": "home/.codex",
		"home/.claude/skills": "home/.claude/skills", "home/.claude/skills/one": "home/.claude/skills", "home/.claude/skills/one/SKILL.md": "home/.claude/skills",
		"home/skills/two/SKILL.md": "home/skills", "home/notes": "home/notes", "proj/sub/AGENTS.md": "",
	} {
		for _, once := range []bool{false, true} {
			in.Once = once
			command, not := "'agent sources add ", "agent run"
			if once {
				command, not = "'agent run --source ", "sources add"
			}
			a := why.Explain(in, filepath.Join(dir, path))
			checkAnswer(t, in, a)
			if detail := relative(a.Detail, dir); want != "" != strings.Contains(detail, command+want+"'") || strings.Contains(detail, not) {
				t.Errorf("%q, once is %v, want %q: %s", path, once, want, detail)
			}
		}
	}
	a := why.Explain(in, dir+"/home/.claude/claude.md")
	if !strings.Contains(a.Detail, "read .claude/CLAUDE.md as the user's instructions, in exact case") {
		t.Errorf("a wrong case in the home directory: %s", relative(a.Detail, dir))
	}
	// In a root that holds the home directory it is the same.
	w.root, w.roots = "", nil
	dir, in = w.build(t)
	in.Home = dir + "/home"
	ask{"home/AGENTS.md", why.ReasonNested, false, "", "run 'agent sources add home/AGENTS.md'"}.check(t, dir, in)
}
