package host_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator makes trees that resolvers care about.
type generator struct{ *rand.Rand }

func pick[T any](g generator, list ...T) T { return list[g.IntN(len(list))] }

// place is a path where something is likely to be found.
func (g generator) place() string {
	switch g.IntN(10) {
	case 0, 1:
		return pick(g, "AGENTS.md", "CLAUDE.md", ".cursorrules", "agents.md")
	case 2:
		return pick(g, ".mcp.json", ".env", "rules.md", "texts/x.md")
	case 3:
		return pick(g, "skills", ".agents/skills", ".claude/skills", ".codex/skills", ".claude", "texts", "lib")
	case 4, 5:
		return g.skillDir()
	case 6:
		return g.bundle()
	}
	return g.skillDir() + "/" + pick(g, "SKILL.md", "SKILL.md", "SKILL.md", "skill.md", "notes/x.md")
}

// bundle is a path in a plugin: the root, or a directory that a list may name.
func (g generator) bundle() string {
	if g.IntN(2) == 0 {
		return pick(g, ".claude-plugin/plugin.json", ".claude-plugin/marketplace.json", ".github/plugin/marketplace.json", "marketplace.json", "plugin.json",
			".agents/plugins/marketplace.json", ".cursor-plugin/plugin.json", "gemini-extension.json")
	}
	return pick(g, "lib", "texts", "lib") + "/" + pick(g, ".claude-plugin/plugin.json", ".codex-plugin/plugin.json", "plugin.json", "agents/x.md", "agents/team/y.md", "commands/c.md",
		"hooks/hooks.json", ".mcp.json", "rules/r.mdc", "skills/one/SKILL.md", "skills", "SKILL.md")
}

func (g generator) skillDir() string {
	return pick(g, "skills", "skills", ".agents/skills", ".claude/skills", ".codex/skills", "lib") + "/" +
		pick(g, "one", "two", "three", "a-b", "Bad Name", "ünïcode", "bad\xff", "x#y", "a", "new\nline", "tab\t")
}

// content is a file's text, right or wrong.
func (g generator) content(path string) string {
	switch name := path[strings.LastIndexByte(path, '/')+1:]; {
	case g.IntN(8) == 0:
	case name == "marketplace.json":
		return pick(g, `{"name":"m","plugins":[{"name":"p","source":"./lib"},{"name":"q","source":"./texts"}]}`, `{"name":"m","plugins":[{"name":"p","source":"./lib"},{"name":"q","source":"./lib"}]}`,
			`{"name":"m","plugins":[{"name":"p","source":"./","strict":false,"skills":["./skills/one","./lib/two"]}]}`, `{"name":"m","metadata":{"pluginRoot":"./lib"},"plugins":[{"name":"p","source":"skills"},{"name":"g","source":{"source":"github"}}]}`, `{"plugins":{}}`)
	case name == "plugin.json", name == "gemini-extension.json":
		return pick(g, `{"name":"p"}`, `{"name":"p","skills":"./lib","agents":["./texts/x.md"]}`, `{"$schema":"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json","name":"p"}`,
			`{"name":"p","commands":{"c":{"source":"./texts/x.md"}},"mcpServers":{"s":{"command":"`+secret+`"}}}`, `{"name":"p","hooks":{"Stop":[{"hooks":[{"type":"command","command":"`+secret+`"}]}]}}`)
	}
	if strings.HasSuffix(path, ".json") && g.IntN(8) > 0 {
		return pick(g, `{}`, `{"mcpServers": {"a": {}}}`, `{"mcpServers": {"a": 1}}`, `{"mcpServers": []}`, `[]`, `{"a"`, "", "\ufeff{}",
			`{"mcpServers": null, "mcpServers": {"x": {}}}`, "{} {}", `{"mcpServers": {"`+secret+`": {"x": "\ud800"}}}`, "{\"a\": \"\xff\"}")
	}
	if strings.HasSuffix(path, "SKILL.md") && g.IntN(8) > 0 {
		parts := strings.Split(path, "/")
		name := parts[max(len(parts)-2, 0)]
		return g.frontMatter(name) + pick(g, "", "body\n", strings.Repeat("text ", g.IntN(2000)))
	}
	return pick(g, "", "# Title\n\ntext", "@rules.md @lib/x.md @.env\n@./nothing @texts/x.md", "\n\n  ## Later\n", "\ufeff# BOM\r\nx", "a\u200bb\u202ec", "\xff\xfe", strings.Repeat("x", g.IntN(9000)),
		strings.Repeat("long ", 14_000), "line\x00zero", strings.Repeat("é", 300))
}

func (g generator) frontMatter(name string) string {
	if g.IntN(3) == 0 {
		name = pick(g, "one", "two", "Three", "", "a--b", "'one'", "\"two\"", "[x]", "17", "~", "*a", "&a one", "one # comment", strings.Repeat("n", 70))
	}
	description := pick(g, "", "description:\n", "description: plain\n", "description: 'it''s'\n", "description: |\n  a\n  b\n", "description: >-\n  a\n  b\n",
		"description: [a]\n", "description: a: b\n", "description: "+strings.Repeat("d", g.IntN(6000))+"\n", "description: \"\\u00e9\\n\"\n", "description: a\ndescription: b\n")
	more := pick(g, "", "", "license: MIT\n", "x: {y: [1, 2]}\n", "\tbad: tab\n", "- list\n", "# comment\n", "allowed-tools: [a, b]\n", "m:\n  n: o\n")
	open := pick(g, "---\n", "---\n", "---\n", "--- \r\n", "\ufeff---\n", "\n---\n", "----\n", "--- x\n", "")
	end := pick(g, "---\n", "---\n", "---\n", "---", " ---\n", "...\n", "--- \r\n", "")
	return open + "name: " + name + "\n" + description + more + end
}

// target is what a link may lead to.
func (g generator) target() string {
	return pick(g, "AGENTS.md", "../AGENTS.md", "../../AGENTS.md", "skills", "../skills", "../skills/one", "one", "two", ".", "..", "nothing",
		"$ROOT/skills/one", "$ROOT/AGENTS.md", "$OUT/secret.txt", "$OUT/dir", "../out/dir", "/etc/passwd", "../../.mcp.json", ".mcp.json", ".env",
		"../../texts/x.md", "$ROOT/lib", "../../lib/one", "self", "SKILL.md", "a\xffb", "x/")
}

// tree makes the lines of a tree for vfstest.Build; what can't be built stands
// in the way of something else and is left out by buildable.
func (g generator) tree() []string {
	var lines []string
	for range 1 + g.IntN(14) {
		path := g.place()
		switch g.IntN(12) {
		case 0:
			lines = append(lines, path+"/")
		case 1, 2, 3:
			lines = append(lines, path+" -> "+g.target())
		case 4:
			path = strings.ReplaceAll(path, " ", "-") // the notation of a FIFO takes no blanks
			lines = append(lines, path+pick(g, " |", " # 70000"))
		default:
			lines = append(lines, path+" = "+g.content(path))
		}
	}
	return buildable(lines)
}

// buildable leaves out lines whose path, or a directory on the way to it, is
// taken by another.
func buildable(lines []string) []string {
	taken := map[string]bool{} // path → is a directory
	var kept []string
	for _, line := range lines {
		path, directory := linePath(line)
		if _, ok := taken[path]; ok {
			continue
		}
		ok := true
		var above []string
		for i, c := range path {
			if c == '/' {
				above = append(above, path[:i])
				if isDir, exists := taken[path[:i]]; exists && !isDir {
					ok = false
				}
			}
		}
		if !ok {
			continue
		}
		for _, dir := range above {
			taken[dir] = true
		}
		taken[path] = directory
		kept = append(kept, line)
	}
	return kept
}

func linePath(line string) (path string, directory bool) {
	for _, op := range []string{" -> ", " = ", " # "} {
		if path, _, ok := strings.Cut(line, op); ok {
			return path, false
		}
	}
	if path, ok := strings.CutSuffix(line, "/"); ok {
		return path, true
	}
	return strings.TrimSuffix(strings.TrimSuffix(line, " |"), " ^"), false
}

func quoteLines(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&b, "\t%.300q\n", line)
	}
	return b.String()
}
