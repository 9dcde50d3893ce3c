package clients_test

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"waymark/test/testenv"
)

// named is the head of a skill, subagent or command, with a mark in its description.
func named(name string) string { return head(name, "What $ is for.") }

func skillsAt(dirs ...string) map[string]string {
	files := map[string]string{}
	for i, dir := range dirs {
		name := fmt.Sprintf("s%d", i)
		files[path.Join(dir, name, "SKILL.md")] = named(name)
	}
	return files
}

// textsAt are instructions at paths.
func textsAt(paths ...string) map[string]string {
	files := map[string]string{}
	for _, p := range paths {
		files[p] = "Rule $ holds.\n"
	}
	return files
}

func joined(all ...map[string]string) map[string]string {
	files := map[string]string{}
	for _, one := range all {
		maps.Copy(files, one)
	}
	return files
}

// instructionNames are all names that some coding agent reads in a directory.
var instructionNames = []string{
	"AGENTS.md", "AGENTS.override.md", "AGENT.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "QWEN.md", "CODEX.md", "CONTEXT.md", "WARP.md", "CONVENTIONS.md",
	".claude/CLAUDE.md", ".claude/AGENTS.md", ".github/copilot-instructions.md", ".qwen/QWEN.md", ".pi/APPEND_SYSTEM.md", ".pi/SYSTEM.md", ".gemini/GEMINI.md",
	".clinerules", ".cursorrules", ".windsurfrules", ".continuerules", ".kilocoderules", ".goosehints", ".rules",
}

// ruleNames are rules without conditions.
var ruleNames = []string{
	".claude/rules/a.md", ".claude/rules/sub/b.md", ".github/instructions/a.instructions.md", ".cline/rules/a.md", ".continue/rules/a.md", ".kilo/rules/a.md",
	".kilocode/rules/a.md", ".kilocode/rules-code/a.md", ".qwen/rules/a.md", ".cursor/rules/a.mdc", ".agents/rules/a.md", ".roo/rules/a.md", ".opencode/rules/a.md",
}

// containers are the directories of skills, of all.
var containers = []string{
	".agents/skills", ".claude/skills", ".codex/skills", ".opencode/skills", ".opencode/skill", ".github/skills", ".gemini/skills", ".qwen/skills", ".kilo/skills",
	".kilocode/skills", ".pi/skills", ".cline/skills", ".clinerules/skills", ".continue/skills", ".cursor/skills", "skills",
}

var agentDirs = []string{".claude/agents", ".github/agents", ".opencode/agent", ".opencode/agents", ".gemini/agents", ".qwen/agents", ".kilo/agents", ".kilo/agent", ".cline/agents", ".agents/agents", ".codex/agents", ".continue/agents"}

var commandDirs = []string{".claude/commands", ".opencode/command", ".opencode/commands", ".github/prompts", ".kilo/commands", ".qwen/commands", ".pi/prompts", ".continue/prompts", ".agents/commands"}

// homes are the places of the user's own.
var homeTexts = []string{
	".claude/CLAUDE.md", ".codex/AGENTS.md", ".config/opencode/AGENTS.md", ".gemini/GEMINI.md", ".qwen/QWEN.md", ".copilot/copilot-instructions.md", ".pi/agent/AGENTS.md",
	".config/kilo/AGENTS.md", "AGENTS.md", "CLAUDE.md", ".claude/rules/u.md", ".qwen/AGENTS.md", ".agents/AGENTS.md", "Cline/Rules/u.md", "Documents/Cline/Rules/u.md", ".continue/rules/u.md",
}

var homeContainers = []string{
	".agents/skills", ".claude/skills", ".codex/skills", ".config/opencode/skills", ".gemini/skills", ".qwen/skills", ".copilot/skills", ".pi/agent/skills", ".config/kilo/skills",
	".kilo/skills", ".kilocode/skills", ".cline/skills", ".continue/skills", ".opencode/skills",
}

func filesAt(dirs []string, name string) map[string]string {
	files := map[string]string{}
	for i, dir := range dirs {
		files[path.Join(dir, fmt.Sprint(name, i, ".md"))] = named(fmt.Sprint(name, i))
	}
	return files
}

// under puts all below a directory.
func under(dir string, files map[string]string) map[string]string {
	out := map[string]string{}
	for p, text := range files {
		out[path.Join(dir, p)] = text
	}
	return out
}

// markedTrees are workspaces for all coding agents.
var markedTrees = slices.Concat([]tree{
	{name: "nothing", files: map[string]string{"README.md": "$\n"}},
	{name: "all texts", files: textsAt(instructionNames...)},
	{name: "all texts, started below", start: "sub", files: joined(textsAt(instructionNames...), under("sub", textsAt(instructionNames...)))},
	{name: "all texts, between", start: "a/b/c", files: joined(textsAt(instructionNames...), under("a", textsAt(instructionNames...)), under("a/b", textsAt(instructionNames...)))},
	{name: "all texts above alone", start: "sub/deep", files: textsAt(instructionNames...)},
	{name: "all texts below alone", files: under("sub", textsAt(instructionNames...))},
	{name: "no git, started below", start: "sub", noGit: true, files: joined(textsAt("AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md"), under("sub", textsAt("AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md")))},
	{name: "no git, nothing at the start", start: "sub", noGit: true, files: textsAt("AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md", ".github/copilot-instructions.md")},
	{name: "rules", files: textsAt(ruleNames...)},
	{name: "rules, started below", start: "sub", files: joined(textsAt(ruleNames...), under("sub", textsAt(ruleNames...)))},
	{name: "rules with AGENTS.md and CLAUDE.md", files: joined(textsAt(ruleNames...), textsAt("AGENTS.md", "CLAUDE.md"))},
	{name: "skills", files: skillsAt(containers...)},
	{name: "skills, started below", start: "sub", files: joined(skillsAt(containers...), under("sub", renamed(skillsAt(containers...))))},
	{name: "skills above alone", start: "sub/deep", files: skillsAt(containers...)},
	{name: "skills below alone", files: under("sub", skillsAt(containers...))},
	{name: "skills, no git, started below", start: "sub", noGit: true, files: skillsAt(containers...)},
	{name: "skills deeper", files: deeper(containers)},
	{name: "subagents", files: filesAt(agentDirs, "a")},
	{name: "subagents, started below", start: "sub", files: joined(filesAt(agentDirs, "a"), under("sub", filesAt(agentDirs, "b")))},
	{name: "commands", files: filesAt(commandDirs, "c")},
	{name: "commands, started below", start: "sub", files: joined(filesAt(commandDirs, "c"), under("sub", filesAt(commandDirs, "d")))},
	{name: "of the user", home: textsAt(homeTexts...), files: textsAt("README.md")},
	{name: "of the user and the project", home: textsAt(homeTexts...), files: textsAt("AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md", ".github/copilot-instructions.md")},
	{name: "skills of the user", home: skillsAt(homeContainers...), files: textsAt("README.md")},
	{name: "skills of the user and the project", home: skillsAt(homeContainers...), files: renamed(skillsAt(containers...))},
	{name: "home above", inHome: true, home: textsAt(homeTexts...), files: textsAt("AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md")},
	{name: "home above, no git", inHome: true, noGit: true, home: textsAt(homeTexts...), files: textsAt("README.md")},
	{name: "skills, home above, no git", inHome: true, noGit: true, home: skillsAt(homeContainers...), files: textsAt("README.md")},
	{name: "CLAUDE.md imports AGENTS.md", files: map[string]string{"CLAUDE.md": "@AGENTS.md\n", "AGENTS.md": "Rule $.\n"}},
	{name: "AGENTS.md imports CLAUDE.md", files: map[string]string{"AGENTS.md": "See @CLAUDE.md\n", "CLAUDE.md": "Rule $.\n"}},
	{name: "CLAUDE.md is a link", files: map[string]string{"CLAUDE.md": "-> AGENTS.md", "AGENTS.md": "Rule $.\n"}},
	{name: "AGENTS.md is a link", files: map[string]string{"AGENTS.md": "-> CLAUDE.md", "CLAUDE.md": "Rule $.\n"}},
	{name: "GEMINI.md and QWEN.md are links", files: map[string]string{"GEMINI.md": "-> AGENTS.md", "QWEN.md": "-> AGENTS.md", "AGENTS.md": "Rule $.\n"}},
	{name: "the same text in two files", files: map[string]string{"CLAUDE.md": "Rule $(AGENTS.md).\n", "AGENTS.md": "Rule $.\n", "GEMINI.md": "Rule $(AGENTS.md).\n"}},
	{name: "a link out of the project", files: map[string]string{"AGENTS.md": "-> ../out.md", "CLAUDE.md": "-> ../out.md", "../out.md": "Rule $.\n"}},
	{name: "skills that are links", files: map[string]string{".claude/skills/one": "-> ../../.agents/skills/one", ".agents/skills/one/SKILL.md": named("one"), ".agents/skills/two": "-> ../../shared/two", "shared/two/SKILL.md": named("two")}},
	{name: "a directory of skills is a link", files: map[string]string{".claude/skills": "-> ../.agents/skills", ".agents/skills/one/SKILL.md": named("one"), ".gemini/skills": "-> ../.agents/skills", ".github/skills": "-> ../.agents/skills"}},
	{name: "skills over links out", files: map[string]string{".claude/skills/one": "-> ../../../out/one", ".agents/skills/one": "-> ../../../out/one", "../out/one/SKILL.md": named("one")}},
	{name: "blank texts", files: blankTexts},
	{name: "front matter before texts", files: before("---\ntitle: x\n---\n", instructionNames)},
	{name: "byte order marks", files: before("\ufeff", instructionNames)},
	{name: "lines of Windows", files: windows(textsAt(instructionNames...))},
	{name: "comments", files: map[string]string{"AGENTS.md": "<!-- $1 -->\nRule $2.\n", "CLAUDE.md": "<!--\n$1\n-->\nRule $2.\n", "GEMINI.md": "<!-- $1 -->\n$2\n"}},
	{name: "lower case", files: map[string]string{"agents.md": "$\n", "claude.md": "$\n", "gemini.md": "$\n", "qwen.md": "$\n", ".claude/skills/one/skill.md": named("one"), ".agents/skills/two/skill.md": named("two")}},
	{name: "names of case", files: map[string]string{"Agents.md": "$\n", "Claude.md": "$\n", "Gemini.md": "$\n", ".agents/skills/two/Skill.md": named("two")}},
	{name: "imports", files: importing("AGENTS.md")},
	{name: "imports of CLAUDE.md", files: importing("CLAUDE.md")},
	{name: "imports of GEMINI.md and QWEN.md", files: joined(importing("GEMINI.md"), importing("QWEN.md"))},
	{name: "imports below", start: "sub", files: map[string]string{"AGENTS.md": "@docs/a.md @sub/b.md\n", "CLAUDE.md": "@docs/a.md @sub/b.md\n", "GEMINI.md": "@docs/a.md @sub/b.md\n", "docs/a.md": "$\n", "sub/b.md": "$\n", "sub/GEMINI.md": "@../docs/a.md $\n", "sub/CLAUDE.md": "@b.md $\n"}},
	{name: "equal names of skills", files: equalSkills()},
	{name: "equal names of the user and the project", files: map[string]string{".agents/skills/one/SKILL.md": named("one"), ".claude/skills/one/SKILL.md": named("one"), ".gemini/skills/one/SKILL.md": named("one")}, home: map[string]string{".agents/skills/one/SKILL.md": named("one"), ".claude/skills/one/SKILL.md": named("one"), ".gemini/skills/one/SKILL.md": named("one")}},
	{name: "equal names above and here", start: "sub", files: joined(equalSkills(), under("sub", equalSkills()))},
	{name: "odd skills", files: oddSkills(".agents/skills")},
	{name: "odd skills of Claude", files: oddSkills(".claude/skills")},
	{name: "long descriptions", files: map[string]string{
		".agents/skills/one/SKILL.md": head("one", "$1 "+strings.Repeat("word ", 260)+"$2"), ".claude/skills/two/SKILL.md": head("two", "$1 "+strings.Repeat("word ", 350)+"$2"),
	}},
	{name: "a worktree", files: joined(textsAt("AGENTS.md", "CLAUDE.md"), map[string]string{".git": "gitdir: /nowhere/.git/worktrees/x\n"}), noGit: true},
	{name: "a repository in another", start: "inner", files: joined(textsAt("AGENTS.md", "CLAUDE.md", "GEMINI.md"), under("inner", textsAt("AGENTS.md", "CLAUDE.md", "GEMINI.md")), map[string]string{"inner/.git/HEAD": "ref: refs/heads/main\n", "inner/.git/config": "[core]\n\trepositoryformatversion = 0\n", "inner/.git/objects/info/x": "", "inner/.git/refs/heads/x": "", ".agents/skills/one/SKILL.md": named("one")})},
	{name: "a large text", files: map[string]string{"AGENTS.md": "$1\n" + strings.Repeat("0123456789abcde\n", 2500) + "$2\n", "CLAUDE.md": "$1\n" + strings.Repeat("0123456789abcde\n", 2500) + "$2\n"}},
	{name: "two large texts", start: "sub", files: map[string]string{"AGENTS.md": "$1\n" + strings.Repeat("0123456789abcde\n", 1500) + "$2\n", "sub/AGENTS.md": "$1\n" + strings.Repeat("0123456789abcde\n", 1500) + "$2\n"}},
	{name: "a conversation's files", files: joined(textsAt("AGENTS.md", "CLAUDE.md"), map[string]string{".mcp.json": "{}", "package.json": "{}", ".gitignore": "CLAUDE.md\n.claude\n", ".claude/skills/one/SKILL.md": named("one"), ".aiexclude": "AGENTS.md\n", ".geminiignore": "GEMINI.md\n", "GEMINI.md": "$\n"})},
})

func renamed(files map[string]string) map[string]string {
	out := map[string]string{}
	for p, text := range files {
		dir, base := path.Split(path.Dir(p))
		out[path.Join(dir, "n"+base, "SKILL.md")] = strings.Replace(text, "name: s", "name: ns", 1)
	}
	return out
}

func deeper(dirs []string) map[string]string {
	files := map[string]string{}
	for i, dir := range dirs {
		name := fmt.Sprintf("d%d", i)
		files[path.Join(dir, "group", name, "SKILL.md")] = named(name)
		files[path.Join(dir, "SKILL.md")] = named("top-" + name)
		files[path.Join(dir, name+".md")] = named("file-" + name)
	}
	return files
}

func before(text string, names []string) map[string]string {
	files := map[string]string{}
	for p, body := range textsAt(names...) {
		files[p] = text + body
	}
	return files
}

var blankTexts = map[string]string{"AGENTS.override.md": " \n", "AGENTS.md": "Rule $.\n", "CLAUDE.md": "", "GEMINI.md": "\n\n", ".claude/CLAUDE.md": "Rule $.\n", "QWEN.md": ""}

func windows(files map[string]string) map[string]string {
	out := map[string]string{}
	for p, text := range files {
		out[p] = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return out
}

// importing imports in all ways from one file.
func importing(name string) map[string]string {
	return map[string]string{
		name:        "Rule $1.\n\n@docs/a.md\n\nsee @docs/b.md, and @./docs/c.md.\n\n`@docs/code.md`\n\n```\n@docs/fence.md\n```\n\n@docs/noend @docs/missing.md @docs/\n\n- @docs/list.md\n\n<!-- @docs/comment.md -->\n\n    @docs/indented.md\n\nmail@docs/mail.md\n\n@../out.md\n@docs/x.json\n$2\n",
		"docs/a.md": "$ @b2.md @docs/b3.md\n", "docs/b2.md": "$ @b4.md\n", "docs/b4.md": "$ @b5.md\n", "docs/b5.md": "$ @b6.md\n", "docs/b6.md": "$ @b7.md\n", "docs/b7.md": "$\n", "docs/docs/b3.md": "$\n",
		"docs/b.md": "$\n", "docs/c.md": "$\n", "docs/code.md": "$\n", "docs/fence.md": "$\n", "docs/noend": "$\n", "docs/list.md": "$\n", "docs/comment.md": "$\n", "docs/indented.md": "$\n", "docs/mail.md": "$\n",
		"docs/x.json": "{\"a\": \"$\"}\n", "../out.md": "$\n",
	}
}

func equalSkills() map[string]string {
	files := map[string]string{}
	for _, dir := range containers {
		files[path.Join(dir, "one/SKILL.md")] = named("one")
	}
	return files
}

// oddSkills are skills whose front matter some refuse.
func oddSkills(dir string) map[string]string {
	return under(dir, map[string]string{
		"plain/SKILL.md": named("plain"), "othername/SKILL.md": head("$", "Called otherwise."), "nodesc/SKILL.md": "---\nname: $\n---\nbody\n", "noname/SKILL.md": "---\ndescription: Is $.\n---\nbody\n",
		"nohead/SKILL.md": "Body $.\n", "colon/SKILL.md": "---\nname: colon\ndescription: Use: when $\n---\n", "list/SKILL.md": "---\nname: list\ndescription: [\"$\", b]\n---\n",
		"number/SKILL.md": "---\nname: 12\ndescription: Is $.\n---\n", "lines/SKILL.md": "---\nname: lines\ndescription: |\n  one $1\n  two $2\n---\n", "folded/SKILL.md": "---\nname: folded\ndescription: >-\n  one $1\n  two $2\n---\n",
		"UPPER/SKILL.md": "---\nname: UPPER_case\ndescription: Is $.\n---\n", "spaces/SKILL.md": "---\nname: has spaces\ndescription: Is $.\n---\n", "broken/SKILL.md": "---\nname: broken\ndescription: [ $\n---\n",
		"noend/SKILL.md": "---\nname: noend\ndescription: Is $.\n", "bom/SKILL.md": "\ufeff" + named("bom"), "crlf/SKILL.md": "---\r\nname: crlf\r\ndescription: Is $.\r\n---\r\nbody\r\n", "dup/SKILL.md": "---\nname: dup\nname: dup2\ndescription: Is $.\n---\n",
		"quoted/SKILL.md": "---\nname: \"quoted\"\ndescription: 'Is $.'\n---\n", "blank/SKILL.md": "---\nname: blank\ndescription: \"\"\n---\nIs $.\n", "manual/SKILL.md": "---\nname: manual\ndescription: Is $.\ndisable-model-invocation: true\n---\n",
		"hidden/SKILL.md": "---\nname: hidden\ndescription: Is $.\nuser-invocable: false\n---\n", "paths/SKILL.md": "---\nname: paths\ndescription: Is $.\npaths: src/**\n---\n", "empty/SKILL.md": "", "noskill/README.md": "$\n",
	})
}

// withMarks puts a mark into each description and text of a tree that has none.
func withMarks(tr *tree) *tree {
	in := func(files map[string]string) {
		for p, text := range files {
			switch {
			case strings.HasPrefix(text, "-> ") || strings.Contains(text, "$") || !strings.HasSuffix(strings.ToLower(p), ".md"):
			case strings.Contains(text, "description: "):
				files[p] = strings.Replace(text, "description: ", "description: $ ", 1)
			case strings.TrimSpace(text) != "" && !strings.HasSuffix(text, "-->"):
				files[p] = text + " $"
			}
		}
	}
	in(tr.files)
	in(tr.home)
	return tr
}

// randomMarked makes a tree of the places of all coding agents.
func randomMarked(seed uint64) *tree {
	r := testenv.RandOf(seed, 38)
	tr := &tree{start: pick(r, "", "", "sub", "sub/deep"), noGit: r.IntN(5) == 0, inHome: r.IntN(7) == 0, files: map[string]string{"docs/x.md": "$\n"}, home: map[string]string{}}
	text := func() string {
		return pick(r, "Rule $.\n", "Rule $.\n", "Rule $.\n", "", " \n", "---\na: b\n---\n$\n", "@AGENTS.md $\n", "see @docs/x.md and $\n", "<!-- $1 --> $2\n", "\ufeff$\n", "$\r\n")
	}
	skill := func() string {
		name := pick(r, "one", "two", "three", "four", "five")
		return pick(r, named(name), named(name), named(name), "---\nname: "+name+"\n---\n$\n", "---\ndescription: $\n---\n", "$\n", "---\nname: "+name+"\ndescription: a: $\n---\n", "---\nname: "+name+"\ndescription: $\ndisable-model-invocation: true\n---\n")
	}
	put := func(files map[string]string, name, text string) {
		for other := range files {
			if other == name || strings.HasPrefix(name, other+"/") || strings.HasPrefix(other, name+"/") {
				return
			}
		}
		files[name] = text
	}
	for _, dir := range []string{"", "sub", "sub/deep"} {
		for range r.IntN(4) {
			put(tr.files, path.Join(dir, pick(r, append(instructionNames[:8:8], instructionNames...)...)), text())
		}
		for range r.IntN(2) {
			put(tr.files, path.Join(dir, pick(r, ruleNames...)), pick(r, text(), "---\npaths: src/**\n---\n$\n", "---\npaths: \"**\"\n---\n$\n", "---\napplyTo: \"**\"\n---\n$\n", "---\napplyTo: \"*.ts\"\n---\n$\n"))
		}
		for range r.IntN(4) {
			put(tr.files, path.Join(dir, pick(r, append(containers[:2:2], containers...)...), pick(r, "", "", "", "group"), pick(r, "one", "two", "three", "four", "Five", ".six"), "SKILL.md"), skill())
		}
		for range r.IntN(2) {
			put(tr.files, path.Join(dir, pick(r, agentDirs...), pick(r, "a.md", "b.md", "x/c.md")), skill())
		}
		for range r.IntN(2) {
			put(tr.files, path.Join(dir, pick(r, commandDirs...), pick(r, "c.md", "d.md", "x/e.md")), skill())
		}
	}
	if r.IntN(2) == 0 {
		for range r.IntN(4) {
			put(tr.home, pick(r, homeTexts...), text())
		}
		for range r.IntN(4) {
			put(tr.home, path.Join(pick(r, homeContainers...), pick(r, "one", "two", "uu"), "SKILL.md"), skill())
		}
	}
	if r.IntN(6) == 0 {
		put(tr.files, "shared/six/SKILL.md", named("six"))
		put(tr.files, path.Join(pick(r, containers...), "lk"), "-> ../../shared/six")
	}
	if r.IntN(6) == 0 {
		if _, ok := tr.files["AGENTS.md"]; ok {
			tr.files["CLAUDE.md"] = "-> AGENTS.md"
		}
	}
	return tr
}
