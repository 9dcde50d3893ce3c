package clients_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/test/testenv"
)

var copilotRunner = runner{
	id: "copilot-cli", pkg: "@github/copilot-linux-x64", pinned: "npm-copilot", seeds: 10,
	command: func(t *testing.T, modules string, home user) []string {
		cache, err := os.UserCacheDir() // where it unpacks itself, once
		if err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(modules, "@github/copilot-linux-x64/copilot")
		return []string{"/usr/bin/env", "XDG_CACHE_HOME=" + filepath.Join(cache, "waymark-test-npm", "copilot"), program, "-p", "hello", "--allow-all-tools", "--allow-all-paths"}
	},
	env: []string{
		"COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false", "COPILOT_PROVIDER_BASE_URL=http://" + modelAt + "/v1", "COPILOT_PROVIDER_API_KEY=none", "COPILOT_MODEL=m",
	},
	read:   func(file string) toolCall { return toolCall{"view", map[string]string{"path": file}} },
	trees:  copilotTrees(),
	random: randomCopilotTree,
}

// described is a skill with its description and, behind it, more fields.
func described(name, more string) string {
	return "---\nname: " + name + "\ndescription: What $ is for.\n" + more + "---\nbody\n"
}

// called are skills, subagents and commands at paths, with names from these.
func called(paths ...string) map[string]string {
	files := map[string]string{}
	for _, p := range paths {
		name, _, _ := strings.Cut(path.Base(p), ".")
		if name == "SKILL" {
			name = path.Base(path.Dir(p))
		}
		files[p] = named(name)
	}
	return files
}

// copilotTexts are the texts of Copilot CLI in a directory, and others.
var copilotTexts = []string{
	"AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md", ".claude/CLAUDE.md", ".github/AGENTS.md", "CLAUDE.local.md", ".github/instructions/a.instructions.md",
	".github/instructions/sub/b.instructions.md", ".github/instructions/c.md", ".claude/rules/r.md", ".claude/rules/s/t.md", ".copilot/copilot-instructions.md",
}

// copilotGlobs are values of applyTo.
var copilotGlobs = []string{
	`"*.txt"`, `"**/*.txt"`, `"sub/**"`, `"/sub/**"`, `"./sub/**"`, `"sub"`, `"sub/"`, `"sub/*"`, `"sub/deep/*"`, `"deep/*"`, `"**/deep/**"`, `"x.txt"`, `"sub/deep/x.txt"`, `"*.TXT"`, `"**/*.{txt,md}"`,
	`"*.md,sub/**"`, `"!**/*.md"`, `"**/*"`, `"**"`, `"*"`, `"s?b/**"`, `"[s]ub/**"`, `"sub/[!a]eep/*"`, `"**/.*"`, `"*/*"`, `"*/*/*"`, `"sub/deep"`, `"{sub,o}/**"`, `" sub/** "`, `"**/[x].txt"`, `"x.*"`, `"**/x.txt/**"`,
	`["*.md","**/*.txt"]`, `["sub/**"]`, `"**,a"`, `[a, "**"]`, `**/*.txt`, `**/*.txt, a`, `sub/** # c`, `'sub/**'`, `[sub/**]`, `[**/*.txt]`, "\n  - sub/**", "\n  - **/*.txt", "\n  - \"*.md\"\n  - sub/**", ">-\n  sub/**",
	`{a: sub/**}`, `"sub/**" x`, `null`, `*.txt`, `*.{txt,md}`, `"**/*.txt,"`, `","`, `[3]`, `!sub/**`, `"sub/**`, `["sub/**"`, `["**/*", "*"]`, `"**, **/*"`, `" * "`, `true`, `""`, ``,
}

func globbed(dir string) map[string]string {
	files := map[string]string{}
	for i, glob := range copilotGlobs {
		files[fmt.Sprintf("%s.github/instructions/g%02d.instructions.md", dir, i)] = "---\napplyTo: " + glob + "\n---\nRule $.\n"
	}
	return files
}

// fielded are files of front matter with each of some lines.
func fielded(place string, lines []string) map[string]string {
	files := map[string]string{}
	for i, line := range lines {
		name := fmt.Sprintf("f%03d", i)
		files[fmt.Sprintf(place, name)] = "---\nname: " + name + "\ndescription: What $ is for.\n" + line + "\n---\nbody\n"
		if key, _, _ := strings.Cut(line, ":"); key == "name" {
			files[fmt.Sprintf(place, name)] = "---\ndescription: What $ is for.\n" + line + "\n---\nbody\n"
		} else if key == "description" {
			files[fmt.Sprintf(place, name)] = "---\nname: " + name + "\n" + line + "\n---\nbody $\n"
		}
	}
	return files
}

var copilotFields = []string{
	"user-invocable: 3", "license: 3", "metadata: none", "model: [x]", "model: 3", "argument-hint: [a]", "argument-hint: x", "allowed-tools: 3", "allowed-tools: [3]", "allowed-tools: [a, b]", "allowed-tools:",
	"disable-model-invocation:", "disable-model-invocation: yes", "disable-model-invocation: True", "disable-model-invocation: FALSE", `disable-model-invocation: "false"`, `user-invocable: "false"`, "user-invocable: false",
	"infer: false", "infer: true", "infer: 3", "tools:", "tools: a, b", "tools: {a: b}", "skills: [a]", "skills: a", "hooks: {}", "hooks: 3", "mcp-servers: {}", "mcp-servers: 3", "target: vscode", "foo: &x 1\nbar: *x", "foo: *nope",
	"version: 1.0\nversion: 2.0", `"quoted": x`, "tab:\tx", "\ttab: x", `foo: "bad \q"`, "foo: @x", "foo: a: b", "foo: [a", "just text", "# comment", "foo: |\n  x\n y", "<<: {a: b}", "- a", "description: again", "when_to_use: 3",
	"paths: src/**", `name: ""`, "name:", "name: true", "name: [a]", `name: "$ b"`, `name: "$  b"`, "name: $", "name: -$", "name: $/b", "name: 2026-01-02", "name: 1.5", `name: "12"`, "description:", "description: true",
	`description: ""`, "description: |\n  one $1\n  two $2", "description: >\n  one $1\n  two $2", "description: 2026-01-02 $", "description: {a: $}", "description: a: $", `description: "$ ` + strings.Repeat("x", 1030) + `"`,
	`description: "$ ` + strings.Repeat("é", 1000) + `"`, `description: "$ ` + strings.Repeat("😀", 520) + `"`,
}

// copilotWrites are imports, each in a directory of its own with x.md.
var copilotWrites = []string{
	"@x.md", "`@x.md`", "``@x.md``", "` @x.md", "`a\n@x.md b`", "```\n@x.md\n```", "~~~\n@x.md\n~~~", "````\n```\n@x.md\n````", "```\n~~~\n@x.md\n```", "``` @x.md ```", "x ``` @x.md ``` y", "- ```\n  @x.md\n  ```",
	"> ```\n> @x.md\n> ```", "<pre>@x.md</pre>", "    @x.md", "`` ` @x.md ` ``", "`x` @x.md `y`", "```\na\n``` x\n@x.md", "```\n@x.md", "~~~ @x.md", "@./x.md", "@.//x.md", "@x.md/x", `@"x.md"`, `@x.md\`, `\@x.md`, "@@x.md",
	"<!-- @x.md -->", "(@x.md)", "[@x.md]", "x@x.md", "-@x.md", "_@x.md", "*@x.md*", "**@x.md**", "@x.md.", "@x.md, and", "@x.md's", "@x.md|", "@x.md#a", "@x.md:3", "é@x.md", "/@x.md", "@~/x.md", "@/x.md", "@y", "@d/y", "@x.md@x.md",
}

func written() (trees []tree) {
	for group := range slices.Chunk(copilotWrites, 8) {
		start, files := "", map[string]string{}
		for i, text := range group {
			start += fmt.Sprintf("d%d/", i)
			files[start+"AGENTS.md"], files[start+"x.md"], files[start+"y"], files[start+"d/y"] = fmt.Sprintf("Number %d.\n%s\n", i, text), "$1\n", "$2\n", "$3\n"
		}
		trees = append(trees, tree{name: fmt.Sprintf("imports of Copilot %d", len(trees)+1), start: start + "e", files: files})
	}
	return trees
}

// sized are skills of which the last ones have no room.
func sized(last ...string) map[string]string {
	files := map[string]string{}
	for i := range 14 {
		files[fmt.Sprintf(".github/skills/s%03d/SKILL.md", i)] = head(fmt.Sprintf("s%03d", i), strings.Repeat("d", 888)+"$")
	}
	for i, text := range last {
		files[fmt.Sprintf(".github/skills/t%03d/SKILL.md", i)] = head(fmt.Sprintf("t%03d", i), text)
	}
	return files
}

func copilotTrees() []tree {
	everywhere := func(dirs ...string) map[string]string {
		files := map[string]string{}
		for _, dir := range dirs {
			maps.Copy(files, under(dir, textsAt(copilotTexts...)))
		}
		return files
	}
	lists := []string{".github/skills/g%s/SKILL.md", ".agents/skills/a%s/SKILL.md", ".claude/skills/c%s/SKILL.md", ".claude/commands/k%s.md", ".github/agents/ga%s.md", ".claude/agents/ca%s.md"}
	listed := func(dirs ...string) map[string]string {
		files := map[string]string{}
		for i, dir := range dirs {
			for _, place := range lists {
				maps.Copy(files, called(path.Join(dir, fmt.Sprintf(place, string(rune('z'-i))))))
			}
		}
		return files
	}
	same := func(name string, places ...string) map[string]string {
		files := map[string]string{}
		for _, p := range places {
			files[strings.ReplaceAll(p, "*", name)] = named(name)
		}
		return files
	}
	reads := joined(everywhere("", "sub", "sub/deep", "other", "sub/deep/er"), map[string]string{"sub/deep/x.txt": "x\n"})
	trees := []tree{
		{name: "texts of Copilot", files: everywhere("")},
		{name: "texts of Copilot between", start: "a/b/c", files: everywhere("", "a", "a/b", "a/b/c", "a/b/c/d")},
		{name: "texts of Copilot without git", start: "a/b", noGit: true, files: everywhere("", "a", "a/b")},
		{name: "texts of Copilot of the user", files: map[string]string{}, home: joined(everywhere("", ".copilot"), textsAt(".copilot/instructions/b.instructions.md", ".copilot/instructions/s/a.instructions.md", ".copilot/instructions/c.md", ".copilot/instructions/.h.instructions.md", ".copilot/rules/r.md"))},
		{name: "texts of Copilot in the home directory", inHome: true, noGit: true, files: everywhere(""), home: everywhere("", ".copilot")},
		{name: "between alone", start: "a/b", files: textsAt("a/.claude/CLAUDE.md", "a/.github/CLAUDE.md", "a/.github/AGENTS.md", "a/.gemini/GEMINI.md", "a/.claude/AGENTS.md", "a/.github/instructions/q.instructions.md", "a/.claude/rules/r.md")},
		{name: "names in other case", files: textsAt("Agents.md", "claude.MD", "gemini.md", ".github/Copilot-Instructions.md", ".github/instructions/A.INSTRUCTIONS.MD", ".claude/rules/R.MD", ".claude/rules/x.txt")},
		{name: "directories in other case", files: textsAt(".GitHub/copilot-instructions.md", ".GITHUB/instructions/a.instructions.md", ".Claude/rules/r.md", ".github/Instructions/b.instructions.md")},
		{name: "names in two cases", files: textsAt("agents.md", "AGENTS.md", "Claude.md", "CLAUDE.md", ".github/copilot-instructions.md", ".github/COPILOT-INSTRUCTIONS.md")},
		{name: "names in other case between", start: "a/b", files: textsAt("a/agents.md", "a/claude.md", "a/.claude/claude.md", "a/.github/Copilot-instructions.md", "a/b/agents.md", "agents.md")},
		{name: "names in other case of the user", files: map[string]string{}, home: textsAt(".copilot/Copilot-Instructions.md", ".copilot/instructions/D.INSTRUCTIONS.MD")},
		{name: "one text once", start: "a/b", files: map[string]string{"AGENTS.md": "$(one)", "a/AGENTS.md": "$(one)", "a/b/AGENTS.md": "$(one)\n", "a/CLAUDE.md": "$(one)", "CLAUDE.md": "\ufeff$(two)", "a/b/CLAUDE.md": "$(two)", ".claude/rules/a.md": "$(one)", ".claude/rules/b.md": "$(one)"}},
		{name: "links of Copilot", files: map[string]string{"shared/x.md": "$", "AGENTS.md": "-> shared/x.md", "CLAUDE.md": "-> shared/x.md", "../out/g.md": "$", "GEMINI.md": "-> ../out/g.md", ".github/instructions": "-> ../../out/inst", "../out/inst/q.instructions.md": "$", ".claude/rules/l.md": "-> ../../shared/y.md", "shared/y.md": "$"}},
		{name: "linked directories of Copilot", start: "a", files: map[string]string{"AGENTS.md": "-> CLAUDE.md", "CLAUDE.md": "$", ".claude": "-> .cl", ".cl/rules/r.md": "$", ".gh/copilot-instructions.md": "$", ".gh/instructions/a.instructions.md": "$", ".github": "-> .gh", "a/AGENTS.md": "-> ../CLAUDE.md"}},
		{name: "a link that leads nowhere", files: map[string]string{"AGENTS.md": "-> nowhere", "CLAUDE.md": "$", "GEMINI.md/x": "d"}},
		{name: "rules linked twice", files: map[string]string{".claude/rules/a.md": "$", ".claude/rules/b.md": "-> a.md", ".github/instructions/s.instructions.md": "-> ../../shared/s.md", "shared/s.md": "$", ".claude/rules/t.md": "-> ../../shared/s.md"}},
		{name: "order of rules", start: "a", files: joined(textsAt(".github/instructions/z.instructions.md", ".github/instructions/Z2.instructions.md", ".github/instructions/s/q.instructions.md", ".github/instructions/b.instructions.md", ".claude/rules/z/z.md", ".claude/rules/a/b/c.md", ".claude/rules/.h/x.md", ".claude/rules/.hid.md", ".github/instructions/.instructions.md", ".claude/rules/t.md", "a/.claude/rules/s.md", "a/.github/instructions/q.instructions.md"))},
		{name: "globs", files: globbed("")},
		{name: "globs, a file", files: joined(globbed(""), map[string]string{"sub/deep/x.txt": "x"}), reads: "sub/deep/x.txt"},
		{name: "globs of the start, a file", start: "a", files: joined(globbed("a/"), map[string]string{"a/sub/deep/x.txt": "x"}), reads: "sub/deep/x.txt"},
		{name: "globs below, a file", files: joined(globbed("sub/"), map[string]string{"sub/deep/x.txt": "x"}), reads: "sub/deep/x.txt"},
		{name: "globs of two keys", files: map[string]string{".github/instructions/a.instructions.md": "---\napplyTo: \"*.a\"\npaths: \"*.p\"\n---\n$", ".claude/rules/a.md": "---\npaths: \"*.p\"\napplyTo: \"*.a\"\n---\n$", ".claude/rules/b.md": "---\npaths: \"*.p\"\napplyTo: \"**\"\n---\n$", ".claude/rules/c.md": "---\npaths: \"**\"\napplyTo: \"*.c\"\n---\n$", ".claude/rules/d.md": "---\nalwaysApply: true\npaths: \"*.q\"\n---\n$", ".claude/rules/e.md": "---\npaths: \"**\"\n---\n$", ".claude/rules/f.md": "---\nglobs: x\n---\n$"}},
		{name: "agents excluded", files: map[string]string{".github/instructions/a.instructions.md": "---\nexcludeAgent: coding-agent\n---\n$", ".github/instructions/b.instructions.md": "---\nexcludeAgent: code-review\n---\n$", ".github/instructions/c.instructions.md": "---\nexcludeAgent: [x, coding-agent]\n---\n$", ".github/instructions/d.instructions.md": "---\nexcludeAgent: cloud-agent\n---\n$", ".claude/rules/a.md": "---\nexcludeAgent: coding-agent\n---\n$", "AGENTS.md": "---\nexcludeAgent: coding-agent\n---\n$"}},
		{name: "front matter of rules", files: map[string]string{".claude/rules/a.md": "---\npaths: \"*.x\"\n", ".claude/rules/b.md": "\ufeff---\npaths: \"*.x\"\n---\n$", ".claude/rules/c.md": "---\r\npaths: \"*.x\"\r\n---\r\n$", ".claude/rules/d.md": "\n---\npaths: \"*.x\"\n---\n$", ".claude/rules/e.md": "---\npaths: \"*.x\"\n--- \n$", ".claude/rules/f.md": "---\npaths: \"*.x\"\n----\n$", ".claude/rules/g.md": "---\na: b\npaths: \"*.x\"\nbad: [\n---\n$", ".claude/rules/h.md": "--- \npaths: \"*.x\"\n---\n$", ".claude/rules/i.md": "---\npaths: \"*.x\"\n---x\n$"}},
		{name: "imports by name", files: joined(map[string]string{"AGENTS.md": "@i1.md", "CLAUDE.md": "@i2.md", "GEMINI.md": "@i3.md", ".github/copilot-instructions.md": "@i4.md @../i5.md", ".github/instructions/a.instructions.md": "@i6.md @../../i7.md", ".claude/rules/r.md": "@i8.md @../../i9.md"}, textsAt("i1.md", "i2.md", "i3.md", ".github/i4.md", "i5.md", ".github/instructions/i6.md", "i7.md", ".claude/rules/i8.md", "i9.md"))},
		{name: "imports of the user", files: map[string]string{}, home: map[string]string{".copilot/copilot-instructions.md": "$ @a.md @../b.md @~/c.md @d/e.md", ".copilot/a.md": "$", "b.md": "$", "c.md": "$", ".copilot/d/e.md": "$ @../a2.md @../../b2.md", ".copilot/a2.md": "$", "b2.md": "$", ".copilot/instructions/q.instructions.md": "$ @r.md", ".copilot/instructions/r.md": "$"}},
		{name: "imports out of the project", start: "a", files: map[string]string{"AGENTS.md": "$ @../o.md @l.md @d/f.md", "../o.md": "$", "l.md": "-> ../o2.md", "../o2.md": "$", "d": "-> dd", "dd/f.md": "$ @g.md", "dd/g.md": "$", "a/AGENTS.md": "$ @../x.md @../../o.md", "x.md": "$"}},
		{name: "imports without git", start: "a", noGit: true, files: map[string]string{"a/AGENTS.md": "@../x.md @y.md @../a/z.md", "x.md": "$", "a/y.md": "$", "a/z.md": "$", "a/.github/copilot-instructions.md": "$ @../q.md @r.md", "a/q.md": "$", "a/.github/r.md": "$"}},
		{name: "imports of a link", start: "a/b", files: map[string]string{"a/AGENTS.md": "-> ../c/C.md", "c/C.md": "$ @d.md", "c/d.md": "$", "a/d.md": "$", "a/.claude/CLAUDE.md": "$ @e.md @../f.md", "a/.claude/e.md": "$", "a/f.md": "$"}},
		{name: "imports of each other", files: map[string]string{"AGENTS.md": "$1 @CLAUDE.md $2", "CLAUDE.md": "$1 @x.md $2", "x.md": "$1 @AGENTS.md $2"}},
		{name: "CLAUDE.md that is an import", files: map[string]string{"AGENTS.md": "$", "CLAUDE.md": "@AGENTS.md\n"}},
		{name: "imports alike", start: "a", files: map[string]string{"AGENTS.md": "@x.md", "a/AGENTS.md": "@x.md", "a/CLAUDE.md": "@x.md", "a/x.md": "$", "x.md": "$"}},
		{name: "deep imports", files: chain(12)},
		{name: "skills of Copilot", start: "a/b/c", files: listed("", "a", "a/b", "a/b/c", "a/b/c/d")},
		{name: "skills of Copilot without git", start: "a/b", noGit: true, files: listed("", "a", "a/b")},
		{name: "skills of Copilot in the home directory", start: "a/b", noGit: true, inHome: true, files: listed("", "a", "a/b"), home: listed("")},
		{name: "skills of Copilot at the start", start: "a", files: called("a/.github/skills/zz/SKILL.md", "a/.agents/skills/aa/SKILL.md", "a/.claude/skills/mm/SKILL.md")},
		{name: "skills of Copilot above", start: "a", files: called(".github/skills/zz/SKILL.md", ".agents/skills/aa/SKILL.md", ".claude/skills/mm/SKILL.md")},
		{name: "skills of Copilot by turns", start: "a", files: called("a/.github/skills/zz/SKILL.md", ".agents/skills/aa/SKILL.md", "a/.claude/skills/mm/SKILL.md", ".claude/skills/bb/SKILL.md", ".github/skills/cc/SKILL.md")},
		{name: "skills of the user", files: listed(""), home: joined(called(".copilot/skills/zz/SKILL.md", ".agents/skills/aa/SKILL.md", ".copilot/skills/bb/SKILL.md", ".claude/skills/no/SKILL.md", ".claude/commands/no.md", ".copilot/skills/grp/deep/dd/SKILL.md", ".copilot/agents/u1.md", ".copilot/agents/s/u2.agent.md", ".claude/agents/no.md"), map[string]string{".copilot/agents/gaz.md": named("$")})},
		{name: "another home of Copilot", variables: map[string]string{"COPILOT_HOME": "else/cp"}, files: map[string]string{"AGENTS.md": "$"}, home: joined(
			textsAt("else/cp/copilot-instructions.md", "else/cp/instructions/a.instructions.md", ".copilot/copilot-instructions.md", ".copilot/instructions/a.instructions.md"),
			called("else/cp/skills/s/SKILL.md", "else/cp/agents/a.md", ".agents/skills/t/SKILL.md", ".copilot/skills/u/SKILL.md", ".copilot/agents/b.md"),
		)},
		{name: "skills deep", files: called(".github/skills/g1/SKILL.md", ".github/skills/grp/g2/SKILL.md", ".github/skills/grp/deep/g3/SKILL.md", ".github/skills/a/b/c/d/e/f/g/h/i/j/g4/SKILL.md", ".github/skills/.hid/h1/SKILL.md", ".github/skills/.hid2/SKILL.md", ".github/skills/node_modules/n1/SKILL.md", ".github/skills/low/skill.md", ".github/skills/g1/sub/SKILL.md", ".github/skills/mixed/Skill.md")},
		{name: "a skill that is the directory", files: called(".github/skills/SKILL.md", ".github/skills/g1/SKILL.md", ".agents/skills/a1/SKILL.md")},
		{name: "links of skills", files: joined(called("shared/s1/SKILL.md", "../out/s3/SKILL.md"), map[string]string{".github/skills/s1": "-> ../../shared/s1", ".agents/skills": "-> ../shared", ".claude/skills/x/SKILL.md": "-> ../../../shared/s2.md", "shared/s2.md": named("s2"), ".claude/skills/o": "-> ../../../out"})},
		{name: "links of subagents", files: joined(called("shared/sh.md", "../o.md"), map[string]string{".github/agents/lnk.md": "-> ../../shared/sh.md", ".github/agents/out.md": "-> ../../../o.md", ".claude/agents/d": "-> ../../shared"})},
		{name: "equal names of Copilot", start: "a/b", files: joined(
			same("s1", ".github/skills/*/SKILL.md", ".agents/skills/*/SKILL.md", ".claude/skills/*/SKILL.md", ".claude/commands/*.md"), same("s2", ".agents/skills/*/SKILL.md", ".claude/skills/*/SKILL.md", ".claude/commands/*.md"),
			same("s3", ".claude/skills/*/SKILL.md", ".claude/commands/*.md"), same("s4", "a/.claude/skills/*/SKILL.md", ".github/skills/*/SKILL.md"), same("s5", "a/b/.claude/skills/*/SKILL.md", ".github/skills/*/SKILL.md"),
			same("s6", "a/.claude/commands/*.md", "a/b/.claude/commands/*.md"), same("s7", "a/.github/skills/*/SKILL.md", ".github/skills/*/SKILL.md"), same("s8", ".github/skills/*/SKILL.md", ".github/skills/g/*/SKILL.md"),
		), home: joined(same("s1", ".copilot/skills/*/SKILL.md"), same("s9", ".copilot/skills/*/SKILL.md", ".agents/skills/*/SKILL.md"))},
		{name: "equal names of subagents", start: "a/b", files: joined(
			same("same", ".github/agents/*.md", ".claude/agents/*.md", "a/.github/agents/*.md", "a/.claude/agents/*.md", "a/b/.github/agents/*.md", "a/b/.claude/agents/*.md"), same("s2", ".claude/agents/*.md", "a/.github/agents/*.md"),
			same("s3", ".github/agents/*.md", "a/.claude/agents/*.md"), same("s4", ".github/agents/*.md", ".github/agents/*.agent.md"), same("s5", ".github/agents/*.md", ".github/agents/x/*.md"), map[string]string{".github/agents/f1.md": named("nm"), ".github/agents/f2.md": named("nm"), ".claude/agents/u.md": named("mine")},
		), home: map[string]string{".copilot/agents/u.md": named("theirs"), ".copilot/agents/task.md": named("task")}},
		{name: "switched off", files: map[string]string{
			".github/skills/x/SKILL.md": described("x", "disable-model-invocation: true\n"), ".agents/skills/x/SKILL.md": named("x"), ".github/skills/y/SKILL.md": "---\nname: y\ndescription: 12\n---\n", ".agents/skills/y/SKILL.md": named("y"),
			".github/skills/w/SKILL.md": described("w", "disable-model-invocation: true\n"), ".claude/commands/w.md": named("w"), ".github/agents/a.md": described("a", "infer: false\n"), ".claude/agents/a.md": named("a"),
			".github/agents/b.md": "---\nname: b\n---\n", ".claude/agents/b.md": named("b"),
		}},
		{name: "subagents of Copilot", files: called(".github/agents/a1.md", ".github/agents/a2.agent.md", ".github/agents/sub/deep/a4.md", ".claude/agents/sub/c3.md", ".agents/agents/g1.md", ".copilot/agents/p1.md", ".github/agents/README.md", ".github/agents/x.txt", ".github/agents/UP.MD", ".github/agents/.hid.md", ".github/agents/.h/a5.md", ".github/chatmodes/m.chatmode.md", ".github/prompts/p.prompt.md")},
		{name: "commands of Copilot", files: map[string]string{
			".claude/commands/a.md": "$ no head", ".claude/commands/c.md": "# $1 title\n\ntext $2", ".claude/commands/d.md": "", ".claude/commands/e.MD": "$ up", ".claude/commands/f.txt": "$", ".claude/commands/g.md": "---\ndescription: [\n---\n$",
			".claude/commands/h.md": described("h", "disable-model-invocation: true\n"), ".claude/commands/sub/i.md": "$", ".claude/commands/with space.md": "$", ".claude/commands/ü.md": "$", ".claude/commands/x.y.md": "$", ".claude/commands/_u.md": "$", ".claude/commands/UP.md": "$",
			".claude/commands/k.md": "one $1\n# two $2\n\nthree $3\nfour $4\nfive $5", ".claude/commands/l.md": "---\nallowed-tools: x\n---\n$ body", ".claude/commands/m.md": strings.Repeat("x", 1100) + " $", ".claude/commands/.hid.md": "$", ".claude/commands/o.md": "---\ndescription: \"\"\n---\n$",
		}},
		{name: "fields of skills", files: fielded(".github/skills/%s/SKILL.md", copilotFields)},
		{name: "fields of commands", files: fielded(".claude/commands/%s.md", copilotFields)},
		{name: "fields of subagents", files: fielded(".github/agents/%s.md", copilotFields)},
		{name: "room for all but one", files: sized(strings.Repeat("e", 918) + "$")},
		{name: "room for one less", files: sized(strings.Repeat("e", 919) + "$")},
		{name: "room in UTF-16", files: sized(strings.Repeat("😀", 459) + "$")},
		{name: "room in XML", files: sized("x" + strings.Repeat("&", 186) + "$")},
		{name: "room for later ones", files: joined(sized(strings.Repeat("e", 1000)+"$", "x $"), map[string]string{".claude/commands/a.md": "$"})},
		{name: "room for commands", files: joined(sized(), map[string]string{".claude/commands/a.md": "$", ".claude/commands/b.md": strings.Repeat("x", 600) + "$"})},
		{name: "a file below", files: reads, reads: "sub/deep/x.txt"},
		{name: "a file below the start", start: "sub", files: reads, reads: "deep/x.txt"},
		{name: "a file beside", files: joined(reads, map[string]string{"x.txt": "x"}), reads: "x.txt"},
		{name: "a file below alone", files: map[string]string{"sub/AGENTS.md": "$ @i.md", "sub/i.md": "$", "sub/deep/CLAUDE.md": "$", "sub/deep/x.txt": "x\n"}, reads: "sub/deep/x.txt"},
		{name: "a worktree of Copilot", start: "a", noGit: true, files: joined(textsAt("AGENTS.md", "a/AGENTS.md"), map[string]string{".git": "gitdir: /nowhere\n"})},
	}
	return append(trees, written()...)
}

// chain are texts that import one another.
func chain(n int) map[string]string {
	files := map[string]string{"AGENTS.md": "@d1.md"}
	for i := range n {
		files[fmt.Sprintf("d%d.md", i+1)] = fmt.Sprintf("$ @d%d.md", i+2)
	}
	return files
}

// copilotHead is a skill, a subagent or a command.
func copilotHead(r *rand.Rand) string {
	body := pick(r, "body\n", "# Head $3\n\ntext $4\n", "", "$5\n", "one $5\ntwo $6\n\nthree $7\nfour $8\n")
	if r.IntN(8) == 0 {
		return body
	}
	var b strings.Builder
	b.WriteString("---\n")
	if name := pick(r, "n1", "n2", "N3", "with space", "a:b", "", "-", "12", `"q"`, "_x", "a/b"); name != "" {
		b.WriteString("name: " + name + "\n")
	}
	if r.IntN(10) > 0 {
		b.WriteString("description: " + pick(r, "D $1.", "D $1.", "D $1.", "x: $1", "use @me", `"$1"`, "[$1]", ">-\n  $1\n  $2", "|\n  $1\n  $2", "", "12", "true", "é $1", "*star $1", "{$1}", "null", "$1 <b> & c") + "\n")
	}
	for range r.IntN(3) {
		if r.IntN(3) == 0 {
			b.WriteString(copilotFields[r.IntN(49)] + "\n")
		}
	}
	head := b.String()
	if r.IntN(15) == 0 {
		head = strings.ReplaceAll(head, "\n", "\r\n")
	}
	return head + pick(r, "---\n", "---\n", "---\n", "---\n", "--- \n", "---", "----\n", "") + body
}

// randomCopilotTree makes a tree of the places of Copilot CLI.
func randomCopilotTree(seed uint64) *tree {
	r := testenv.RandOf(seed, 1102)
	tr := &tree{start: pick(r, "", "", "sub", "sub/deep", "sub/deep/er"), noGit: r.IntN(5) == 0, inHome: r.IntN(7) == 0, files: map[string]string{"docs/x.md": "$\n"}, home: map[string]string{}}
	put := func(files map[string]string, name, text string) {
		for other := range files {
			if other == name || strings.HasPrefix(name, other+"/") || strings.HasPrefix(other, name+"/") {
				return
			}
		}
		files[name] = text
	}
	some := func(files map[string]string, most int, dir string, names []string, text func() string) {
		for range r.IntN(most + 1) {
			put(files, path.Join(dir, pick(r, names...)), text())
		}
	}
	text := func() string {
		return pick(r, "Rule $.\n", "Rule $.\n", "Rule $.\n", "", "  \n", "---\na: b\n---\n$\n", "@AGENTS.md $\n", "@AGENTS.md", "$1 @docs/x.md, (@../docs/x.md) $2\n", "<!-- $1 --> $2\n", "\ufeff$\n", "$\r\n", "$(same)\n", "$(same)\n", "`@docs/x.md` $")
	}
	rule := func() string {
		if r.IntN(3) == 0 {
			return text()
		}
		return "---\n" + pick(r, "applyTo: ", "applyTo: ", "paths: ", "description: x\napplyTo: ") + pick(r, copilotGlobs...) + "\n---\nRule $.\n"
	}
	head := func() string { return copilotHead(r) }
	dirs := []string{"", "sub", "sub/deep", "sub/deep/er"}
	for _, dir := range dirs {
		some(tr.files, 4, dir, []string{"AGENTS.md", "AGENTS.md", "CLAUDE.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md", ".github/copilot-instructions.md", ".claude/CLAUDE.md", "agents.md", "Claude.md", "CLAUDE.local.md"}, text)
		some(tr.files, 3, dir, []string{".github/instructions/a.instructions.md", ".github/instructions/s/b.instructions.md", ".github/instructions/c.md", ".claude/rules/a.md", ".claude/rules/s/b.md", ".claude/rules/B.MD", ".claude/rules/.h.md"}, rule)
		some(tr.files, 3, dir, []string{".github/skills/one/SKILL.md", ".github/skills/two/SKILL.md", ".github/skills/g/one/SKILL.md", ".agents/skills/one/SKILL.md", ".agents/skills/Three/SKILL.md", ".claude/skills/two/SKILL.md", ".claude/skills/g/h/four/SKILL.md", ".claude/skills/.five/SKILL.md", ".github/skills/one/in/SKILL.md"}, head)
		some(tr.files, 2, dir, []string{".github/agents/a.md", ".github/agents/a.agent.md", ".github/agents/s/b.md", ".claude/agents/a.md", ".claude/agents/c.agent.md"}, head)
		some(tr.files, 2, dir, []string{".claude/commands/one.md", ".claude/commands/two.md", ".claude/commands/s/three.md", ".claude/commands/Four.MD", ".claude/commands/fi ve.md"}, head)
	}
	if r.IntN(2) == 0 {
		some(tr.home, 3, "", []string{".copilot/copilot-instructions.md", ".copilot/copilot-instructions.md", "AGENTS.md", ".github/copilot-instructions.md", ".copilot/AGENTS.md"}, text)
		some(tr.home, 2, ".copilot/instructions", []string{"a.instructions.md", "s/b.instructions.md", "c.md"}, rule)
		some(tr.home, 3, "", []string{".copilot/skills/one/SKILL.md", ".copilot/skills/uu/SKILL.md", ".agents/skills/two/SKILL.md", ".agents/skills/vv/SKILL.md", ".claude/skills/ww/SKILL.md", ".github/skills/xx/SKILL.md"}, head)
		some(tr.home, 2, "", []string{".copilot/agents/a.md", ".copilot/agents/u.agent.md", ".claude/agents/v.md", ".github/agents/w.md"}, head)
	}
	if r.IntN(5) == 0 {
		put(tr.files, "shared/six/SKILL.md", named("six"))
		put(tr.files, path.Join(pick(r, ".github/skills", ".agents/skills", ".claude/skills"), "lk"), "-> ../../shared/six")
	}
	if _, ok := tr.files["AGENTS.md"]; ok && r.IntN(6) == 0 {
		tr.files["CLAUDE.md"] = "-> AGENTS.md"
	}
	if r.IntN(4) == 0 {
		below := slices.DeleteFunc(dirs, func(dir string) bool { return !strings.HasPrefix(dir, tr.start) || dir == tr.start })
		if len(below) > 0 {
			dir := strings.TrimPrefix(strings.TrimPrefix(pick(r, below...), tr.start), "/")
			tr.reads = path.Join(dir, "x.txt")
			put(tr.files, path.Join(tr.start, tr.reads), "x\n")
			for name, text := range tr.files { // what it has already doesn't come again
				tr.files[name] = strings.ReplaceAll(text, "$(same)", "$")
			}
		}
	}
	return tr
}
