package codingagents

import (
	"waymark/plugins/agentfiles/imports"
	"waymark/plugins/conventions"
)

// claude is Claude Code.
var claude = Client{
	ID: "claude", Reader: "claude-code", Name: "Claude Code", Program: "claude", Version: "2.1.332", Judged: true, Imports: &Imports{Of: imports.Of, Steps: 4}, Heads: conventions.HeadsClaude, IgnoreGlobs: true,
	Instructions: &Instructions{
		Top: All, Take: Every, MaxFile: 4 << 20, SkipBlank: true, SkipBare: true,
		Places: []Place{
			{Convention: "claude-md"}, {Convention: "claude-dir-md"}, {Convention: "claude-rules", Beside: true, LinksBelow: true}, {Convention: "claude-local-md"},
			{Convention: "agents-md", Otherwise: true}, {Convention: "claude-dir-agents-md", Otherwise: true},
		},
	},
	Skills: &Skills{
		Top: ProjectElseHome, Up: true, Places: [][]string{{"claude-skill-files"}}, MaxDepth: 1,
		MaxDescription: 1536, ByDirectory: true, Same: SameNameFirst, Names: ByPlace, Line: LineName,
	},
	User: &User{
		Instructions: []string{"claude-dir-md"}, Rules: []string{"claude-rules"}, Skills: [][]string{{"claude-skill-files"}},
		Lists:   []string{"claude-agents", "claude-commands"},
		Moved:   []Moved{{"CLAUDE_CONFIG_DIR", ".claude"}},
		Plugins: &Plugins{Dir: ".claude", Settings: true, Skills: []string{"plugin-skills", "plugin-skill"}, Lists: []string{"plugin-agents", "plugin-commands"}, Prefix: true},
	},
	ListBudget: &ListBudget{Characters: 30_000, Window: 1_000_000, Builtin: 13, BuiltinCharacters: 6074},
	Lists:      []string{"claude-agents", "claude-commands"}, ListsTop: ProjectElseHome, ListsByName: true, SubagentsDescribed: true,
	Own: []conventions.Convention{skillFiles("claude-skill-files", "claude-code", ".claude/skills/*/SKILL.md")},
	Sources: []Source{
		{"https://code.claude.com/docs/en/memory", noted},
		{"https://code.claude.com/docs/en/skills", noted},
		{"https://code.claude.com/docs/en/plugins-reference", latest},
		{"https://raw.githubusercontent.com/anthropics/claude-code/v2.1.277/mods/agents-md/README.md", noted},
		{"Claude Code 2.1.332, what it sends to its model", "2026-11-28"},
	},
}
